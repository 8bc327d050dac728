"""Pipes: what goes in comes out, how many there are, and what becomes of one that is not empty."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from gateway.wire import splice
from gateway.wire.splice import Pipe, Pipes

DATA = os.urandom(300_000)


@contextmanager
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Two connected TCP sockets; the second does not wait."""
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()) as near,
    ):
        far, _ = listener.accept()
        with far:
            far.setblocking(False)
            yield near, far


def descriptors() -> int:
    """How many this process has."""
    return len(os.listdir("/proc/self/fd"))


def test_bytes_come_out_as_they_went_in() -> None:
    """In order, and all of them."""
    pipe = Pipe()
    with pair() as (near, source), pair() as (sink, reader):
        near.sendall(DATA[:100_000])
        assert pipe.fill(source.fileno(), 60_000) <= 60_000
        while pipe.held < 100_000:
            pipe.fill(source.fileno(), 1 << 20)
        assert pipe.drain(sink.fileno()) == 100_000
        assert pipe.held == 0
        got = b""
        reader.setblocking(True)
        while len(got) < 100_000:
            got += reader.recv(1 << 20)
        assert got == DATA[:100_000]
    pipe.close()


def test_nothing_and_the_end_are_told_apart() -> None:
    """As by recv."""
    pipe = Pipe()
    with pair() as (near, source):
        with pytest.raises(BlockingIOError):
            pipe.fill(source.fileno(), 100)
        near.shutdown(socket.SHUT_WR)
        assert pipe.fill(source.fileno(), 100) == 0
    pipe.close()


def test_a_sink_takes_what_it_can() -> None:
    """The rest is held."""
    pipe = Pipe()
    with pair() as (near, source), pair() as (_, sink):
        near.setblocking(False)
        while True:
            try:
                near.send(DATA)
                pipe.fill(source.fileno(), 1 << 20)
            except BlockingIOError:
                pass
            if pipe.held and not pipe.drain(sink.fileno()):
                break
        assert pipe.held
    pipe.close()


def test_an_empty_pipe_is_used_again_and_any_other_is_closed() -> None:
    """What waits in one belongs to nobody else."""
    pipes, before = Pipes(), descriptors()
    first = pipes.take()
    assert first is not None
    pipes.give(first)
    assert pipes.take() is first
    first.held = 1
    pipes.give(first)
    assert (len(pipes), pipes.made, descriptors()) == (0, 0, before)


def test_there_are_no_more_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor more idle ones than are worth keeping."""
    monkeypatch.setattr(splice, "LIMIT", 3)
    monkeypatch.setattr(splice, "IDLE_LIMIT", 1)
    pipes, before = Pipes(), descriptors()
    taken = [pipes.take() for _ in range(4)]
    assert [pipe is None for pipe in taken] == [False, False, False, True]
    for pipe in taken[:3]:
        assert pipe is not None
        pipes.give(pipe)
    assert (len(pipes), pipes.made, descriptors()) == (1, 1, before + 2)


def test_where_there_is_no_splice_there_is_no_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    """On other systems, and without descriptors."""
    monkeypatch.setattr(splice, "CAN_SPLICE", False)
    assert Pipes().take() is None
    monkeypatch.setattr(splice, "CAN_SPLICE", True)
    monkeypatch.setattr(os, "pipe2", _no_more)
    assert Pipes().take() is None


def _no_more(_flags: int) -> tuple[int, int]:
    raise OSError(24, "Too many open files")
