"""The bridge of the local engine: who may ask what, and the answers.

The kernel tells who calls. Root and control's uid may launch; a gateway's uid may only ask for
streams. Streams are the shim's: the bridge only introduces, and may die without one noticing.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from control.bridge.capabilities import Capabilities
from control.bridge.home_visits import HomeVisits
from control.bridge.homes import read_keys
from control.bridge.launch import Launcher
from control.bridge.places import Places
from control.bridge.shims import ask
from gateway.contract.bridge import HOME, KEYS_LIMIT, LAUNCH_VERBS, Call, Fault, Reply, Verb, decode_call, encode_reply
from gateway.contract.calls import Answer, Peer, serve

_log = logging.getLogger(__name__)
_CALL_S: Final = 60.0
_STREAMS: Final = frozenset({Verb.CONNECT, Verb.REACH, Verb.LISTEN, Verb.SHELL, Verb.SFTP})
_APP: Final = "app:"
_OF_KNOWN_JOBS: Final = _STREAMS | {Verb.LOG, Verb.SIGNAL}


@dataclass(frozen=True, slots=True)
class Callers:
    """The uids that may ask for streams, and those of them that may also launch."""

    launch: frozenset[int]
    stream: frozenset[int]


class LocalBridge:
    """Answers calls for jobs of this machine."""

    def __init__(
        self,
        places: Places,
        capabilities: Capabilities,
        launcher: Launcher,
        homes: HomeVisits,
        callers: Callers,
        clock: Callable[[], float],
    ) -> None:
        self._places = places
        self._capabilities = capabilities
        self._launcher = launcher
        self._homes = homes
        self._callers = callers
        self._clock = clock

    async def serve(self, listener: socket.socket) -> None:
        """Answers until cancelled."""
        await serve(listener, self.handle, deadline_s=_CALL_S)

    async def handle(self, message: bytes, peer: Peer) -> Answer:
        """One call's answer. Whatever goes wrong in it is its answer, and nobody else's trouble."""
        try:
            call = decode_call(message)
            fault = self._refusal(call, peer)
            reply, descriptors = (Reply(fault=fault[0], detail=fault[1]), []) if fault else await self._do(call)
        except (ValueError, KeyError, TypeError, AttributeError) as fault_found:
            reply, descriptors = Reply(fault=Fault.BAD_REQUEST, detail=str(fault_found)), []
        except OSError as fault_found:
            _log.warning("call failed: %s", fault_found)
            reply, descriptors = Reply(fault=Fault.FAILED, detail=str(fault_found)), []
        return encode_reply(reply), descriptors

    def _refusal(self, call: Call, peer: Peer) -> tuple[Fault, str] | None:
        allowed = self._callers.launch if call.verb in LAUNCH_VERBS else self._callers.launch | self._callers.stream
        if peer.uid not in allowed:
            return Fault.FORBIDDEN, f"uid {peer.uid} may not ask for {call.verb}"
        if call.expires_at and call.expires_at < self._clock():
            return Fault.FORBIDDEN, "the call came too late"
        return None

    async def _do(self, call: Call) -> tuple[Reply, list[int]]:
        if call.verb is Verb.CAPABILITIES:
            return Reply(self._capabilities.report()), []
        if call.verb is Verb.PROBE:
            return self._launcher.probe(call.args), []
        if call.verb is Verb.START and call.subject.startswith(_APP):
            return self._launcher.prepare(call.subject.removeprefix(_APP)), []
        if call.verb is Verb.KEYS:
            return await self._keys(self._places.person(call.subject))
        if call.verb in _STREAMS and call.subject.startswith(HOME):
            return await self._homes.ask(self._places.person(call.subject), call.verb, call.args)
        job = self._job_of(call.subject)
        if job is None or (call.verb in _OF_KNOWN_JOBS and not self._places.job(job).exists()):
            return Reply(fault=Fault.NOT_FOUND, detail=f"no such job here: {call.subject[:80]}"), []
        if call.verb in _STREAMS:
            return await ask(self._places.job(job), call.verb, call.args)
        if call.verb is Verb.LOG:
            return Reply(), self._open_log(job)
        return await self._launch_verb(call.verb, job, call.args), []

    async def _launch_verb(self, verb: Verb, job: str, args: dict[str, Any]) -> Reply:
        match verb:
            case Verb.START:
                return await self._launcher.start(job, args)
            case Verb.STOP:
                return await self._launcher.stop(job, args)
            case Verb.SIGNAL:
                return await self._launcher.signal(job, args)
            case Verb.FORGET:
                return self._launcher.forget(job)
        return Reply(fault=Fault.UNSUPPORTED, detail=f"{verb} is not served here")

    async def _keys(self, person: str) -> tuple[Reply, list[int]]:
        try:
            content = await asyncio.to_thread(read_keys, self._places.homes, person, KEYS_LIMIT)
        except FileNotFoundError:
            return Reply(fault=Fault.NOT_FOUND, detail=f"{person} has no authorized_keys"), []
        except OSError as fault:
            return Reply(fault=Fault.FORBIDDEN, detail=f"authorized_keys of {person}: {fault}"), []
        return Reply(), [_file_of(content)]

    def _job_of(self, subject: str) -> str | None:
        """The job of `JOB` or `JOB.NODE`; this engine has one node, and no containers."""
        job, _, node = subject.partition(".")
        return job if node in ("", socket.gethostname()) and not job.startswith(HOME) else None

    def _open_log(self, job: str) -> list[int]:
        """Output and time index, read-only. Before the first byte there is an empty log, not a fault."""
        job_dir = self._places.job(job)
        flags = os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC
        output = os.open(job_dir / "output.log", flags, 0o600)
        return [output, os.open(job_dir / "output.idx", flags, 0o600)]


def _file_of(content: bytes) -> int:
    """A nameless file that holds this."""
    file = os.memfd_create("keys", os.MFD_CLOEXEC)
    with os.fdopen(file, "wb", closefd=False) as writing:
        writing.write(content)
    return file
