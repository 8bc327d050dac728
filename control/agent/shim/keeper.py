"""Keeps one launched job to its end: runs the command, serves the bridge, stops, suspends, and writes the outcome."""

from __future__ import annotations

import asyncio
import math
import os
import signal
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from .border import watch_border
from .calls import Answer, Refused, serve
from .clock import now
from .inside import Inside
from .launch import Launched
from .outcome import event_of, outcome_of
from .output import Output
from .owners import descendants
from .record import Record, words_of
from .sandbox import login_shell
from .spec import Spec
from .visits import Visits

_START_S: Final = 20.0
_TIME_LIMIT_GRACE_S: Final = 10.0
_LAST_OUTPUT_S: Final = 5.0
_LAST_STREAMS_S: Final = 5.0
_SETTLE_S: Final = 1.0
_FULL_DISK_S: Final = 5.0
_LOOK_S: Final = 0.25
_IDLE_GRACE_S: Final = 1.0
_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Keeper:
    """One job from its command's start to its last process. State: why it is ending, and when its time is up."""

    def __init__(self, spec: Spec, job_dir: Path, launched: Launched, record: Record) -> None:
        self._spec = spec
        self._dir = job_dir
        self._launched = launched
        self._record = record
        self._inside = Inside(launched.control)
        self._output = Output(job_dir, spec.limits.log_bytes)
        self._ending: str | None = None
        self._time_left_s = spec.limits.time_s
        self._running_since = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._pid = 0
        self._kill_at = math.inf

    async def keep(self, listener: socket.socket) -> None:
        """Returns when the job has ended, its outcome is written and its streams are done."""
        async with asyncio.TaskGroup() as group:
            listening = group.create_task(self._inside.listen())
            copying = group.create_task(self._output.copy())
            env = job_environment(self._spec, self._launched.proxy)
            self._visits = Visits(
                self._spec, self._inside, env, self._launched.addresses, self._launched.inner_pid, group
            )
            background = [group.create_task(serve(listener, self._answer, group))]
            if self._launched.namespace is not None and self._spec.sandbox.network == "pasta":
                background.append(group.create_task(watch_border(self._launched.namespace, self._record)))
            if self._spec.idle_s is not None:
                background.append(group.create_task(self._stop_when_left(self._spec.idle_s)))
            self._group = group
            status = await self._run(env)
            await self._end(status, copying)
            for task in (*background, listening):
                task.cancel()
        self._output.close()

    async def _run(self, env: dict[str, str]) -> int | None:
        """The command's wait status; None when it could not be started."""
        program = {"argv": self._spec.command, "env": env, "cwd": str(self._spec.work_dir)}
        silence = os.open(os.devnull, os.O_RDONLY)
        try:
            standard = [silence, self._output.job_end, self._output.job_end]
            self._pid = await self._inside.program(standard, _START_S, **program)
        except (OSError, TimeoutError) as fault:
            detail = f"{self._spec.command[0]}: {words_of(fault)}"
            self._record.event("Warning", "StartFailed", detail)
            self._record.write(detail=detail)
            return None
        finally:
            os.close(silence)
            self._output.started()
        self._record.event("Normal", "Started", f"Started {self._spec.command[0]}")
        self._record.write(state="running", started_at=now())
        self._start_clock()
        return await self._inside.ended(self._pid)

    async def _end(self, status: int | None, copying: asyncio.Task[None]) -> None:
        self._stop_clock()
        await self._end_every_process()
        await asyncio.wait([copying], timeout=_LAST_OUTPUT_S)
        copying.cancel()
        if self._output.dropped:
            message = f"{self._output.dropped} bytes of output were over the log's limit and were dropped"
            self._record.event("Warning", "LogLimit", message)
        await self._write_outcome(status)
        if self._visits.sessions:
            _, late = await asyncio.wait(self._visits.sessions, timeout=_LAST_STREAMS_S)
            for session in late:
                session.cancel()

    async def _write_outcome(self, status: int | None) -> None:
        out_of_memory = self._launched.cgroup.out_of_memory_kills() > 0
        if out_of_memory:
            self._record.event("Warning", "OutOfMemory", "The job used more memory than it may")
        fields = outcome_of(status, self._ending, out_of_memory=out_of_memory)
        self._record.event(*event_of(fields))
        ended_at = now()
        while not self._record.write(state="ended", ended_at=ended_at, **fields):  # noqa: ASYNC110 - a full disk
            await asyncio.sleep(_FULL_DISK_S)  # what is left of the job is its outcome: it is not given up

    async def _end_every_process(self) -> None:
        """The first process goes, and with its pid namespace every other; without one they are swept up."""
        self._launched.kill()
        deadline = asyncio.get_running_loop().time() + _SETTLE_S
        while asyncio.get_running_loop().time() < deadline:
            left = descendants(os.getpid()) - self._companions()
            self._reap()
            if not left:
                return
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            await asyncio.sleep(0.01)

    def _companions(self) -> set[int]:
        """What serves the job from outside goes last: streams may still be read."""
        ours = self._launched.companions
        return {*ours, *(pid for companion in ours for pid in descendants(companion))}

    def _reap(self) -> None:
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass

    async def _stop_when_left(self, idle_s: float) -> None:
        loop = asyncio.get_running_loop()
        left_at = loop.time()
        while loop.time() - left_at < idle_s:
            await asyncio.sleep(_LOOK_S)
            if self._visits.sessions:
                left_at = loop.time()
        self._stop("stopped", _IDLE_GRACE_S)

    async def _answer(self, verb: str, args: dict[str, Any]) -> Answer:
        if self._spec.idle_s is not None and self._ending:
            raise Refused("not_running", "it is ending: its last visitor has left")
        match verb:
            case "connect":
                return await self._visits.connect(args)
            case "reach":
                return await self._visits.reach(args)
            case "listen":
                return await self._visits.listen(args)
            case "shell":
                return await self._visits.shell(args)
            case "sftp":
                return await self._visits.sftp(args)
            case "stop":
                self._stop("stopped", float(args.get("grace_s", _TIME_LIMIT_GRACE_S)))
                return {}, []
            case "signal":
                await self._signal(str(args["signal"]))
                return {}, []
        raise Refused("unsupported", f"this shim does not know {verb}")

    def _stop(self, cause: str, grace_s: float) -> None:
        """Asked again with less patience, the shorter grace counts."""
        self._ending = self._ending or cause
        kill_at = asyncio.get_running_loop().time() + grace_s
        if kill_at < self._kill_at:
            self._kill_at = kill_at
            self._group.create_task(self._stop_in(grace_s))

    async def _stop_in(self, grace_s: float) -> None:
        await self._inside.signal("TERM")
        await self._inside.signal("CONT")
        if self._pid:
            with suppress(TimeoutError):
                async with asyncio.timeout(grace_s):
                    await self._inside.ended(self._pid)
        self._launched.kill()

    async def _signal(self, name: str) -> None:
        if self._record.fields["state"] not in ("running", "suspended"):
            raise Refused("not_running", "the job's command does not run")
        if (
            name.removeprefix("SIG") not in signal.Signals.__members__
            and f"SIG{name}" not in signal.Signals.__members__
        ):
            raise Refused("bad_request", f"{name} is not a signal")
        await self._inside.signal(name.removeprefix("SIG"))
        if name in ("STOP", "CONT"):
            self._change_pace(suspended=name == "STOP")

    def _change_pace(self, *, suspended: bool) -> None:
        state = "suspended" if suspended else "running"
        if self._record.fields["state"] == state:
            return
        if suspended:
            self._stop_clock()
            self._record.event("Normal", "Suspended", "Every process of the job is stopped; its memory stays in use")
        else:
            self._start_clock()
            self._record.event("Normal", "Resumed", "The job's processes go on")
        self._record.write(state=state)

    def _start_clock(self) -> None:
        loop = asyncio.get_running_loop()
        self._running_since = loop.time()
        if self._time_left_s is not None:
            self._timer = loop.call_later(self._time_left_s, self._time_is_up)

    def _stop_clock(self) -> None:
        """Time in which the job is suspended does not count against its limit."""
        if self._timer is not None and self._time_left_s is not None:
            self._timer.cancel()
            self._time_left_s = max(0.0, self._time_left_s - (asyncio.get_running_loop().time() - self._running_since))

    def _time_is_up(self) -> None:
        self._record.event("Warning", "TimeLimit", f"The job ran for {self._spec.limits.time_s} s, its time limit")
        self._stop("time_limit", _TIME_LIMIT_GRACE_S)


def job_environment(spec: Spec, proxy: str | None) -> dict[str, str]:
    """What the job's programs find in their environment: a person's usual names, then what was asked for."""
    usual = {
        "PATH": _PATH,
        "HOME": str(spec.home),
        "USER": spec.owner,
        "LOGNAME": spec.owner,
        "SHELL": login_shell(),
        "LANG": "C.UTF-8",
    }
    if proxy:
        usual |= dict.fromkeys(("https_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"), proxy)
        usual |= dict.fromkeys(("no_proxy", "NO_PROXY"), "localhost,127.0.0.1,::1")
    return usual | spec.env
