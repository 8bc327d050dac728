"""A session channel: a shell, a command or sftp in a job.

asyncssh's callbacks only note what was asked and put what comes into the inlet; one task does the
rest: finds the job (with the menu, where a terminal is and a choice), opens the stream through the
bridge and joins it with the channel. Nothing is ever written to standard output but what the job
writes, except on a terminal.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

import asyncssh
from asyncssh.misc import TermModes, TermSize

from gateway.core.decide import Admission
from gateway.core.menu_words import job_list
from gateway.core.refusals import Code, Refusal, next_step, sentence
from gateway.core.ssh_name import language
from gateway.entries.ssh.ends import End, Inlet, Outlet, Resize, Signal
from gateway.entries.ssh.environment import about_connection, passed_on
from gateway.entries.ssh.guest import Cut, Guest
from gateway.entries.ssh.join import Exit, join
from gateway.entries.ssh.lending import Display, agent_lent, display, display_lent
from gateway.entries.ssh.menu import Screen, choose
from gateway.entries.ssh.protocol import SessionChannel
from gateway.entries.ssh.routing import Several
from gateway.wire.bridge import DialFault, Pty
from gateway.wire.frames import Frames
from gateway.wire.visits import Visit

REFUSED: Final = Exit(status=1)
"""How a session ends that never reached a job."""
CUT: Final = Exit(status=255)
"""How one ends that was cut; ssh itself says 255 when a connection breaks."""
_LAST_WORDS_S: Final = 0.5
_SFTP: Final = "internal-sftp"
"""What sshd calls its sftp server in a forced command, and what a forced command is told was asked for."""


class Session(asyncssh.SSHServerSession[bytes]):
    """One session channel, from its opening to its close."""

    def __init__(self, guest: Guest) -> None:
        """Nothing was asked for yet."""
        self._guest = guest
        self._pty: tuple[str, Mapping[int, int]] | None = None
        self._size = (0, 0)
        self._command: str | None = None
        self._sftp = False
        self._agent = False
        self._display: Display | None = None
        self._task: asyncio.Task[None] | None = None

    # What asyncssh calls: nothing here waits or raises ------------------------------------------

    def connection_made(self, chan: asyncssh.SSHServerChannel[bytes]) -> None:
        """The channel is open."""
        assert isinstance(chan, SessionChannel)
        self._channel = chan
        self._inlet = Inlet(chan.pause_reading, chan.resume_reading)
        self._outlet = Outlet(self._guest.connection, chan)

    def pty_requested(self, term_type: str, term_size: TermSize, term_modes: TermModes) -> bool:
        """The client has a terminal."""
        if not self._guest.conditions.pty:
            return False
        self._pty = term_type, dict(term_modes)
        self._size = term_size[:2]
        return True

    def agent_requested(self) -> bool:
        """The client's agent is to be reached from the job."""
        self._agent = self._guest.conditions.agent
        return self._agent

    def display_requested(self, protocol: bytes, cookie: bytes, screen: int) -> bool:
        """The client's X display is to be reached from the job."""
        self._display = display(protocol, cookie, screen) if self._guest.conditions.display else None
        return self._display is not None

    def shell_requested(self) -> bool:
        """The client wants a login shell."""
        return True

    def exec_requested(self, command: str) -> bool:
        """The client wants a command; bytes that are not UTF-8 are lone surrogates."""
        self._command = command
        return True

    def subsystem_requested(self, subsystem: str) -> bool:
        """The client wants sftp; there is no other subsystem."""
        self._sftp = subsystem == "sftp"
        return self._sftp

    def session_started(self) -> None:
        """All is asked: the work begins."""
        self._task = self._guest.spawn(self._run())

    def data_received(self, data: bytes, _datatype: asyncssh.DataType) -> None:
        """Input came."""
        self._inlet.put(data)

    def eof_received(self) -> bool:
        """No more input comes; output goes on."""
        self._inlet.put(End())
        return True

    def terminal_size_changed(self, width: int, height: int, _pixwidth: int, _pixheight: int) -> None:
        """The terminal has a new size, which counts also while the menu shows or the job is being reached."""
        self._size = width, height
        self._inlet.put(_resize(width, height))

    def signal_received(self, signal: str) -> None:
        """The client asks for a signal."""
        self._inlet.put(Signal(signal))

    def break_received(self, _msec: int) -> bool:
        """A break is nothing to a pseudo-terminal, and refused where there is none, as sshd does."""
        return self._pty is not None

    def pause_writing(self) -> None:
        """The client's window is used up."""
        self._outlet.pause()

    def resume_writing(self) -> None:
        """The client takes more."""
        self._outlet.resume()

    def connection_lost(self, _exc: Exception | None) -> None:
        """The channel is gone, and with it what it opened in the job."""
        if self._task is not None:
            self._task.cancel()

    # The work -----------------------------------------------------------------------------------

    async def _run(self) -> None:
        try:
            ending = await self._choose() if self._menu_wanted() else await self._go_straight()
            if ending is not None:
                await self._close(ending)
        except ConnectionError:
            self._channel.abort()  # the client closed while we wrote to it
        except Exception:
            self._channel.abort()
            raise

    def _menu_wanted(self) -> bool:
        return self._pty is not None and not self._sftp and self._guest.routing.menu_wanted()

    async def _choose(self) -> Exit | None:
        """The menu, until a job was entered or the person leaves."""
        refusal: Refusal | None = None
        while True:
            term = self._pty[0] if self._pty is not None else ""
            screen = Screen(self._inlet, self._outlet, term, self._size, self._language())
            chosen = await choose(self._guest, screen, refusal)
            if chosen is None:
                return Exit(status=0)
            if isinstance(chosen, Refusal):
                return await self._refused(chosen)
            admission = self._guest.routing.decide(chosen.entry)
            refusal = admission if isinstance(admission, Refusal) else None
            if isinstance(admission, Admission):
                try:
                    return await self._visit(admission)
                except DialFault as fault:
                    refusal = fault.refusal  # back to the menu, which says it

    async def _go_straight(self) -> Exit | None:
        destination = self._guest.routing.admit()
        if isinstance(destination, Several):
            return await self._list(destination)
        if isinstance(destination, Refusal):
            return await self._refused(destination)
        try:
            return await self._visit(destination)
        except DialFault as fault:
            return await self._refused(fault.refusal)

    async def _visit(self, admission: Admission) -> Exit | None:
        """The time in the job. Raises DialFault when it is not reached. Call right after decide()."""
        try:
            async with self._guest.visit(admission, self._kind()) as visit:
                return await self._inside(admission, visit)
        except Cut as cut:
            return await self._cut(cut.refusal)

    async def _inside(self, admission: Admission, visit: Visit) -> Exit:
        async with self._lent(admission) as env, await self._open(admission, env) as frames:
            self._guest.routing.entered(admission)
            try:
                ending = await join(self._inlet, self._outlet, frames, visit)
            finally:
                frames.abort()  # input that the job did not read must not keep its stream open
        if ending is None:
            await self._tell(Refusal(Code.UPSTREAM_LOST))
        return ending or CUT

    @asynccontextmanager
    async def _lent(self, admission: Admission) -> AsyncIterator[dict[str, str]]:
        """The agent and the display that the client offers, and the variables by which programs find them."""
        env: dict[str, str] = {}
        async with AsyncExitStack() as lent:
            if self._agent:
                env |= await lent.enter_async_context(agent_lent(self._guest, admission))
            if self._display is not None:
                env |= await lent.enter_async_context(display_lent(self._guest, admission, self._display))
            yield env

    async def _open(self, admission: Admission, lent: dict[str, str]) -> Frames:
        bridge, deadline_s = self._guest.gate.bridge, self._guest.gate.config.dial_s
        forced = self._guest.conditions.command
        env = dict(self._guest.conditions.env)
        if self._sftp and forced in {None, _SFTP}:
            return await _frames(await bridge.sftp(admission, env=env, deadline_s=deadline_s))
        env |= passed_on(self._channel.environment()) | about_connection(self._guest.connection) | lent
        if forced is not None:
            env |= {"SSH_ORIGINAL_COMMAND": original} if (original := self._command or self._subsystem()) else {}
        pty = None
        if self._pty is not None:
            size = _resize(*self._size)
            pty = Pty(self._pty[0], size.rows, size.columns, self._pty[1])
        command = self._command if forced is None else forced
        stream = await bridge.shell(admission, command=command, env=env, pty=pty, deadline_s=deadline_s)
        return await _frames(stream)

    def _subsystem(self) -> str:
        return _SFTP if self._sftp else ""

    # Words --------------------------------------------------------------------------------------

    async def _refused(self, refusal: Refusal) -> Exit:
        await self._tell(refusal)
        return REFUSED

    async def _list(self, several: Several) -> Exit:
        """The jobs to name, for who has no terminal or named too many."""
        entry = several.ways[0].entry
        text = job_list(several.why, several.ways, self._guest.visitor.name, entry.host, entry.port, self._language())
        await self._say(text)
        return REFUSED

    async def _tell(self, refusal: Refusal) -> None:
        said = self._language()
        await self._say(f"{sentence(refusal, said)}{'' if said == 'zh' else ' '}{next_step(refusal, said)}")

    async def _say(self, text: str) -> None:
        """Lines to the terminal, or to standard error where there is none."""
        if self._pty is None:
            await self._outlet.write(f"{text}\n".encode(), error=True)
        else:
            lines = text.replace("\n", "\r\n")
            await self._outlet.write(f"\r\n{lines}\r\n".encode())

    async def _cut(self, refusal: Refusal) -> Exit | None:
        """Says why, where the client still reads. Where it does not, the channel is closed as it is: None."""
        try:
            async with asyncio.timeout(_LAST_WORDS_S):
                await self._tell(refusal)
                await self._outlet.end()
        except TimeoutError:
            self._channel.abort()
            return None
        return CUT

    async def _close(self, ending: Exit) -> None:
        """In order: data, end of data, status or signal, close."""
        await self._outlet.end()
        if ending.signal is not None:
            self._channel.exit_with_signal(ending.signal)
        else:
            self._channel.exit(ending.status)

    def _language(self) -> str:
        environment = passed_on(self._channel.environment())
        return language(environment, self._guest.language)

    def _kind(self) -> str:
        return "sftp" if self._sftp else "ssh"


async def _frames(stream: socket.socket) -> Frames:
    """The stream's frames; the stream is closed when the client leaves at this very moment."""
    try:
        return await Frames.over(stream)
    except BaseException:
        stream.close()
        raise


def _resize(columns: int, rows: int) -> Resize:
    """A size in cells; a terminal of 0x0 counts as 80x24."""
    return Resize(min(columns, 0xFFFF) or 80, min(rows, 0xFFFF) or 24)
