"""Client of the bridges, which lend streams into jobs. Every stream verb takes an Admission.

A bridge only introduces: the socket that it hands over ends at the job's app or its shim. While a
bridge restarts, its listener is held by the supervisor, so that a call waits in the backlog; a call
that was cut by the restart is made again until its deadline.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, Self

from gateway.contract.bridge import HOME, KEYS_LIMIT, Call, Fault, Reply, Verb, decode_reply, encode_call, home_subject
from gateway.contract.calls import call
from gateway.core.decide import Admission
from gateway.core.refusals import Code, Refusal

log = logging.getLogger(__name__)

_RETRY_S: Final = 0.05
_CODES: Final[dict[Fault, Code]] = {
    Fault.NOT_FOUND: Code.JOB_ENDED,
    Fault.NOT_RUNNING: Code.JOB_ENDED,
    Fault.NOT_LISTENING: Code.NOT_LISTENING,
    Fault.FORBIDDEN: Code.FORBIDDEN,
    Fault.UNSUPPORTED: Code.UNSUPPORTED,
    Fault.BAD_REQUEST: Code.BAD_REQUEST,
    Fault.FAILED: Code.UNREACHABLE,
}


@dataclass(frozen=True, slots=True)
class Pty:
    """A terminal to be: its TERM, its size in cells, and the modes of RFC 4254 section 8 by opcode."""

    term: str = "xterm-256color"
    rows: int = 24
    cols: int = 80
    modes: Mapping[int, int] = field(default_factory=dict)


class Listening:
    """Sockets that listen inside a job, non-blocking, until closed. `told` is what the bridge says of them."""

    def __init__(self, told: Mapping[str, Any], descriptors: list[int]) -> None:
        """Takes the descriptors: the listeners, and after them the lifeline of the files that go with them."""
        self.told = told
        sockets = [socket.socket(fileno=descriptor) for descriptor in descriptors]
        count = told.get("listeners")
        self.sockets = sockets[: count if isinstance(count, int) else 0]
        self._all = sockets
        for sock in sockets:
            sock.setblocking(False)

    def close(self) -> None:
        """Listens no more."""
        for sock in self._all:
            sock.close()

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, *_fault: object) -> None:
        """Listens no more."""
        self.close()


class DialFault(Exception):
    """The job could not be reached. `refusal` is for the person, the message for the log."""

    def __init__(self, refusal: Refusal, detail: str) -> None:
        """`detail` may name inner things: it is logged, never shown."""
        super().__init__(f"{refusal.code}: {detail}")
        self.refusal = refusal


class Bridge:
    """All bridges of the installation, by engine; holds no connection between calls."""

    def __init__(self, run_dir: Path, now: Callable[[], float]) -> None:
        """`run_dir` is where the sockets `bridge-ENGINE.sock` lie; calls expire by the clock `now`."""
        self._run_dir = run_dir
        self._now = now
        self.dialled: Callable[[float], object] = _not_counted
        """Is told how many seconds each connection into a job took."""

    async def connect(
        self, admission: Admission, *, port: int | None = None, path: str | None = None, deadline_s: float
    ) -> socket.socket:
        """A connected, non-blocking socket to a port of the job, made inside it; by default the target's.

        Another port, or the path of a Unix socket, is for those who may enter the job as its owner
        (`ssh -L`). Raises DialFault.
        """
        port = admission.target.port if port is None else port
        if port is None and path is None:
            raise DialFault(_refusal(Code.UNSUPPORTED, admission), "the target has no port")
        started = asyncio.get_running_loop().time()
        where = {"port": port} if path is None else {"path": path}
        stream = await self._stream(Verb.CONNECT, admission, where, deadline_s)
        self.dialled(asyncio.get_running_loop().time() - started)
        return stream

    async def reach(self, admission: Admission, host: str, port: int, *, deadline_s: float) -> socket.socket:
        """A connected, non-blocking socket from inside the job to another machine, as far as the job gets.

        For those who may enter the job as its owner (`ssh -L`, `-D`). Raises DialFault.
        """
        return await self._stream(Verb.REACH, admission, {"host": host, "port": port}, deadline_s)

    async def listen(self, admission: Admission, where: Mapping[str, Any], *, deadline_s: float) -> Listening:
        """Sockets that listen inside the job, for those who may enter it as its owner (`ssh -R`). Raises DialFault.

        `where` is as the contract has it: a port or 0, a path, the agent's socket or a display.
        """
        reply, descriptors = await self._answer(Verb.LISTEN, admission, dict(where), deadline_s)
        listening = Listening(reply.result, descriptors)
        if not listening.sockets:
            listening.close()
            raise DialFault(_refusal(Code.UNREACHABLE, admission), "the bridge sent no listener")
        return listening

    async def shell(
        self,
        admission: Admission,
        *,
        command: str | None,
        env: Mapping[str, str],
        pty: Pty | None,
        deadline_s: float,
    ) -> socket.socket:
        """A socket of frames to a shell in the job; `command` None is the login shell. Raises DialFault."""
        args = {"command": command, "env": dict(env), "pty": None if pty is None else asdict(pty)}
        return await self._stream(Verb.SHELL, admission, args, deadline_s)

    async def sftp(
        self, admission: Admission, *, env: Mapping[str, str] | None = None, deadline_s: float
    ) -> socket.socket:
        """A socket of frames to an sftp-server in the job. Raises DialFault."""
        return await self._stream(Verb.SFTP, admission, {"env": dict(env)} if env else {}, deadline_s)

    async def home_keys(self, user: str, cluster: str, *, deadline_s: float) -> bytes | None:
        """The authorized_keys of a person's home on a cluster, empty when there is none; None: no answer.

        Asked before anybody is let in, so that there is no Admission: what it lends is a text.
        """
        message = encode_call(Call(Verb.KEYS, home_subject(user, cluster), expires_at=self._now() + deadline_s))
        path = str(self._run_dir / f"bridge-{cluster}.sock")
        try:
            async with asyncio.timeout(deadline_s):
                answer, descriptors = await _patient_call(path, message, deadline_s)
        except TimeoutError:
            log.warning("no answer from %s about keys", path)
            return None
        try:
            return _keys(user, decode_reply(answer), descriptors)
        except ValueError as fault:
            log.warning("bad answer from %s: %s", path, fault)
            return None
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    async def _stream(self, verb: Verb, admission: Admission, args: dict[str, Any], deadline_s: float) -> socket.socket:
        _, descriptors = await self._answer(verb, admission, args, deadline_s)
        for spare in descriptors[1:]:
            os.close(spare)
        if not descriptors:
            raise DialFault(_refusal(Code.UNREACHABLE, admission), "the bridge sent no socket")
        stream = socket.socket(fileno=descriptors[0])
        stream.setblocking(False)
        return stream

    async def _answer(
        self, verb: Verb, admission: Admission, args: dict[str, Any], deadline_s: float
    ) -> tuple[Reply, list[int]]:
        """A good answer with its descriptors. Raises DialFault."""
        reply, descriptors = await self._call(verb, admission, args, deadline_s)
        if reply.fault is None:
            return reply, descriptors
        for descriptor in descriptors:
            os.close(descriptor)
        raise DialFault(_refusal(_CODES[reply.fault], admission), f"{reply.fault} {reply.detail}")

    async def _call(
        self, verb: Verb, admission: Admission, args: dict[str, Any], deadline_s: float
    ) -> tuple[Reply, list[int]]:
        path = str(self._run_dir / f"bridge-{admission.target.engine}.sock")
        try:
            message = encode_call(_as_call(verb, admission, args, self._now() + deadline_s))
        except ValueError as fault:
            raise DialFault(_refusal(Code.TOO_LARGE, admission), str(fault)) from fault
        try:
            async with asyncio.timeout(deadline_s):
                answer, descriptors = await _patient_call(path, message, deadline_s)
        except TimeoutError as fault:
            raise DialFault(_refusal(Code.UNREACHABLE, admission), f"no answer from {path}") from fault
        try:
            return decode_reply(answer), descriptors
        except ValueError as fault:
            for descriptor in descriptors:
                os.close(descriptor)
            raise DialFault(_refusal(Code.UNREACHABLE, admission), f"bad answer: {fault}") from fault


def _keys(user: str, reply: Reply, descriptors: list[int]) -> bytes | None:
    if reply.fault is None and descriptors:
        return os.pread(descriptors[0], KEYS_LIMIT + 1, 0)
    if reply.fault is not Fault.NOT_FOUND:
        log.info("the authorized_keys of %s do not count: %s", user, reply.detail)
    return b"" if reply.fault in {Fault.NOT_FOUND, Fault.FORBIDDEN} else None


def _not_counted(_seconds: float) -> None:
    return


async def _patient_call(path: str, message: bytes, deadline_s: float) -> tuple[bytes, list[int]]:
    """The answer, asked for again and again while the bridge restarts; the caller's deadline ends it."""
    while True:
        try:
            return await call(path, message, deadline_s=deadline_s)
        except OSError as fault:
            log.debug("bridge %s: %s; trying again", path, fault)
        await asyncio.sleep(_RETRY_S)


def _as_call(verb: Verb, admission: Admission, args: dict[str, Any], expires_at: float) -> Call:
    visitor = admission.visitor.name or None
    if admission.target.subject.startswith(HOME):
        args = {**args, "user_id": admission.visitor.user_id}
    return Call(verb, admission.target.subject, args, visitor, admission.grounds, expires_at)


def _refusal(code: Code, admission: Admission) -> Refusal:
    return Refusal(code, admission.entry.job_id, admission.entry.name)
