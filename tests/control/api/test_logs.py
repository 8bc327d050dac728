"""A job's log over the API: exact bytes, ranges, times, and a stream that follows it to the end."""

from __future__ import annotations

import json
import struct
from typing import Any

import aiohttp
import pytest

from control.api import logs
from control.domain.jobs.states import State
from tests.control.api.desk import START, Caller, Desk

BYTES = bytes(range(256)) * 8


@pytest.fixture
async def job(desk: Desk, alice: Caller) -> str:
    """The id of alice's running job, which has printed every byte there is."""
    made = await desk.running_job(alice)
    (desk.runtime.logs / f"{made['id']}.log").write_bytes(BYTES)
    return str(made["id"])


@pytest.mark.parametrize(
    ("query", "first", "expected"),
    [
        ("", 0, BYTES),
        ("?from=0&limit=10", 0, BYTES[:10]),
        ("?from=2000", 2000, BYTES[2000:]),
        ("?from=-5", 2043, BYTES[-5:]),
        ("?from=-99999", 0, BYTES),
        ("?from=2048", 2048, b""),
        ("?from=999999999", 2048, b""),
    ],
)
async def test_a_range_of_bytes_comes_as_it_was_written(
    alice: Caller, job: str, query: str, first: int, expected: bytes
) -> None:
    """No decoding, no line ends changed; past the end there is nothing, which is no error."""
    answer = await alice.get(f"/jobs/{job}/logs{query}")
    assert (answer.status, answer.body) == (200, expected)
    assert answer.raw.headers["X-Log-Length"] == "2048"
    assert answer.raw.headers["X-Log-From"] == str(first)
    assert answer.raw.headers["Content-Type"] == "application/octet-stream"


@pytest.mark.parametrize("query", ["limit=0", "limit=99999999999", "from=abc", "from=1e400", "times=2", "node=a%00"])
async def test_a_range_that_makes_no_sense_is_refused(alice: Caller, job: str, query: str) -> None:
    """At the field, before anything is read."""
    refused = await alice.get(f"/jobs/{job}/logs?{query}")
    assert (refused.status, set(refused.body["fields"])) == (422, {query.partition("=")[0]})


async def test_a_large_log_comes_in_pieces(desk: Desk, alice: Caller, job: str) -> None:
    """More than one chunk of it, and still exact."""
    large = b"x" * 700_000 + b"end"
    (desk.runtime.logs / f"{job}.log").write_bytes(large)
    assert (await alice.get(f"/jobs/{job}/logs")).body == large


async def test_times_lie_in_an_index_beside_the_bytes(desk: Desk, alice: Caller, job: str) -> None:
    """The moment that covers the first byte asked for, and those after it."""
    records = [(START, 0), (START + 1, 100), (START + 2, 200), (START + 3, 300)]
    (desk.runtime.logs / f"{job}.idx").write_bytes(b"".join(struct.pack("!dQ", *record) for record in records) + b"cut")
    answer = await alice.get(f"/jobs/{job}/logs?from=150&limit=100&times=1")
    assert answer.body == {
        "length": 2048,
        "items": [
            {"offset": 100, "at": "2027-01-15T08:00:01.000Z"},
            {"offset": 200, "at": "2027-01-15T08:00:02.000Z"},
        ],
    }


async def test_a_job_that_has_not_started_has_an_empty_log(desk: Desk, alice: Caller) -> None:
    """Nothing yet is not an error; a log that is lost is one."""
    queued = await alice.post("/jobs", {"command": ["true"]})
    assert (await alice.get(f"/jobs/{queued.body['id']}/logs")).body == b""
    lost = await desk.running_job(alice)
    assert (await alice.get(f"/jobs/{lost['id']}/logs")).code == "log_unavailable"


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks that come fast, so that a test need not wait for them."""
    monkeypatch.setattr(logs, "_LOOK_S", 0.01)


def follow(desk: Desk, caller: Caller, job: str, query: str = "") -> Any:
    """A log's socket."""
    return desk.http.ws_connect(f"{desk.base}/api/v1/jobs/{job}/logs/stream{query}", headers=caller.headers)


async def gather(ws: aiohttp.ClientWebSocketResponse, wanted: int) -> bytes:
    """At least `wanted` bytes from the socket."""
    found = b""
    while len(found) < wanted:
        found += await ws.receive_bytes(timeout=5)
    return found


@pytest.mark.usefixtures("quick")
async def test_a_stream_follows_the_log_to_the_jobs_end(desk: Desk, alice: Caller, job: str) -> None:
    """What is there, what comes, and the word that nothing more will."""
    async with follow(desk, alice, job, "?from=-8") as ws:
        assert json.loads(await ws.receive_str(timeout=5)) == {"from": 2040, "length": 2048}
        assert await gather(ws, 8) == BYTES[-8:]
        with (desk.runtime.logs / f"{job}.log").open("ab") as log:
            log.write(b"more")
        assert await gather(ws, 4) == b"more"
        await desk.move(job, State.FINISHED)
        assert json.loads(await ws.receive_str(timeout=5)) == {"end": True, "length": 2052}
        await ws.receive(timeout=5)
        assert ws.close_code == 1000


@pytest.mark.usefixtures("quick")
async def test_a_stream_may_be_opened_before_the_job_starts(desk: Desk, alice: Caller) -> None:
    """`job logs -f` right after the submit waits for the first line."""
    queued = (await alice.post("/jobs", {"command": ["true"]})).body["id"]
    async with follow(desk, alice, queued) as ws:
        assert json.loads(await ws.receive_str(timeout=5)) == {"from": 0, "length": 0}
        await desk.move(queued, State.CREATING)
        (desk.runtime.logs / f"{queued}.log").write_bytes(b"first line\n")
        assert await gather(ws, 11) == b"first line\n"


@pytest.mark.usefixtures("quick")
async def test_a_stream_ends_with_the_sign_in(desk: Desk, alice: Caller, job: str) -> None:
    """Signing out closes the window on the log as well."""
    async with follow(desk, alice, job, "?from=2048") as ws:
        await ws.receive_str(timeout=5)
        await alice.delete("/sessions/current")
        await ws.receive(timeout=5)
        assert ws.close_code == 4401


async def test_a_stream_of_another_persons_job_is_refused(desk: Desk, bob: Caller, job: str) -> None:
    """Before the upgrade, with a problem."""
    with pytest.raises(aiohttp.WSServerHandshakeError) as refusal:
        await follow(desk, bob, job)
    assert refusal.value.status == 404
