"""This machine as a cluster: every verb is one call to the bridge, which runs beside us with the rights we lack."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from control.domain.errors import Code, problem
from control.domain.jobs import observed
from control.domain.jobs.observed import Observed
from control.runtimes.runtime import Account, Capabilities, Handle, Order, Partition, RefusedError
from gateway.contract import calls
from gateway.contract.bridge import Call, Fault, Verb, decode_reply, encode_call

log = logging.getLogger(__name__)

SOCKET: Final = "bridge-local.sock"
_CALL_S: Final = 5.0
_START_S: Final = 30.0


class LocalRuntime:
    """The local bridge as a Runtime. Holds no state."""

    name: Final = "local"

    def __init__(self, run_dir: Path, data_dir: Path, job_uid_base: int | None) -> None:
        """`job_uid_base` None: jobs run as the user who started the platform."""
        self._socket = str(run_dir / SOCKET)
        self._homes = data_dir / "homes"
        self._job_uid_base = job_uid_base

    def account_of(self, user_id: int, user_name: str) -> Account:
        """An own uid for each person, and a home that bears their name."""
        uid = None if self._job_uid_base is None else self._job_uid_base + user_id
        return Account(uid, str(self._homes / user_name))

    async def capabilities(self) -> Capabilities:
        """What the bridge probed at its start."""
        plain = await self._ask(Verb.CAPABILITIES, "local")
        return Capabilities(
            kind="local",
            isolation=str(plain.get("isolation", "none")),
            network=str(plain.get("network", "none")),
            sftp=bool(plain.get("sftp", False)),
            suspend=True,
            partitions=(_this_machine(),),
            limits=plain.get("limits", {}),
            why=plain.get("why", {}),
        )

    async def healthy(self) -> bool:
        """Whether the bridge answers."""
        try:
            await self._ask(Verb.CAPABILITIES, "local")
        except (OSError, TimeoutError, RefusedError):
            return False
        return True

    async def start(self, order: Order) -> AsyncIterator[Handle]:
        """Starts a job. The bridge finds a started one again, so that asking twice starts nothing twice."""
        spec = asdict(order)
        spec["owner"] = {"name": spec.pop("owner_name"), "uid": spec.pop("uid")}
        result = await self._ask(Verb.START, order.job, {"spec": spec}, deadline_s=_START_S)
        handle = result.get("handle")
        yield handle if isinstance(handle, dict) else {"job": order.job}

    async def probe(self, jobs: Sequence[str]) -> dict[str, Observed]:
        """What the bridge says of these jobs. A line that cannot be read is skipped: it counts as silence."""
        result = await self._ask(Verb.PROBE, "local", {"jobs": list(jobs)})
        seen = {}
        for job, plain in result.get("jobs", {}).items():
            try:
                seen[job] = observed.from_plain(plain)
            except (ValueError, KeyError, TypeError) as fault:
                raise ConnectionError(f"the bridge's answer for {job} cannot be read") from fault
        return seen

    async def stop(self, handle: Handle, *, grace_s: float) -> None:
        """Ends a job. One that the bridge does not know, or that has ended, is fine as it is."""
        await self._ask_of(handle, Verb.STOP, {"grace_s": grace_s}, deadline_s=_CALL_S + grace_s)

    async def suspend(self, handle: Handle) -> None:
        """Halts all processes of a job."""
        await self._ask_of(handle, Verb.SIGNAL, {"signal": "STOP"})

    async def resume(self, handle: Handle) -> None:
        """Lets all processes of a job go on."""
        await self._ask_of(handle, Verb.SIGNAL, {"signal": "CONT"})

    async def open_log(self, job: str) -> tuple[int, int]:
        """Output and time index of a job. Raises ProblemError `log_unavailable` or `cluster_unhealthy`."""
        try:
            _, descriptors = await self._call(Verb.LOG, job, {}, _CALL_S)
        except RefusedError as fault:
            raise problem(Code.LOG_UNAVAILABLE, job=job) from fault
        except (OSError, TimeoutError) as fault:
            raise problem(Code.CLUSTER_UNHEALTHY, name=self.name) from fault
        if len(descriptors) != 2:
            for descriptor in descriptors:
                os.close(descriptor)
            raise problem(Code.LOG_UNAVAILABLE, job=job)
        return descriptors[0], descriptors[1]

    async def _ask_of(self, handle: Handle, verb: Verb, args: dict[str, Any], *, deadline_s: float = _CALL_S) -> None:
        try:
            await self._ask(verb, str(handle["job"]), args, deadline_s=deadline_s)
        except RefusedError as fault:
            if fault.code not in {Fault.NOT_FOUND, Fault.NOT_RUNNING}:
                raise

    async def _ask(
        self, verb: Verb, subject: str, args: dict[str, Any] | None = None, *, deadline_s: float = _CALL_S
    ) -> dict[str, Any]:
        result, descriptors = await self._call(verb, subject, args or {}, deadline_s)
        for descriptor in descriptors:
            os.close(descriptor)
        return result

    async def _call(
        self, verb: Verb, subject: str, args: dict[str, Any], deadline_s: float
    ) -> tuple[dict[str, Any], list[int]]:
        """Raises ConnectionError for anything that is no answer, RefusedError for a no."""
        try:
            message, descriptors = await calls.call(
                self._socket, encode_call(Call(verb, subject, args)), deadline_s=deadline_s
            )
            reply = decode_reply(message)
        except ValueError as fault:
            raise ConnectionError("the bridge's answer cannot be read") from fault
        except FileNotFoundError as fault:
            raise ConnectionError("the bridge is not there") from fault
        if reply.fault is not None:
            raise RefusedError(reply.fault, reply.detail)
        return reply.result, descriptors


def _this_machine() -> Partition:
    memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    free_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    cpus = len(os.sched_getaffinity(0))
    return Partition("local", nodes=1, cpus=cpus, gpus=0, memory_bytes=memory_bytes, free_memory_bytes=free_bytes)
