"""Random public ports: chosen by control, bound by the supervisor before anyone is told of them."""

from __future__ import annotations

import logging
import random
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from control.domain.errors import Code, problem
from control.domain.ports import candidates
from control.runtimes.supervisor import BusyError, Supervisor

log = logging.getLogger(__name__)

_OUTGOING: Final = Path("/proc/sys/net/ipv4/ip_local_port_range")
_sample: Final = random.SystemRandom().sample


class Ports:
    """Reserves and gives back random ports. Holds no state: what is held is in the database."""

    def __init__(
        self,
        supervisor: Supervisor,
        allowed: range,
        held: Callable[[], Awaitable[set[int]]],
        outgoing: Path = _OUTGOING,
    ) -> None:
        self._supervisor = supervisor
        self._allowed = allowed
        self._held = held
        self._outgoing = outgoing

    async def reserve(self) -> int:
        """A port that is bound for us now. Raises ProblemError `no_free_port` or `temporarily_unavailable`.

        To be called outside a database session; whoever then cannot use the port releases it.
        """
        for port in candidates(self._allowed, self._outgoing_range(), await self._held(), _sample):
            try:
                await self._supervisor.reserve(port)
            except BusyError:
                continue
            except (OSError, TimeoutError) as fault:
                raise problem(Code.UNAVAILABLE) from fault
            return port
        raise problem(Code.NO_FREE_PORT, ports=f"{self._allowed.start}-{self._allowed.stop - 1}")

    async def release(self, port: int) -> None:
        """Gives a port back. A supervisor that does not answer keeps it until its next start, which does no harm."""
        try:
            await self._supervisor.release(port)
        except (OSError, TimeoutError) as fault:
            log.warning("port %d was not given back: %s", port, fault)

    def _outgoing_range(self) -> range:
        try:
            first, last = self._outgoing.read_text().split()
        except (OSError, ValueError):
            return range(0)
        return range(int(first), int(last) + 1)
