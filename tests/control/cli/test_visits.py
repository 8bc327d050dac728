"""`starlight entry visits` and `starlight visit cut`."""

from __future__ import annotations

import asyncio

import pytest

from gateway.contract.visits import LiveVisit, VisitsReport
from tests.control.api.desk import Desk
from tests.control.cli.shell import Shell

WEB = {"name": "web", "protocol": "http", "level": "open", "target_port": 8000}


async def test_a_connection_is_listed_and_cut(desk: Desk, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """With sizes as people read them; a gateway that does not answer is named."""
    job = await desk.running_job(shell.caller, entries=[WEB])
    visits = (
        LiveVisit("web-0-ab-1", job["entries"][0]["id"], 1, "alice", "192.0.2.7", "http", desk.clock(), 10, 3 * 2**20),
        LiveVisit("web-0-ab-2", job["entries"][0]["id"], None, "", "192.0.2.8", "http", desk.clock(), 0, 0),
    )
    desk.visits.report("web-0", VisitsReport(everything=True, opened=visits))
    listed = (await shell.run("entry", "visits", f"{job['id']}/web")).out
    assert all(word in listed for word in ("web-0-ab-1", "alice", "192.0.2.7", "10 B", "3.0 MiB"))
    async with asyncio.TaskGroup() as group:
        cutting = group.create_task(shell.run("visit", "cut", "web-0-ab-1"))
        assert await desk.visits.cuts("web-0") == ["web-0-ab-1"]
        desk.visits.report("web-0", VisitsReport(gone=("web-0-ab-1",)))
    assert cutting.result().out == "The connection has ended\n"
    monkeypatch.setattr("control.actions.visits.SETTLE_S", 0.01)
    assert (await shell.run("visit", "cut", "web-0-ab-2")).out == "The gateway web-0 has not confirmed yet\n"
    assert (await shell.run("visit", "cut", "unknown")).status == 1
