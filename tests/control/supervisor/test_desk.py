"""What workers ask of the supervisor, asked over its real socket."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from control.setting_values import PortRange
from control.supervisor.desk import Desk, all_ready
from control.supervisor.identity import Identities
from control.supervisor.listeners import Listeners
from control.supervisor.worker import Recipe, Worker
from gateway.contract.calls import Peer, call
from tests.control.supervisor.running import free_ports

ME = Identities(os.geteuid(), os.geteuid(), None)
SPLIT = Identities(60001, 60002, 61000)


class Here(Worker):
    """A worker whose process is this one."""

    @property
    def pid(self) -> int | None:
        return os.getpid()


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[tuple[Desk, Here, str]]:
    """A desk that serves, its worker, and the socket's path."""
    listeners = Listeners("127.0.0.1", PortRange(1024, 65535))
    listeners.bind_sockets(tmp_path, ME, ["feed"])
    worker = Here(Recipe("web-0", (), tmp_path, {}), tmp_path, [])
    made = Desk(listeners, [worker], ME, os.geteuid())
    async with asyncio.TaskGroup() as group:
        serving = group.create_task(made.serve(tmp_path))
        await asyncio.sleep(0)
        yield made, worker, str(tmp_path / "supervisor.sock")
        serving.cancel()
    listeners.close()


async def ask(path: str, message: Any) -> tuple[dict[str, Any], list[int]]:
    """One call and its decoded answer."""
    reply, descriptors = await call(path, json.dumps(message).encode(), deadline_s=5)
    return json.loads(reply), descriptors


async def test_a_listener_is_handed_over_by_name_and_by_port(desk: tuple[Desk, Here, str]) -> None:
    """The descriptor is the bound, listening socket itself."""
    _, _, path = desk
    (port,) = free_ports(1)
    for asked in ({"verb": "listener", "name": "feed"}, {"verb": "listener", "port": port}):
        answer, descriptors = await ask(path, asked)
        assert answer == {"ok": True}
        with socket.socket(fileno=descriptors[0]) as lent:
            assert lent.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) == 1


async def test_ports_are_reserved_and_released(desk: tuple[Desk, Here, str]) -> None:
    """A port that another program has is refused as busy; a free one is held until released."""
    _, _, path = desk
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
        answer, _ = await ask(path, {"verb": "reserve", "port": port})
        assert answer["code"] == "busy"
        assert f"(pid {os.getpid()})" in answer["detail"]
        assert (await ask(path, {"verb": "listener", "port": port}))[0]["code"] == "busy"
    assert (await ask(path, {"verb": "reserve", "port": port}))[0] == {"ok": True}
    assert (await ask(path, {"verb": "release", "port": port}))[0] == {"ok": True}
    socket.create_server(("127.0.0.1", port)).close()


@pytest.mark.parametrize(
    "asked",
    [
        [],
        {},
        {"verb": "dance"},
        {"verb": "listener"},
        {"verb": "listener", "name": "random ports"},
        {"verb": "listener", "port": "80"},
        {"verb": "listener", "port": True},
        {"verb": "reserve", "port": 80},
        {"verb": "reserve", "port": 70000},
        {"verb": "release", "port": None},
        {"verb": "keep", "ports": 40000, "first": 1, "last": 65535},
        {"verb": "keep", "ports": ["40000"], "first": 1, "last": 65535},
        {"verb": "keep", "ports": [], "first": None, "last": 65535},
    ],
)
async def test_a_malformed_request_is_answered_and_harms_nothing(desk: tuple[Desk, Here, str], asked: Any) -> None:
    """A worker that was taken over cannot crash the supervisor."""
    answer, descriptors = await ask(desk[2], asked)
    assert answer["ok"] is False
    assert answer["code"] == "bad_request"
    assert not descriptors


@pytest.mark.parametrize("garbage", [b"\xff{", b"[" * 60_000, b"null"])
async def test_garbage_is_answered_and_harms_nothing(desk: tuple[Desk, Here, str], garbage: bytes) -> None:
    """What is no JSON object is refused; the next caller is served."""
    _, worker, path = desk
    reply, _ = await call(path, garbage, deadline_s=5)
    assert json.loads(reply)["code"] == "bad_request"
    assert (await ask(path, {"verb": "ready"}))[0] == {"ok": True}
    assert worker.ready.is_set()
    await asyncio.wait_for(all_ready([worker]), 1)


async def test_who_may_ask_what(tmp_path: Path) -> None:
    """Jobs' uids get nothing; gateways get what faces outside and cannot take ports away; strangers are no workers."""
    listeners = Listeners("127.0.0.1", PortRange(1024, 65535))
    desk = Desk(listeners, [], SPLIT, 0)

    async def told(uid: int, **asked: object) -> dict[str, Any]:
        reply, _ = await desk.answer(json.dumps(asked).encode(), Peer(4711, uid, uid))
        answer: dict[str, Any] = json.loads(reply)
        return answer

    assert (await told(61003, verb="listener", name="feed"))["code"] == "forbidden"
    for name in ("control", "feed", "bridge-local"):
        assert (await told(60002, verb="listener", name=name))["code"] == "forbidden"
    for name in ("http", "ssh", "bridge-local", "nobody", ["http"], None):
        assert (await told(60001, verb="listener", name=name))["code"] == "forbidden"
    assert (await told(60002, verb="release", port=40000))["code"] == "forbidden"
    assert (await told(60002, verb="keep", ports=[], first=1, last=65535))["code"] == "forbidden"
    assert (await told(60001, verb="keep", ports=[], first=1, last=65535))["ok"]
    assert (await told(60001, verb="release", port=40000))["ok"]
    assert (await told(60002, verb="ready"))["code"] == "forbidden"
