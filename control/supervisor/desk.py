"""What workers ask of the supervisor, over `<data>/run/supervisor.sock`: listeners, random ports, "I serve".

One JSON request, one JSON answer, a listener's descriptor beside it (gateway.contract.calls). Peer
credentials decide: a gateway gets the listeners that face outside, control its own two and the care of random
ports, the starter (and so the bridge) everything. A gateway that was taken over cannot listen in control's place.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from control.supervisor.identity import Identities
from control.supervisor.listeners import (
    ACME_NAMES,
    SUPERVISOR_SOCKET,
    TCP_NAMES,
    UNIX_NAMES,
    Listeners,
    PortsBusyError,
)
from control.supervisor.worker import Worker
from gateway.contract.calls import Answer, Peer, listen, serve

_CALL_S: Final = 5.0
_PORTS: Final = "random ports"


class Desk:
    """Answers the workers of one instance."""

    def __init__(self, listeners: Listeners, workers: Sequence[Worker], who: Identities, own_uid: int) -> None:
        self._listeners = listeners
        self._workers = workers
        self._own_uid = own_uid
        self._who = who

    async def serve(self, run_dir: Path) -> None:
        """Answers until cancelled."""
        path = run_dir / SUPERVISOR_SOCKET
        with listen(str(path), mode=0o600) as listener:
            self._who.share(path)
            await serve(listener, self.answer, deadline_s=_CALL_S)

    async def answer(self, message: bytes, peer: Peer) -> Answer:
        """One request's answer; whatever is asked, there is one."""
        rights = self._rights(peer.uid)
        if not rights:
            return _no("forbidden", f"uid {peer.uid} may not ask")
        asked = _decoded(message)
        if asked is None:
            return _no("bad_request", "a request is a JSON object")
        match asked.get("verb"):
            case "listener" if "name" in asked and str(asked["name"]) not in rights:
                return _no("forbidden", f"uid {peer.uid} has no listener called {asked['name']!r}")
            case "listener":
                return self._lend(asked.get("name"), asked.get("port"))
            case "reserve" | "release" | "keep" if _PORTS not in rights:
                return _no("forbidden", "only control reserves and releases ports")
            case "reserve":
                return self._reserve(asked.get("port"))
            case "release":
                return self._release(asked.get("port"))
            case "keep":
                return self._keep(asked.get("ports"), asked.get("first"), asked.get("last"))
            case "ready":
                return self._ready(peer.pid)
            case verb:
                return _no("bad_request", f"unknown verb {verb!r}")

    def _rights(self, uid: int) -> set[str]:
        """The listeners that the peer may have, and whether it decides on random ports."""
        rights: set[str] = set()
        if uid in (self._own_uid, self._who.gateway_uid):
            rights |= {*TCP_NAMES, *ACME_NAMES}
        if uid in (self._own_uid, self._who.control_uid):
            rights |= {"control", "feed", _PORTS}
        if uid == self._own_uid:
            rights |= set(UNIX_NAMES)
        return rights

    def _lend(self, name: Any, port: Any) -> Answer:
        try:
            if isinstance(name, str):
                return _yes(self._listeners.lend(name))
            return _yes(self._listeners.lend_port(_port(port)))
        except KeyError:
            return _no("bad_request", f"no listener is called {name!r} here")
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

    def _keep(self, ports: Any, first: Any, last: Any) -> Answer:
        if not isinstance(ports, list):
            return _no("bad_request", "what is to be kept is a list of ports")
        try:
            self._listeners.keep({_port(port) for port in ports}, range(_port(first), _port(last) + 1))
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


def _decoded(message: bytes) -> dict[str, Any] | None:
    try:
        plain = json.loads(message)
    except (ValueError, RecursionError):
        return None
    return plain if isinstance(plain, dict) else None


def _port(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError("a request names a listener, or a port by its number")
    return value


def _yes(*descriptors: int) -> Answer:
    return json.dumps({"ok": True}).encode(), descriptors


def _no(code: str, detail: str) -> Answer:
    return json.dumps({"ok": False, "code": code, "detail": detail}).encode(), ()
