"""Joins a session channel with a stream of frames: two pumps, each with its own back-pressure.

Both directions run by themselves, so that a full one never blocks the other. The end of the client's
input is passed on and ends nothing; the job's exit ends both.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, Final

from gateway.contract.bridge import FrameKind
from gateway.entries.ssh.ends import End, Inlet, Item, Outlet, Resize, Signal
from gateway.wire.frames import Frames, payload_of
from gateway.wire.visits import Visit

_EXIT_SOON_S: Final = 0.5
"""How long the end of output waits for the exit. A program's exit follows it at once, and PuTTY, having
seen the end of both directions, closes the channel: an exit status after that would be lost."""


@dataclass(frozen=True, slots=True)
class Exit:
    """How a session ended: a status of 0 to 255, or the signal that killed it, without SIG."""

    status: int = 0
    signal: str | None = None


async def join(inlet: Inlet, outlet: Outlet, frames: Frames, visit: Visit) -> Exit | None:
    """Pumps both ways until the job's program ends; None when the stream broke before it said how.

    Raises ConnectionError when the client's channel is closed.
    """
    ending, gone, ended = None, None, asyncio.Event()
    async with asyncio.TaskGroup() as pumps:
        others = [pumps.create_task(_to_job(inlet, frames, visit)), pumps.create_task(_end(outlet, ended))]
        try:
            ending = await _to_client(outlet, frames, visit, ended)
        except ConnectionError as fault:
            gone = fault  # raised outside of the group, which would wrap it
        for pump in others:
            pump.cancel()
    if gone is not None:
        raise gone
    return ending


async def _to_client(outlet: Outlet, frames: Frames, visit: Visit, ended: asyncio.Event) -> Exit | None:
    while (frame := await _next(frames)) is not None:
        kind, payload = frame
        match kind:
            case FrameKind.DATA | FrameKind.ERROR:
                await outlet.write(payload, error=kind is FrameKind.ERROR)
                visit.count(0, len(payload))
            case FrameKind.EOF:
                ended.set()
            case FrameKind.EXIT:
                return _exit(payload_of(payload))
            case _:
                pass  # RESIZE and SIGNAL go the other way
    return None


async def _end(outlet: Outlet, ended: asyncio.Event) -> None:
    """Passes on the end of output where the program goes on without any."""
    await ended.wait()
    await asyncio.sleep(_EXIT_SOON_S)
    await outlet.end()


async def _next(frames: Frames) -> tuple[FrameKind, bytes] | None:
    """The next frame; None also when the stream broke, which is no fault of the client's channel."""
    try:
        return await frames.read()
    except ConnectionError:
        return None


async def _to_job(inlet: Inlet, frames: Frames, visit: Visit) -> None:
    """Passes on what the client sends. When the job takes no more, the rest is read and dropped: it may still print."""
    while True:
        item = await inlet.get()
        try:
            await _send(item, frames)
        except ConnectionError:
            continue
        if isinstance(item, bytes):
            visit.count(len(item), 0)


async def _send(item: Item, frames: Frames) -> None:
    match item:
        case bytes():
            await frames.write(FrameKind.DATA, item)
        case End():
            await frames.write(FrameKind.EOF)
        case Resize():
            await frames.write_json(FrameKind.RESIZE, rows=item.rows, cols=item.columns)
        case Signal():
            await frames.write_json(FrameKind.SIGNAL, name=item.name)


def _exit(told: dict[str, Any]) -> Exit:
    signal, status = told.get("signal"), told.get("status")
    if isinstance(signal, str):
        return Exit(signal=signal)
    return Exit(status=status if isinstance(status, int) else 255)
