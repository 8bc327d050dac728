"""A person at a terminal: the real ssh client on a pty of the test's."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import pty
import struct
import termios
import time
from collections.abc import AsyncIterator

from tests.gateway.entries.ssh.world import World


class Terminal:
    """What the person sees so far, and what they do."""

    def __init__(self, master: int, process: asyncio.subprocess.Process) -> None:
        """Use `terminal`."""
        self._master, self._process = master, process
        self.shown = b""
        self._news = asyncio.Event()
        asyncio.get_running_loop().add_reader(master, self._read)

    def type(self, keys: bytes) -> None:
        """Presses keys."""
        os.write(self._master, keys)

    def resize(self, columns: int, rows: int) -> None:
        """Pulls at the window's corner."""
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0))

    async def sees(self, text: str, *, within_s: float = 10) -> None:
        """Waits until the text is shown, and forgets what came up to it."""
        deadline = time.monotonic() + within_s
        while text.encode() not in self.shown:
            self._news.clear()
            try:
                async with asyncio.timeout(deadline - time.monotonic()):
                    await self._news.wait()
            except TimeoutError:
                raise AssertionError(f"{text!r} is not shown, but {self.shown[-2000:]!r}") from None
        self.shown = self.shown.partition(text.encode())[2]

    async def ends(self, *, within_s: float = 10) -> int:
        """Waits for the client to end; its status."""
        async with asyncio.timeout(within_s):
            return await self._process.wait()

    def _read(self) -> None:
        try:
            self.shown += os.read(self._master, 65536)
        except OSError:  # the client is gone
            asyncio.get_running_loop().remove_reader(self._master)
        self._news.set()


@contextlib.asynccontextmanager
async def terminal(
    world: World, *command: str, user: str = "alice", size: tuple[int, int] = (80, 24), options: tuple[str, ...] = ()
) -> AsyncIterator[Terminal]:
    """`ssh -tt USER@gateway` on a terminal of this size, columns by rows."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("4H", size[1], size[0], 0, 0))
    process = await asyncio.create_subprocess_exec(
        "ssh", *world.options(user.split("+", maxsplit=1)[0]), "-tt", *options, f"{user}@127.0.0.1", *command,
        stdin=slave, stdout=slave, stderr=slave, start_new_session=True, env={**os.environ, "TERM": "xterm"},
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )  # fmt: skip
    os.close(slave)
    made = Terminal(master, process)
    try:
        yield made
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        asyncio.get_running_loop().remove_reader(master)
        os.close(master)
