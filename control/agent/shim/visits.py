"""The stream verbs: connect, reach, listen, shell, sftp. Each answers with descriptors that work without the bridge."""

from __future__ import annotations

import asyncio
import os
import socket
import traceback
from pathlib import Path
from typing import Any, Final

from .calls import Answer, Refused
from .inside import Inside
from .owners import listens_in_job
from .record import words_of
from .sandbox import login_shell
from .session import Session, start_on_pipes, start_on_terminal
from .spec import Spec

SFTP_SERVERS: Final = ("/usr/lib/openssh/sftp-server", "/usr/libexec/openssh/sftp-server", "/usr/lib/ssh/sftp-server")
_CONNECT_S: Final = 10.0
_REACH_S: Final = 12.0
_HOST_CHARACTERS: Final = 255
_SESSIONS: Final = 256
_SIDES: Final = 10_000


class Visits:
    """Opens streams into one job. State: the sessions that run, at most 256."""

    def __init__(
        self,
        spec: Spec,
        inside: Inside,
        env: dict[str, str],
        addresses: tuple[str, ...],
        inner_pid: int,
        group: asyncio.TaskGroup,
    ) -> None:
        self._spec = spec
        self._inside = inside
        self._env = env
        self._addresses = addresses
        self._inner_pid = inner_pid
        self._group = group
        self.sessions: set[asyncio.Task[None]] = set()

    async def connect(self, args: dict[str, Any]) -> Answer:
        """A connection to a port or a Unix socket of the job, made inside it. Refuses when nobody listens."""
        where = {"path": str(args["path"])} if "path" in args else {"port": _port(args["port"])}
        if self._spec.sandbox.network == "none" and not listens_in_job(self._inner_pid, **where):
            raise Refused("not_listening", "no process of the job listens there")
        try:
            descriptor = await self._inside.connect(_CONNECT_S, addresses=self._addresses, **where)
        except TimeoutError:
            raise Refused("not_listening", "the listener does not take the connection") from None
        except ConnectionError as fault:
            raise Refused("not_running", words_of(fault)) from None
        except OSError as fault:
            raise Refused("not_listening", words_of(fault)) from None
        return {}, [descriptor]

    async def reach(self, args: dict[str, Any]) -> Answer:
        """A connection from inside the job to another machine, as far as the job itself gets.

        Only where it has a network of its own: elsewhere this would be the machine's reach, not the job's.
        """
        host, port = str(args["host"]), _port(args["port"])
        if self._spec.sandbox.network == "none":
            raise Refused("unsupported", "the job has no network of its own")
        if not host or len(host) > _HOST_CHARACTERS or "\0" in host:
            raise ValueError("not a host")
        try:
            return {}, [await self._inside.reach(_REACH_S, host, port)]
        except ConnectionError as fault:
            raise Refused("not_running", words_of(fault)) from None
        except (OSError, TimeoutError) as fault:
            raise Refused("not_listening", words_of(fault)) from None

    async def listen(self, args: dict[str, Any]) -> Answer:
        """Sockets that listen inside the job, for a visitor's way back. Refuses when the place is taken."""
        try:
            return await self._inside.listener(_CONNECT_S, **_place(args))
        except ConnectionError as fault:
            raise Refused("not_running", words_of(fault)) from None
        except (OSError, TimeoutError) as fault:
            raise Refused("failed", words_of(fault)) from None

    async def shell(self, args: dict[str, Any]) -> Answer:
        """A login shell, or a command through the shell, on a terminal or on pipes."""
        shell = self._env.get("SHELL", login_shell())
        command, terminal = args.get("command"), args.get("pty")
        name = os.path.basename(shell)
        argv = [f"-{name}"] if command is None else [name, "-c", str(command)]
        program: dict[str, Any] = {
            "file": shell,
            "argv": argv,
            "env": self._env | _plain(args.get("env")),
            "cwd": str(self._spec.home),
        }
        if terminal is None:
            return await self._open(start_on_pipes, program)
        program["env"]["TERM"] = str(terminal.get("term") or "xterm")
        size = {"rows": _size(terminal.get("rows"), 24), "cols": _size(terminal.get("cols"), 80)}
        return await self._open(start_on_terminal, {**program, **size, "modes": terminal.get("modes") or {}})

    async def sftp(self, args: dict[str, Any]) -> Answer:
        """The machine's own sftp server, run inside the job."""
        server = sftp_server()
        if server is None:
            raise Refused("unsupported", "this machine has no sftp-server (package openssh-sftp-server)")
        program = {"argv": [server], "env": self._env | _plain(args.get("env")), "cwd": str(self._spec.home)}
        return await self._open(start_on_pipes, program)

    async def _open(self, start: Any, program: dict[str, Any]) -> Answer:
        if len(self.sessions) >= _SESSIONS:
            raise Refused("failed", f"the job has {_SESSIONS} sessions open already")
        try:
            started = await start(self._inside, **program)
        except ConnectionError as fault:
            raise Refused("not_running", words_of(fault)) from None
        except (OSError, TimeoutError) as fault:
            raise Refused("failed", words_of(fault)) from None
        ours, theirs = socket.socketpair()
        session = self._group.create_task(_serve(Session(self._inside, started, ours)))
        self.sessions.add(session)
        session.add_done_callback(self.sessions.discard)
        return {}, [theirs.detach()]


async def _serve(session: Session) -> None:
    try:
        await session.serve()
    except Exception:  # the job outlives a visit that fails
        traceback.print_exc()


def sftp_server() -> str | None:
    """The sftp server of this machine, if there is one."""
    return next((path for path in SFTP_SERVERS if Path(path).exists()), None)


def _place(args: dict[str, Any]) -> dict[str, Any]:
    """Where to listen, as the inner half is told it. Raises ValueError or KeyError for what is no such place."""
    if "path" in args:
        return {"path": str(args["path"])}
    if "agent" in args:
        return {"agent": True}
    if "display" in args:
        wanted = args["display"]
        cookie = bytes.fromhex(wanted["cookie"]).hex()
        return {"display": {"protocol": str(wanted["protocol"]), "cookie": cookie, "screen": int(wanted["screen"])}}
    return {"port": _port(args["port"]) if args["port"] else 0}


def _port(value: Any) -> int:
    port = int(value)
    if not 0 < port < 65_536:
        raise ValueError(f"{port} is not a port")
    return port


def _size(value: Any, usual: int) -> int:
    return int(value) if value and 0 < int(value) < _SIDES else usual


def _plain(env: Any) -> dict[str, str]:
    return {str(name): str(value) for name, value in dict(env or {}).items() if "=" not in str(name) and name}
