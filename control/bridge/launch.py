"""start, stop, signal, probe and forget on this machine. Every one may be repeated, and is safe at any moment.

A job is started in steps that each leave their mark on disk, so that a bridge that was killed between
two of them goes on where it was: spec.json (it shall run), the apps it needs, status.json (its shim is up).
"""

from __future__ import annotations

import asyncio
import json
import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from control.agent.shim import kernel
from control.agent.shim.limits import remove_cgroups
from control.agent.shim.record import replace, words_of
from control.apps.environments import Environments
from control.bridge.capabilities import Capabilities
from control.bridge.homes import make_home
from control.bridge.places import Places
from control.bridge.shims import ask, spawn
from control.bridge.truth import fitted, is_alive, observe, read_status, settle
from gateway.contract.bridge import Fault, Reply, Verb

_log = logging.getLogger(__name__)
_PROBED_AT_ONCE: Final = 20
_PROCESSES: Final = 4096
_FINAL: Final = ("ended", "lost")


class Launcher:
    """Starts and ends jobs. State: the starts under way, one task a job, and the builds that were asked for."""

    def __init__(
        self,
        places: Places,
        capabilities: Capabilities,
        environments: Environments,
        clock: Callable[[], float],
        tasks: asyncio.TaskGroup,
    ) -> None:
        self._places = places
        self._capabilities = capabilities
        self._environments = environments
        self._clock = clock
        self._tasks = tasks
        self._starting: dict[str, asyncio.Task[None]] = {}
        self._building: dict[str, asyncio.Task[None]] = {}

    def resume(self) -> None:
        """Goes on with the starts that a predecessor began and did not finish."""
        self._environments.forget_interrupted()
        for job in self._places.known():
            job_dir = self._places.job(job)
            if settle(job_dir, self._clock()) is None and (job_dir / "spec.json").exists():
                self._begin(job)

    def leave(self) -> None:
        """Lets go of the starts and builds under way: a successor resumes what jobs wait for."""
        for task in (*self._starting.values(), *self._building.values()):
            task.cancel()

    async def start(self, job: str, args: dict[str, Any]) -> Reply:
        """Begins the job once; a job that was begun keeps what it was begun with."""
        job_dir = self._places.job(job)
        if not (job_dir / "spec.json").exists():
            spec = _checked(job, args["spec"], self._places)
            uid = spec["owner"].get("uid")
            make_home(self._places.homes, Path(spec["home"]), Path(spec["work_dir"]), uid)
            job_dir.mkdir(mode=0o700, exist_ok=True)
            full = {"processes": _PROCESSES, **spec, "sandbox": self._capabilities.sandbox()}
            replace(job_dir / "spec.json", json.dumps(full).encode())
        if read_status(job_dir) is None:
            self._begin(job)
            if not self._missing_apps(job_dir):
                await asyncio.wait([self._starting[job]])
        status = read_status(job_dir) or {}
        handle = {"job": job, "shim_pid": status.get("shim", {}).get("pid"), "boot": kernel.boot_id()}
        return Reply({"handle": handle, "isolation": self._capabilities.report()})

    def prepare(self, app: str) -> Reply:
        """Begins to build what an app needs, or joins the build under way; how far it is lies beside it."""
        if not self._environments.knows(app):
            return Reply(fault=Fault.NOT_FOUND, detail=f"no such app environment: {app[:80]}")
        if app not in self._building:
            task = self._tasks.create_task(self._build(app))
            self._building[app] = task
            task.add_done_callback(lambda _: self._building.pop(app, None))
        return Reply({"state": "building"})

    def probe(self, args: dict[str, Any]) -> Reply:
        """What is true of up to 20 jobs; a job of which nothing is known here is left out."""
        jobs = [job for job in map(str, args["jobs"]) if self._places.is_id(job)][:_PROBED_AT_ONCE]
        found = {job: report for job in jobs if (report := self._observe(job)) is not None}
        return Reply({"jobs": fitted(found)})

    async def stop(self, job: str, args: dict[str, Any]) -> Reply:
        """Asks the job to end, and after `grace_s` seconds ends it. Done already is done."""
        job_dir = self._places.job(job)
        starting = self._starting.get(job)
        if starting is not None and self._missing_apps(job_dir):
            starting.cancel()
        status = settle(job_dir, self._clock())
        if status is None:
            if job_dir.exists():
                self._write_never_started(job_dir, "stopped", "closed before it was started")
            return Reply()
        if status["state"] in _FINAL:
            return Reply()
        reply, _ = await ask(job_dir, Verb.STOP, {"grace_s": float(args.get("grace_s", 10))})
        return Reply() if reply.fault is Fault.NOT_RUNNING else reply

    async def signal(self, job: str, args: dict[str, Any]) -> Reply:
        """Sends a signal to every process of the job; STOP and CONT suspend and resume it."""
        reply, _ = await ask(self._places.job(job), Verb.SIGNAL, {"signal": str(args["signal"])})
        return reply

    def forget(self, job: str) -> Reply:
        """Removes what is kept of an ended job, its log included. Its work directory is the person's and stays."""
        job_dir = self._places.job(job)
        status = settle(job_dir, self._clock())
        if job in self._starting or (status is not None and status["state"] not in _FINAL):
            return Reply(fault=Fault.FAILED, detail="the job has not ended")
        if status is not None and is_alive(status["shim"]):
            return Reply(fault=Fault.FAILED, detail="the job's last streams are being closed")
        remove_cgroups(job_dir)
        shutil.rmtree(job_dir, ignore_errors=True)
        return Reply()

    def _begin(self, job: str) -> None:
        if job not in self._starting:
            task = self._tasks.create_task(self._bring_up(job))
            self._starting[job] = task
            task.add_done_callback(lambda _: self._starting.pop(job, None))

    async def _bring_up(self, job: str) -> None:
        job_dir = self._places.job(job)
        try:
            for name in self._missing_apps(job_dir):
                await self._environments.build(name)
            await spawn(job_dir)
        except Exception as fault:  # one job's trouble is not the bridge's
            _log.warning("job %s could not be started: %s", job, words_of(fault))
            if read_status(job_dir) is None:
                self._write_never_started(job_dir, "launch_failed", words_of(fault))

    async def _build(self, app: str) -> None:
        try:
            await self._environments.build(app)
        except Exception as fault:  # it is told beside the environment
            _log.warning("app %s could not be built: %s", app, words_of(fault))

    def _missing_apps(self, job_dir: Path) -> list[str]:
        try:
            spec = json.loads((job_dir / "spec.json").read_bytes())
        except ValueError:
            return []  # the shim will say that it cannot be read
        return self._environments.missing(map(Path, spec.get("readonly", ())))

    def _observe(self, job: str) -> dict[str, Any] | None:
        job_dir = self._places.job(job)
        report = observe(job_dir, self._clock())
        if report is None and (job_dir / "spec.json").exists():
            progress = [self._environments.progress(name) for name in self._missing_apps(job_dir)]
            return {"state": "starting", "detail": "; ".join(progress), "events": []}
        return report

    def _write_never_started(self, job_dir: Path, cause: str, detail: str) -> None:
        now = self._clock()
        nobody = {"pid": 0, "start_ticks": 0, "boot": kernel.boot_id()}
        status = {"v": 1, "job": job_dir.name, "state": "ended", "shim": nobody, "ended_at": now, "cause": cause}
        replace(job_dir / "status.json", json.dumps({**status, "detail": detail[:300]}).encode())


def _checked(job: str, spec: Any, places: Places) -> dict[str, Any]:
    """The spec, when it says what a shim needs. Raises ValueError, KeyError or TypeError."""
    if spec["job"] != job:
        raise ValueError("the spec is another job's")
    command = spec["command"]
    if not isinstance(command, list) or not command or not all(isinstance(w, str) and "\0" not in w for w in command):
        raise ValueError("a command is a list of words")
    if not all("=" not in name and "\0" not in name + str(value) for name, value in spec["env"].items()):
        raise ValueError("an environment has names and values")
    outside = [path for path in spec.get("readonly", ()) if not Path(path).is_relative_to(places.apps)]
    if outside or any(".." in Path(path).parts for path in spec.get("readonly", ())):
        raise ValueError("only app environments are lent to jobs")
    return dict(spec)
