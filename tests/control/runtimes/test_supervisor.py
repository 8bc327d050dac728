"""What a worker gets from the supervisor, and what a no looks like."""

from __future__ import annotations

from pathlib import Path

import pytest

from control.runtimes.supervisor import BusyError, Supervisor
from tests.control.stage import staged


async def test_listener_is_lent(tmp_path: Path) -> None:
    """The same socket, in another descriptor."""
    async with staged(tmp_path) as stage:
        with await Supervisor(stage.run_dir).listener("feed") as lent:
            assert lent.getsockname() == stage.listeners["feed"].getsockname()
            assert lent.fileno() != stage.listeners["feed"].fileno()


async def test_answer_without_a_listener_is_a_fault(tmp_path: Path) -> None:
    """The supervisor does not know the name."""
    async with staged(tmp_path) as stage:
        with pytest.raises(ConnectionError):
            await Supervisor(stage.run_dir).listener("nothing")


async def test_ports_are_reserved_and_released(tmp_path: Path) -> None:
    """A busy one is told apart from a supervisor that is away."""
    async with staged(tmp_path) as stage:
        supervisor = Supervisor(stage.run_dir)
        await supervisor.reserve(40001)
        assert stage.reserved == {40001}
        await supervisor.release(40001)
        assert stage.reserved == set()
        stage.busy = {40002}
        with pytest.raises(BusyError, match="somebody"):
            await supervisor.reserve(40002)
        await supervisor.ready()
        assert stage.ready.is_set()


@pytest.mark.parametrize("kept", [set(), {40_001}, set(range(20_000, 40_002))])
async def test_all_other_ports_are_given_up_however_many_are_kept(tmp_path: Path, kept: set[int]) -> None:
    """More than one message holds are told in several, each for its own range."""
    async with staged(tmp_path) as stage:
        stage.reserved = kept | {1024, 19_999, 40_002, 65_535}
        await Supervisor(stage.run_dir).keep(kept)
        assert stage.reserved == kept


async def test_absent_supervisor_is_a_connection_error(tmp_path: Path) -> None:
    """Nobody listens."""
    with pytest.raises(OSError, match="No such file"):
        await Supervisor(tmp_path).ready()
