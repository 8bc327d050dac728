"""Answers the shim: start a program, open a connection, send a signal; tells it what ended and how.

One SOCK_SEQPACKET socket, one JSON object a message, descriptors beside it:

  {"id", "do": "run", "file"?, "argv", "env", "cwd"} + 3 descriptors   -> {"id", "pid"}
  {"id", "do": "terminal", ..., "rows", "cols", "modes"}               -> {"id", "pid"} + the master side
  {"id", "do": "connect", "port" | "path", "addresses"?}               -> {"id"} + the connected socket
  {"id", "do": "reach", "host", "port"}                                -> {"id"} + the connected socket
  {"id", "do": "listen", "port" | "path" | "agent" | "display"}        -> {"id", "listeners", ...} + them, + a lifeline
  {"do": "signal", "name", "pid"?}      to a session's foreground group, or without pid to the whole job
  any that failed                                                       -> {"id", "error": sentence}
  a program ended                                                       -> {"exit": pid, "status": wait status}

The end of the socket is the end of the job: when the shim is gone, for whatever reason, so is all
that it answered for.
"""

from __future__ import annotations

import ctypes
import json
import os
import selectors
import signal
import socket
from contextlib import suppress
from typing import Any, Final

from .dial import Dial
from .listen import Listening, listen
from .members import signal_job, signal_session
from .reach import reach, reached
from .spawn import program_of, run, run_on_terminal

_MESSAGE_LIMIT: Final = 128 * 1024
_PR_SET_DUMPABLE: Final = 4
_PR_SET_CHILD_SUBREAPER: Final = 36
_LIFELINES: Final = 512
_ATTEMPTS: Final = 64
_DEAF_TO: Final = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)


def main(descriptor: int) -> None:
    """Serves until the shim's end of the socket closes, then ends every process of the job."""
    os.set_inheritable(descriptor, False)
    _stand_apart()
    try:
        _Inner(socket.socket(fileno=descriptor)).serve()
    finally:
        signal_job(signal.SIGKILL)
        os._exit(0)


def _stand_apart() -> None:
    # The job has our uid: without this it could trace us; orphans come to us to be reaped.
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for number in _DEAF_TO:
        signal.signal(number, signal.SIG_IGN)


class _Inner:
    def __init__(self, shim: socket.socket) -> None:
        self._shim = shim
        self._selector = selectors.DefaultSelector()
        self._ends, ending = socket.socketpair()
        self._ends.setblocking(False)
        ending.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(ending.fileno(), warn_on_full_buffer=False)
        self._ending = ending
        self._lifelines = 0
        self._attempts = 0

    def serve(self) -> None:
        self._selector.register(self._shim, selectors.EVENT_READ)
        self._selector.register(self._ends, selectors.EVENT_READ)
        self._tell({"ready": os.getpid()})
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._ends:
                    self._reap()
                elif key.fileobj is self._shim:
                    if not self._hear():
                        return
                elif isinstance(key.data, Listening):
                    self._left(key.data)
                elif isinstance(key.data, int):
                    self._reached(key.fileobj, key.data)
                else:
                    self._dialled(key.data)

    def _hear(self) -> bool:
        message, descriptors, _, _ = socket.recv_fds(self._shim, _MESSAGE_LIMIT, 4)
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)  # else every later program would hold this one's pipes open
        if not message:
            return False
        request = json.loads(message)
        try:
            self._do(request, descriptors)
        except Exception as fault:  # the whole job depends on this process: one request that fails is only that
            self._tell({"id": request.get("id"), "error": getattr(fault, "strerror", None) or str(fault)})
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        return True

    def _do(self, request: dict[str, Any], descriptors: list[int]) -> None:
        match request["do"]:
            case "run":
                self._tell({"id": request["id"], "pid": run(program_of(request), descriptors)})
            case "terminal":
                size = int(request["rows"]), int(request["cols"])
                pid, master = run_on_terminal(program_of(request), *size, request.get("modes") or {})
                self._tell({"id": request["id"], "pid": pid}, [master])
                os.close(master)
            case "connect":
                self._dial(Dial(request))
            case "listen":
                self._listen(request)
            case "reach":
                self._reach(int(request["id"]), str(request["host"]), int(request["port"]))
            case "signal":
                number = signal.Signals["SIG" + request["name"]]
                if request.get("pid"):
                    signal_session(int(request["pid"]), number)
                else:
                    signal_job(number)

    def _dial(self, dial: Dial) -> None:
        if not dial.next():
            self._tell({"id": dial.id, "error": dial.fault})
            return
        assert dial.sock is not None
        self._selector.register(dial.sock, selectors.EVENT_WRITE, dial)

    def _dialled(self, dial: Dial) -> None:
        assert dial.sock is not None
        self._selector.unregister(dial.sock)
        if dial.succeeded():
            self._tell({"id": dial.id}, [dial.sock.fileno()])
            dial.close()
        else:
            self._dial(dial)

    def _listen(self, request: dict[str, Any]) -> None:
        if self._lifelines >= _LIFELINES:
            raise OSError(f"the job listens for {_LIFELINES} visitors already")
        listening = listen(request)
        self._tell({"id": request["id"], **listening.result}, listening.descriptors())
        listening.handed_over()
        if listening.lifeline is not None:
            self._lifelines += 1
            self._selector.register(listening.lifeline, selectors.EVENT_READ, listening)

    def _left(self, listening: Listening) -> None:
        assert listening.lifeline is not None
        self._lifelines -= 1
        self._selector.unregister(listening.lifeline)
        listening.clean()

    def _reach(self, number: int, host: str, port: int) -> None:
        if self._attempts >= _ATTEMPTS:
            raise OSError(f"the job reaches for {_ATTEMPTS} places already")
        self._selector.register(reach(host, port), selectors.EVENT_READ, number)
        self._attempts += 1

    def _reached(self, told: Any, number: int) -> None:
        self._attempts -= 1
        self._selector.unregister(told)
        with told:
            descriptor, why = reached(told)
        if descriptor is None:
            self._tell({"id": number, "error": why})
            return
        self._tell({"id": number}, [descriptor])
        os.close(descriptor)

    def _reap(self) -> None:
        with suppress(BlockingIOError):
            while self._ends.recv(4096):
                pass
        with suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    return
                self._tell({"exit": pid, "status": status})

    def _tell(self, fields: dict[str, Any], descriptors: list[int] | None = None) -> None:
        with suppress(BrokenPipeError, ConnectionResetError):
            socket.send_fds(self._shim, [json.dumps(fields).encode()], descriptors or [])
