"""The two ends of a channel: order, bounds, back-pressure."""

import asyncio
from typing import cast

from gateway.entries.ssh.ends import End, Inlet, Outlet, Resize, Signal
from gateway.entries.ssh.protocol import Connection


class Tap:
    """Stands for a channel's pause and resume."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def pause(self) -> None:
        """Delivery stops."""
        self.calls.append("pause")

    def resume(self) -> None:
        """Delivery goes on."""
        self.calls.append("resume")


async def test_data_and_requests_keep_their_order() -> None:
    """A resize between two pieces of data stays between them; pieces in a row come as one."""
    inlet = Inlet(Tap().pause, Tap().resume)
    for item in (b"a", b"b", Resize(80, 24), b"c", Signal("INT"), End()):
        inlet.put(item)
    taken = [await inlet.get() for _ in range(5)]
    assert taken == [b"ab", Resize(80, 24), b"c", Signal("INT"), End()]


async def test_a_full_inlet_pauses_its_channel_until_it_is_half_empty() -> None:
    """One pause, one resume, however many pieces."""
    tap = Tap()
    inlet = Inlet(tap.pause, tap.resume)
    for _ in range(10):
        inlet.put(b"x" * 32768)
    assert tap.calls == ["pause"]
    got = 0
    while got < 10 * 32768:
        data = await inlet.get()
        assert isinstance(data, bytes)
        got += len(data)
    assert tap.calls == ["pause", "resume"]


async def test_floods_of_signals_and_resizes_are_bounded() -> None:
    """Of a thousand resizes the last is kept, of a thousand signals a few."""
    inlet = Inlet(Tap().pause, Tap().resume)
    for number in range(1000):
        inlet.put(Resize(number, 24))
    for _ in range(1000):
        inlet.put(Signal("INT"))
    inlet.put(End())
    assert await inlet.get() == Resize(999, 24)
    signals = 0
    while await inlet.get() == Signal("INT"):
        signals += 1
    assert signals == 16
    inlet.put(Signal("INT"))
    assert await inlet.get() == Signal("INT")


async def test_what_is_given_back_comes_first() -> None:
    """Keys typed ahead in the menu reach the job before later ones; a waiting taker is woken."""
    inlet = Inlet(Tap().pause, Tap().resume)
    inlet.put(Resize(1, 1))
    inlet.give_back(b"")
    inlet.give_back(b"ls\n")
    assert await inlet.get() == b"ls\n"
    assert await inlet.get() == Resize(1, 1)
    async with asyncio.TaskGroup() as tasks:
        taker = tasks.create_task(inlet.get())
        await asyncio.sleep(0)
        inlet.put(b"x")
    assert taker.result() == b"x"


class Wire:
    """A connection and a channel that take so many bytes."""

    def __init__(self) -> None:
        self.room = asyncio.Event()
        self.room.set()
        self.written: list[tuple[bytes, int | None]] = []
        self.limits: list[int | None] = []
        self.ended = 0

    def write(self, data: bytes, datatype: int | None = None) -> None:
        """Notes what is written."""
        self.written.append((data, datatype))

    def write_eof(self) -> None:
        """Notes the end."""
        self.ended += 1

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Notes the limits."""
        self.limits.append(high)


async def test_an_outlet_waits_for_the_window_and_for_the_transport() -> None:
    """Nothing is written while either is full; the end comes after all data, once."""
    wire = Wire()
    outlet = Outlet(cast("Connection", wire), wire)
    assert wire.limits == [0]
    async with asyncio.TaskGroup() as tasks:
        outlet.pause()
        writing = tasks.create_task(outlet.write(b"x" * 40000, error=True))
        await asyncio.sleep(0.01)
        assert (wire.written, outlet.clear) == ([], False)
        wire.room.clear()
        outlet.resume()
        await asyncio.sleep(0.01)
        assert wire.written == []
        wire.room.set()
        await writing
    assert [(len(data), kind) for data, kind in wire.written] == [(32768, 1), (7232, 1)]
    await outlet.write(b"y")
    assert wire.written[-1] == (b"y", None)
    await outlet.end()
    await outlet.end()
    assert wire.ended == 1
