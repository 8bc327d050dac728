"""B59: whoever ends a connection first, and however, nothing of it stays: no descriptor, no task, no visit."""

from __future__ import annotations

import asyncio
from asyncio import StreamReader as Reader
from asyncio import StreamWriter as Writer
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from gateway.contract.bridge import Fault
from gateway.contract.routes import Level
from tests.gateway.entries.http.house import House, Peer, open_house, visit
from tests.gateway.entries.http.test_passage import SWITCH, UPGRADE, get, reset
from tests.gateway.loops import Runner, both_loops

CONNECTIONS = 100
AT_ONCE = 25
SETTLED_S = 10.0

End = Callable[[Peer], Awaitable[None]]


async def person_ends(peer: Peer) -> None:
    """In order, and the app's end is read."""
    peer.writer.write_eof()
    await peer.rest()


async def person_resets(peer: Peer) -> None:
    """Without a word."""
    peer.writer.transport.abort()


async def app_ends(peer: Peer) -> None:
    """The app is asked to; the person answers its end."""
    await peer.send(b"end")
    await peer.rest()
    peer.writer.close()


async def app_resets(peer: Peer) -> None:
    """The app is asked to; nothing else is to be done."""
    await peer.send(b"cut")
    with pytest.raises(ConnectionResetError):
        await peer.rest()


async def switch(reader: Reader, writer: Writer) -> None:
    """An app that switches, then ends as it is told, or when the person does."""
    await reader.readuntil(b"\r\n\r\n")
    writer.write(SWITCH.replace("\n", "\r\n").encode())
    if await reader.read(3) == b"cut":
        reset(writer)


async def gone(reader: Reader, writer: Writer) -> None:
    """An app that takes connections and ends them."""
    writer.transport.abort()


@both_loops
@pytest.mark.parametrize("end", [person_ends, person_resets, app_ends, app_resets])
def test_tunnels_leave_nothing_behind_in_any_order_of_ends(tmp_path: Path, run: Runner, end: End) -> None:
    """WebSockets opened and closed again and again: descriptors, tasks and visits are where they were."""

    async def through(house: House) -> None:
        async with visit(house) as peer:
            await peer.send(get(house, more=UPGRADE))
            await peer.head()
            await end(peer)

    run(many(tmp_path, switch, through))


@both_loops
@pytest.mark.parametrize("fault", [None, Fault.NOT_LISTENING])
def test_dead_apps_leave_nothing_behind(tmp_path: Path, run: Runner, fault: Fault | None) -> None:
    """Nobody listens, or who listens hangs up: refusals cost nothing that lasts."""

    async def refused(house: House) -> None:
        house.fault = fault
        async with visit(house) as peer:
            await peer.send(get(house, more=UPGRADE))
            assert (await peer.response())[0] >= 500

    run(many(tmp_path, gone, refused))


async def many(
    tmp_path: Path, app: Callable[[Reader, Writer], Awaitable[None]], one: Callable[[House], Awaitable[None]]
) -> None:
    """Does `one` often, several at once, and waits until all is as it was after the first."""
    async with open_house(tmp_path, app, level=Level.OPEN) as house:
        await one(house)
        await settled(house, *state())
        before = state()
        for _ in range(CONNECTIONS // AT_ONCE):
            await asyncio.gather(*(one(house) for _ in range(AT_ONCE)))
        await settled(house, *before)


async def settled(house: House, descriptors: int, tasks: int) -> None:
    """Waits until no visit is live and no more is open than that."""
    async with asyncio.timeout(SETTLED_S):
        while len(house.gate.visits) or any(
            now > then for now, then in zip(state(), (descriptors, tasks), strict=True)
        ):
            await asyncio.sleep(0.02)


def state() -> tuple[int, int]:
    """How many descriptors and tasks there are."""
    return len(list(Path("/proc/self/fd").iterdir())), len(asyncio.all_tasks())
