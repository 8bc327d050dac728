"""What workers ask of the supervisor, over `<data>/run/supervisor.sock`: listeners, random ports, "I serve".

One JSON request, one JSON answer, a listener's descriptor beside it (gateway.contract.calls). Peer
credentials decide: the starter, control and the gateways are answered; only control gives ports up.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from control.supervisor.identity import Identities
from control.supervisor.listeners import SUPERVISOR_SOCKET, Listeners, PortsBusyError
from control.supervisor.worker import Worker
from gateway.contract.calls import Answer, Peer, listen, serve

_CALL_S: Final = 5.0


class Desk:
    """Answers the workers of one instance."""

    def __init__(self, listeners: Listeners, workers: Sequence[Worker], who: Identities, own_uid: int) -> None:
        self._listeners = listeners
        self._workers = workers
        self._may_ask = {own_uid, who.control_uid, who.gateway_uid}
        self._may_release = {own_uid, who.control_uid}
        self._who = who

    async def serve(self, run_dir: Path) -> None:
        """Answers until cancelled."""
        path = run_dir / SUPERVISOR_SOCKET
        with listen(str(path), mode=0o600) as listener:
            self._who.share(path)
            await serve(listener, self.answer, deadline_s=_CALL_S)

    async def answer(self, message: bytes, peer: Peer) -> Answer:
        """One request's answer. Raises ValueError for what is no JSON: the peer then sees the call end."""
        if peer.uid not in self._may_ask:
            return _no("forbidden", f"uid {peer.uid} may not ask")
        asked = json.loads(message)
        if not isinstance(asked, dict):
            return _no("bad_request", "a request is an object")
        match asked.get("verb"):
            case "listener":
                return self._lend(asked.get("name"), asked.get("port"))
            case "reserve" | "release" if peer.uid not in self._may_release:
                return _no("forbidden", "only control reserves and releases ports")
            case "reserve":
                return self._reserve(asked.get("port"))
            case "release":
                return self._release(asked.get("port"))
            case "ready":
                return self._ready(peer.pid)
            case verb:
                return _no("bad_request", f"unknown verb {verb!r}")

    def _lend(self, name: Any, port: Any) -> Answer:
        try:
            if isinstance(name, str):
                return _yes(self._listeners.lend(name))
            return _yes(self._listeners.lend_port(_port(port)))
        except KeyError:
            return _no("bad_request", f"no listener is called {name!r}")
        except ValueError as fault:
            return _no("bad_request", str(fault))
        except PortsBusyError as fault:
            return _no("busy", str(fault))

    def _reserve(self, port: Any) -> Answer:
        try:
            self._listeners.reserve(_port(port))
        except ValueError as fault:
            return _no("bad_request", str(fault))
        except PortsBusyError as fault:
            return _no("busy", str(fault))
        return _yes()

    def _release(self, port: Any) -> Answer:
        try:
            self._listeners.release(_port(port))
        except ValueError as fault:
            return _no("bad_request", str(fault))
        return _yes()

    def _ready(self, pid: int) -> Answer:
        for worker in self._workers:
            if worker.pid == pid:
                worker.ready.set()
                return _yes()
        return _no("forbidden", f"pid {pid} is no worker of this instance")


async def all_ready(workers: Sequence[Worker]) -> None:
    """Returns once every worker has said that it serves."""
    for worker in workers:
        await asyncio.shield(worker.ready.wait())


def _port(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError("a request names a listener, or a port by its number")
    return value


def _yes(*descriptors: int) -> Answer:
    return json.dumps({"ok": True}).encode(), descriptors


def _no(code: str, detail: str) -> Answer:
    return json.dumps({"ok": False, "code": code, "detail": detail}).encode(), ()
