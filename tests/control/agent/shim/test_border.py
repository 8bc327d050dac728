"""The output filter follows what is forbidden."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from pathlib import Path
from typing import Any

import pytest

from control.agent.shim import border
from control.agent.shim.border import watch_border
from control.agent.shim.record import Record

BEFORE, AFTER = (ipaddress.ip_network("10.0.0.0/24"),), (ipaddress.ip_network("10.0.1.0/24"),)


async def test_a_change_renews_the_filter_and_a_failure_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once for each change; one that cannot be applied is an event, and tried again at the next."""
    applied: list[Any] = []
    answers = iter([BEFORE, AFTER, AFTER])

    def apply(_namespace: int, networks: Any) -> None:
        applied.append(networks)
        if len(applied) == 2:
            raise OSError("nft says no")

    ours, kernel = socket.socketpair()
    ours.setblocking(False)
    monkeypatch.setattr(border, "change_socket", lambda: ours)
    monkeypatch.setattr(border, "forbidden", lambda: next(answers))
    monkeypatch.setattr(border.network, "apply_filter", apply)
    monkeypatch.setattr(border, "_SETTLE_S", 0)
    async with asyncio.TaskGroup() as group:
        watching = group.create_task(watch_border(0, Record(tmp_path, "job-1")))
        for expected in ([BEFORE], [BEFORE, AFTER], [BEFORE, AFTER, AFTER]):
            if applied:
                kernel.send(b"changed")
            async with asyncio.timeout(5):
                while applied != expected:
                    await asyncio.sleep(0)
        watching.cancel()
    kernel.close()
    assert "nft says no" in (tmp_path / "events.jsonl").read_text()
