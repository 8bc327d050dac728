"""A bridge for the gateway's tests: speaks the real call protocol and hands over real sockets."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from gateway.contract.bridge import Call, Fault, Reply, Verb, decode_call, encode_reply
from gateway.contract.calls import Answer, Peer, listen, serve

Lend = Callable[[Call], Awaitable[tuple[Reply, Sequence[int]]]]


class FakeBridge:
    """Answers calls on `bridge-local.sock` in a run directory. State: the calls it got."""

    def __init__(self, run_dir: Path, lend: Lend) -> None:
        self.calls: list[Call] = []
        self.listener = listen(str(run_dir / "bridge-local.sock"))
        self._lend = lend

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The bridge's process: at the end it is killed, while the supervisor keeps the listener."""
        async with asyncio.TaskGroup() as group:
            serving = group.create_task(serve(self.listener, self._answer, deadline_s=5))
            try:
                yield
            finally:
                serving.cancel()

    async def _answer(self, message: bytes, peer: Peer) -> Answer:
        call = decode_call(message)
        self.calls.append(call)
        reply, descriptors = await self._lend(call)
        return encode_reply(reply), descriptors


@asynccontextmanager
async def bridge(run_dir: Path, lend: Lend) -> AsyncIterator[FakeBridge]:
    """A running bridge for as long as the block."""
    fake = FakeBridge(run_dir, lend)
    with fake.listener:
        async with fake.running():
            yield fake


def lends(*descriptors: int) -> Lend:
    """A bridge that hands over these descriptors."""

    async def lend(call: Call) -> tuple[Reply, Sequence[int]]:
        return Reply(), descriptors

    return lend


def refuses(fault: Fault) -> Lend:
    """A bridge that says no."""

    async def lend(call: Call) -> tuple[Reply, Sequence[int]]:
        return Reply(fault=fault, detail="/inner/path"), []

    return lend


def connects_to(port: int) -> Lend:
    """A bridge whose jobs all listen on one port of this machine."""

    async def lend(call: Call) -> tuple[Reply, Sequence[int]]:
        assert call.verb is Verb.CONNECT
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        try:
            await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", port))
        except OSError:
            sock.close()
            return Reply(fault=Fault.NOT_LISTENING), []
        return Reply(), [sock.detach()]

    return lend
