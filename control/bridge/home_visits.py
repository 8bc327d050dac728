"""A person's home without a job: a sandbox like a job's, which is there while it has visitors.

It is begun with the first of them and ends, whatever runs in it, a while after the last has left:
what is to go on needs a job. Only shells and sftp (and the agent or display that a shell's visitor
lends) lead into it; there are no ports to reach. State: who is beginning one, a lock a person.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from control.agent.shim.record import replace
from control.bridge.capabilities import Capabilities
from control.bridge.homes import make_home
from control.bridge.places import Places
from control.bridge.shims import ask, spawn
from control.bridge.truth import is_alive, settle
from gateway.contract.bridge import Fault, Reply, Verb

HOSTNAME: Final = "home"
IDLE_S: Final = 30.0
_MEMORY_BYTES: Final = 2 * 1024**3
_PROCESSES: Final = 4096
_LOG_BYTES: Final = 64 * 1024
_PEOPLE: Final = 1 << 24
_ATTEMPTS: Final = 3
_GONE_S: Final = 10.0
_POLL_S: Final = 0.02
_FINAL: Final = ("ended", "lost")


class HomeVisits:
    """Opens streams into homes."""

    def __init__(
        self, places: Places, capabilities: Capabilities, uid_base: int | None, clock: Callable[[], float]
    ) -> None:
        """`uid_base` None: everything here runs as the user who started the platform."""
        self._places, self._capabilities = places, capabilities
        self._uid_base, self._clock = uid_base, clock
        self._beginning: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def ask(self, person: str, verb: Verb, args: Mapping[str, Any]) -> tuple[Reply, list[int]]:
        """One stream into the person's home. `user_id` in `args` is the number that their account has."""
        asked = dict(args)
        user_id = int(asked.pop("user_id"))
        if not 0 < user_id < _PEOPLE:
            raise ValueError(f"{user_id} is nobody's number")
        if not _leads_home(verb, asked):
            return Reply(fault=Fault.UNSUPPORTED, detail="a home has no ports"), []
        if self._capabilities.isolation == "none":
            return Reply(fault=Fault.UNSUPPORTED, detail="nothing keeps people apart on this machine"), []
        reply, descriptors = Reply(fault=Fault.FAILED, detail="never asked"), list[int]()
        for _ in range(_ATTEMPTS):  # it may end by itself at the very moment that somebody comes
            async with self._beginning[person]:
                await self._begin(person, user_id)
            reply, descriptors = await ask(self._places.home_visit(person), verb, asked)
            if reply.fault is not Fault.NOT_RUNNING:
                break
        return reply, descriptors

    async def _begin(self, person: str, user_id: int) -> None:
        """Makes sure that the sandbox is up. Raises OSError when it does not come up."""
        place = self._places.home_visit(person)
        status = settle(place, self._clock())
        if status is not None and status["state"] not in _FINAL and (place / "shim.sock").exists():
            return
        await self._wait_until_gone(place)
        shutil.rmtree(place, ignore_errors=True)
        uid = None if self._uid_base is None else self._uid_base + user_id
        home = self._places.homes / person
        make_home(self._places.homes, home, home, uid)
        place.mkdir(mode=0o700, parents=True)
        replace(place / "spec.json", json.dumps(self._spec(person, uid, home)).encode())
        await spawn(place)

    async def _wait_until_gone(self, place: Path) -> None:
        async with asyncio.timeout(_GONE_S):
            while (status := settle(place, self._clock())) is not None and is_alive(status["shim"]):  # noqa: ASYNC110
                await asyncio.sleep(_POLL_S)

    def _spec(self, person: str, uid: int | None, home: Path) -> dict[str, Any]:
        return {
            "job": HOSTNAME,
            "owner": {"name": person, "uid": uid},
            "home": str(home),
            "work_dir": str(home),
            "command": ["sleep", "infinity"],
            "env": {},
            "cpus": 1,
            "memory_bytes": _MEMORY_BYTES,
            "processes": _PROCESSES,
            "log_limit_bytes": _LOG_BYTES,
            "idle_s": IDLE_S,
            "sandbox": self._capabilities.sandbox(),
        }


def _leads_home(verb: Verb, args: Mapping[str, Any]) -> bool:
    """Whether this is a stream that a home has."""
    return verb in {Verb.SHELL, Verb.SFTP} or (verb is Verb.LISTEN and bool({"agent", "display"} & set(args)))
