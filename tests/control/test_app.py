"""The real control process on its stage: jobs live their lives, and no kill -9 loses one."""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path
from typing import Any

import aiohttp

from gateway.contract.bridge import Fault, Verb
from tests.control.stage import staged, terminate


async def submit(api: aiohttp.ClientSession, **spec: Any) -> str:
    """Submits a job and returns its id."""
    async with api.post("/api/v1/jobs", json={"command": ["/bin/true"], **spec}) as answer:
        assert answer.status == 201, await answer.text()
        name: str = (await answer.json())["id"]
        return name


async def until_state(api: aiohttp.ClientSession, job: str, *states: str) -> dict[str, Any]:
    """The job once it is in one of these states. Polls: the API is all that an owner has."""
    async with asyncio.timeout(25):
        while True:
            async with api.get(f"/api/v1/jobs/{job}") as answer:
                found: dict[str, Any] = await answer.json()
            if found["state"] in states:
                return found
            await asyncio.sleep(0.05)


async def test_job_lives_from_submission_to_its_end(tmp_path: Path) -> None:
    """Queued, created, running, finished; with its times and core hours."""
    async with staged(tmp_path) as stage, stage.control(), stage.api() as api:
        job = await submit(api, cpus=2)
        running = await until_state(api, job, "running")
        assert running["node"] == "node-1"
        assert running["scheduled_at"] is not None
        stage.bridge.ends(job, exit_code=0)
        finished = await until_state(api, job, "finished")
        assert finished["exit_code"] == 0
        assert finished["released_at"] == finished["ended_at"]
        assert stage.bridge.starts == 1


async def test_an_installation_is_asked_of_the_bridge(tmp_path: Path) -> None:
    """The one that builds what an app needs hears of it before the app's first job."""
    async with staged(tmp_path) as stage, stage.control(), stage.api() as api:
        async with api.post("/api/v1/apps/jupyterlab/install") as answer:
            assert answer.status in (200, 202), await answer.text()
        assert [call.subject for call in stage.bridge.calls if call.subject.startswith("app:")] == ["app:jupyterlab"]


async def test_closed_job_is_stopped_and_cancelled(tmp_path: Path) -> None:
    """Closing a running job stops its processes and keeps the word of who did it."""
    async with staged(tmp_path) as stage, stage.control(), stage.api() as api:
        job = await submit(api)
        await until_state(api, job, "running")
        async with api.post(f"/api/v1/jobs/{job}/close") as answer:
            assert answer.status == 200
        await until_state(api, job, "cancelled")
        assert stage.bridge.jobs[job]["cause"] == "stopped"


async def test_refused_launch_is_create_failed_without_inner_detail(tmp_path: Path) -> None:
    """What the bridge says for the log never reaches a person."""
    async with staged(tmp_path) as stage, stage.control(), stage.api() as api:
        stage.bridge.refuses = Fault.FAILED
        job = await submit(api)
        await until_state(api, job, "create_failed")
        async with api.get(f"/api/v1/jobs/{job}/status") as answer:
            assert "/inner/path" not in await answer.text()


async def test_control_killed_while_a_job_runs_finds_it_again(tmp_path: Path) -> None:
    """The job ends while control is dead; its successor tells so, and starts nothing twice."""
    async with staged(tmp_path) as stage:
        async with stage.control() as process, stage.api() as api:
            job = await submit(api)
            await until_state(api, job, "running")
            process.kill()
        stage.bridge.ends(job, exit_code=3)
        async with stage.control(), stage.api() as api:
            ended = await until_state(api, job, "failed")
            assert ended["exit_code"] == 3
            assert stage.bridge.starts == 1


async def test_control_killed_right_after_accepting_a_job_starts_it_later(tmp_path: Path) -> None:
    """201 is a promise: the job is in the database before the answer."""
    async with staged(tmp_path) as stage:
        stage.bridge.deaf_to = {Verb.START, Verb.PROBE}
        async with stage.control() as process, stage.api() as api:
            job = await submit(api)
            process.kill()
        stage.bridge.deaf_to = set()
        async with stage.control(), stage.api() as api:
            await until_state(api, job, "running")
            assert stage.bridge.starts == 1


async def test_control_killed_under_load_loses_no_accepted_job(tmp_path: Path) -> None:
    """Of many submissions at once, each that was answered with 201 lives on, and starts once."""
    accepted: list[str] = []

    async def submit_until_killed(api: aiohttp.ClientSession) -> None:
        with contextlib.suppress(aiohttp.ClientError):
            while True:
                accepted.append(await submit(api))

    async with staged(tmp_path) as stage:
        async with stage.control() as process, stage.api() as api, asyncio.TaskGroup() as group:
            for _ in range(4):
                group.create_task(submit_until_killed(api))
            while len(accepted) < 12:
                await stage.bridge.begins.wait()
                await asyncio.sleep(0.01)
            process.kill()
        async with stage.control(), stage.api() as api:
            for job in accepted:
                await until_state(api, job, "running")
        starts = [call.subject for call in stage.bridge.calls if call.verb is Verb.START]
        assert set(starts) >= set(accepted)
        assert stage.bridge.starts == len(stage.bridge.jobs)


async def test_control_ends_with_its_supervisor(tmp_path: Path) -> None:
    """The lifeline breaks: drain and go, jobs live on."""
    reader, writer = os.pipe()
    async with staged(tmp_path) as stage, stage.control(lifeline=reader) as process:
        os.close(reader)
        os.close(writer)
        async with asyncio.timeout(10):
            assert await process.wait() == 0


async def test_control_drains_on_sigterm(tmp_path: Path) -> None:
    """The end is asked for politely: exit status 0, within the drain."""
    async with staged(tmp_path) as stage, stage.control() as process:
        assert await terminate(process) == 0
