"""Pipes through which the kernel moves bytes from socket to socket (Linux, splice(2)): no copy of them comes here.

State: the process's idle pipes, and how many pipes there are. A pipe is held only while bytes wait in it, so that
LIMIT of them serve any number of connections; who gets none copies instead, which is the way of other systems too.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from typing import Final

PIPE_BYTES: Final = 1024 * 1024
"""What a pipe holds at most, where the system allows so much."""
LIMIT: Final = 64
"""Pipes of one process: so much waits in the kernel at most for people who read slowly."""
IDLE_LIMIT: Final = 4
"""Pipes that are kept while nobody needs them."""
CAN_SPLICE: Final = hasattr(os, "splice")


class Pipe:
    """One pipe. `held` tells how many bytes wait in it."""

    __slots__ = ("_read", "_write", "held")

    def __init__(self) -> None:
        self.held = 0
        self._read, self._write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        with contextlib.suppress(OSError):  # a user's pipes are limited in all; a small one does as well
            fcntl.fcntl(self._write, fcntl.F_SETPIPE_SZ, PIPE_BYTES)

    def fill(self, source: int, count: int) -> int:
        """Takes at most `count` bytes out of a socket; 0 at its end. Raises BlockingIOError, and OSError for a loss."""
        moved = os.splice(source, self._write, count, flags=_FLAGS)
        self.held += moved
        return moved

    def drain(self, sink: int) -> int:
        """Gives a socket as much as it takes now; how much that was. Raises OSError for a loss."""
        moved = 0
        while self.held:
            try:
                given = os.splice(self._read, sink, self.held, flags=_FLAGS)
            except (BlockingIOError, InterruptedError):
                break
            self.held -= given
            moved += given
        return moved

    def close(self) -> None:
        """What waits in it is lost."""
        os.close(self._read)
        os.close(self._write)


class Pipes:
    """The pipes of one process."""

    def __init__(self) -> None:
        """None yet: the first one is made when it is needed."""
        self._idle: list[Pipe] = []
        self.made = 0
        """How many there are."""

    def __len__(self) -> int:
        """How many of them are idle."""
        return len(self._idle)

    def take(self) -> Pipe | None:
        """An empty pipe; None when there is none to be had."""
        if self._idle:
            return self._idle.pop()
        if not CAN_SPLICE or self.made >= LIMIT:
            return None
        try:
            pipe = Pipe()
        except OSError:  # no descriptors are left
            return None
        self.made += 1
        return pipe

    def give(self, pipe: Pipe) -> None:
        """Takes a pipe back. What still waits in it goes nowhere."""
        if pipe.held or len(self._idle) >= IDLE_LIMIT:
            pipe.close()
            self.made -= 1
        else:
            self._idle.append(pipe)


_FLAGS: Final = os.SPLICE_F_MOVE | os.SPLICE_F_NONBLOCK if CAN_SPLICE else 0
PIPES: Final = Pipes()
