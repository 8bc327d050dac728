"""The keys of people's homes, as the bridge reads them, and the watch over connections that rest on one.

State: for each person asked about within the last second, what their file held. However many
connections offer keys, the bridge reads a home's file about once a second.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

from gateway.core.authorized_keys import Line, fitting, read
from gateway.wire.gate import Gate

CLUSTERS: Final = ("local",)
"""Where people have homes. The name of a cluster is that of its bridge."""
FRESH_S: Final = 0.5
_READ_S: Final = 3.0
_HELD: Final = 256


@dataclass(frozen=True, slots=True)
class HomeKey:
    """A key that was found in a home: whose, where, and what its line says."""

    user: str
    cluster: str
    line: Line


@dataclass
class _Held:
    lines: tuple[Line, ...] | None = None
    read_at: float = float("-inf")
    reading: asyncio.Lock = field(default_factory=asyncio.Lock)


class HomeKeys:
    """All homes that a gateway's bridges reach."""

    def __init__(self, gate: Gate) -> None:
        """Nothing read yet."""
        self._gate = gate
        self._held: OrderedDict[tuple[str, str], _Held] = OrderedDict()

    async def find(self, user: str, fingerprint: str, address: str) -> HomeKey | None:
        """The key of this fingerprint in one of the person's homes; its line may have an option that is not kept."""
        known = self._gate.table.user_by_name(user)
        if known is None or known.disabled:
            return None
        for cluster in CLUSTERS:
            lines = await self._lines(user, cluster)
            line = fitting(lines or (), fingerprint, address, self._gate.now())
            if line is not None:
                return HomeKey(user, cluster, line)
        return None

    async def gone(self, key: HomeKey, address: str) -> bool:
        """Whether the key does not admit any more as it did. A bridge that does not answer says nothing."""
        lines = await self._lines(key.user, key.cluster)
        if lines is None:
            return False
        now = fitting(lines, key.line.fingerprint, address, self._gate.now())
        return now is None or now.unmet is not None or now.conditions != key.line.conditions

    async def _lines(self, user: str, cluster: str) -> tuple[Line, ...] | None:
        held = self._held.setdefault((user, cluster), _Held())
        self._held.move_to_end((user, cluster))
        if len(self._held) > _HELD:
            self._held.popitem(last=False)
        async with held.reading:
            loop = asyncio.get_running_loop()
            if loop.time() - held.read_at > FRESH_S:
                content = await self._gate.bridge.home_keys(user, cluster, deadline_s=_READ_S)
                held.lines = None if content is None else read(content)
                held.read_at = loop.time()
            return held.lines
