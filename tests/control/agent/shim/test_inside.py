"""The shim's talk with the inner half, with the test as the inner half."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from control.agent.shim.inside import Inside


class Other:
    """The inner half's end."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self.sock = sock

    async def hear(self) -> dict[str, Any]:
        """The next request."""
        return dict(json.loads(await asyncio.get_running_loop().sock_recv(self.sock, 1 << 17)))

    def say(self, descriptors: tuple[int, ...] = (), **fields: Any) -> None:
        """One message."""
        socket.send_fds(self.sock, [json.dumps(fields).encode()], descriptors)


@asynccontextmanager
async def talking() -> AsyncIterator[tuple[Inside, Other, asyncio.TaskGroup]]:
    """Both ends, and a group for what waits."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        async with asyncio.TaskGroup() as group:
            inside = Inside(ours)
            listening = group.create_task(inside.listen())
            yield inside, Other(theirs), group
            listening.cancel()


async def fails(asking: Awaitable[int], words: str) -> None:
    """Awaits what is bound to fail with these words."""
    with pytest.raises(OSError, match=words):
        await asking


async def test_an_end_told_right_after_the_start_is_not_missed() -> None:
    """A program may have ended before whoever started it looks again."""
    async with talking() as (inside, other, group):
        started = group.create_task(inside.program([0, 1, 2], 5, argv=["true"]))
        request = await other.hear()
        other.say(id=request["id"], pid=77)
        other.say(exit=77, status=256)
        assert await started == 77
        assert await inside.ended(77) == 256
        inside.forget(77)


async def test_an_orphans_end_is_nobodys() -> None:
    """The inner half reaps what the job left; its ends are not waited for."""
    async with talking() as (inside, other, group):
        other.say(exit=99, status=0)
        waiting = group.create_task(fails(inside.connect(5, port=80), "refused"))
        other.say(id=(await other.hear())["id"], error="refused")
        await waiting


async def test_an_answer_that_comes_too_late_is_closed() -> None:
    """A descriptor that nobody waits for any more is not kept open."""
    async with talking() as (inside, other, group):
        with pytest.raises(TimeoutError):
            await inside.connect(0.05, port=80)
        reading, writing = os.pipe()
        other.say((writing,), id=(await other.hear())["id"])
        os.close(writing)
        marker = group.create_task(fails(inside.connect(5, port=81), "later"))
        other.say(id=(await other.hear())["id"], error="later")
        await marker
        assert os.read(reading, 1) == b""
        os.close(reading)


async def test_when_the_inner_half_goes_nothing_waits_for_ever() -> None:
    """Open requests fail, running programs count as killed, later requests are refused at once."""
    async with talking() as (inside, other, group):
        started = group.create_task(inside.program([0, 1, 2], 5, argv=["x"]))
        other.say(id=(await other.hear())["id"], pid=5)
        await started
        ended = group.create_task(inside.ended(5))
        waiting = group.create_task(fails(inside.connect(5, port=80), "the job has ended"))
        await other.hear()
        other.sock.close()
        assert await ended == signal.SIGKILL
        await waiting
        await fails(inside.connect(5, port=80), "the job has ended")
        await inside.signal("TERM")
