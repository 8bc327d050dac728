"""Keeps the output filter true while the job runs: a container network that comes up later is out of bounds as well."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

from . import network
from .neighbours import change_socket, forbidden
from .record import Record, words_of
from .waiting import readable

_SETTLE_S: Final = 1.0


async def watch_border(namespace: int, record: Record) -> None:
    """Renews the filter of the open network namespace whenever what is forbidden changed, until cancelled."""
    with change_socket() as changes:
        known = forbidden()
        network.apply_filter(namespace, known)  # what came up between the launch and this socket
        while True:
            await readable(changes.fileno())
            await asyncio.sleep(_SETTLE_S)  # addresses come in bursts
            with suppress(OSError):
                while changes.recv(1 << 16):
                    pass
            try:
                if (found := forbidden()) != known:
                    network.apply_filter(namespace, found)
                    known = found
            except OSError as fault:
                record.event("Warning", "FilterNotRenewed", words_of(fault))
