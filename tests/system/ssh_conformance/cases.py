"""How a case is written down, and how all of them are run: one line each, as TAP has it."""

from __future__ import annotations

import signal
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TextIO

from tests.system.ssh_conformance.target import Target

CASE_S = 120
Judge = Callable[[Target], None]


@dataclass(frozen=True, slots=True)
class Case:
    """One behaviour. `judge` raises when the server gets it wrong; `heavy` ones move much or take long."""

    name: str
    says: str
    judge: Judge
    heavy: bool = False


class Cases(list[Case]):
    """The cases of one file, in its order."""

    def case(self, *, heavy: bool = False) -> Callable[[Judge], Judge]:
        """Makes a function a case: its name and its docstring are the case's."""

        def take(judge: Judge) -> Judge:
            says = (judge.__doc__ or "").strip().splitlines()[0]
            self.append(Case(judge.__name__, says, judge, heavy))
            return judge

        return take


def run_all(cases: Iterable[Case], target: Target, out: TextIO) -> int:
    """Judges the target by each case; how many it failed."""
    failed = 0
    for number, case in enumerate(cases, 1):
        try:
            with _deadline(CASE_S):
                case.judge(target)
        except Exception:  # whatever goes wrong is that case's verdict
            failed += 1
            said = "".join(f"# {line}\n" for line in traceback.format_exc().splitlines())
            out.write(f"not ok {number} - {case.name}: {case.says}\n{said}")
        else:
            out.write(f"ok {number} - {case.name}: {case.says}\n")
        out.flush()
    return failed


@contextmanager
def _deadline(seconds: int) -> Iterator[None]:
    """Raises TimeoutError in the block when it lasts longer: a case that hangs has failed."""

    def over(_number: int, _frame: object) -> None:
        raise TimeoutError(f"not done within {seconds} s")

    before = signal.signal(signal.SIGALRM, over)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
