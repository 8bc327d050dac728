"""One worker's life. test_up.py shows it beside others."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from control.supervisor.worker import Backoff, Recipe, Worker


def test_crashes_are_answered_ever_more_slowly() -> None:
    """0.1 s doubling to 10 s; 30 healthy seconds begin anew."""
    backoff = Backoff()
    assert [backoff.after(1) for _ in range(9)] == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10.0, 10.0]
    assert backoff.after(30) == 0.1
    assert backoff.after(29.9) == 0.2


def recipe(tmp_path: Path, *command: str) -> Recipe:
    """A worker of that command."""
    return Recipe("tiny", command, tmp_path, {"MARK": "mine", "PATH": os.environ["PATH"]})


async def pid_of(worker: Worker) -> int:
    """The worker's pid once it runs."""
    async with asyncio.timeout(10):
        while worker.pid is None:
            await asyncio.sleep(0.01)
    return worker.pid


async def test_a_killed_process_is_started_again_and_a_stopped_one_is_not(tmp_path: Path) -> None:
    """Its pid file follows, and its environment is exactly the recipe's."""
    worker = Worker(recipe(tmp_path, "/bin/sleep", "60"), tmp_path, [])
    async with asyncio.TaskGroup() as group:
        running = group.create_task(worker.run())
        first = await pid_of(worker)
        assert (tmp_path / "tiny.pid").read_text() == f"{first}\n"
        os.kill(first, signal.SIGKILL)
        async with asyncio.timeout(10):
            while worker.pid in (first, None):
                await asyncio.sleep(0.01)
        worker.stop()
        await asyncio.wait_for(running, 10)
    assert worker.pid is None
    assert not (tmp_path / "tiny.pid").exists()


async def test_a_worker_gets_only_what_the_recipe_holds(tmp_path: Path) -> None:
    """Nothing of the starter's environment, and a session of its own so that Ctrl-C is not for it."""
    text = (
        "import os, pathlib; "
        "pathlib.Path('told').write_text(f'{sorted(os.environ)} {os.getsid(0) == os.getpid()}'); input()"
    )
    worker = Worker(recipe(tmp_path, sys.executable, "-c", text), tmp_path, [])
    async with asyncio.TaskGroup() as group:
        group.create_task(worker.run())
        async with asyncio.timeout(10):
            while not (tmp_path / "told").exists() or not (tmp_path / "told").read_text():
                await asyncio.sleep(0.01)
        worker.stop()
    told = (tmp_path / "told").read_text()
    assert "'MARK'" in told
    assert "HOME" not in told
    assert told.endswith("True")


async def test_a_command_that_cannot_be_started_is_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A missing program is one line a try, and stopping ends the tries at once."""
    worker = Worker(recipe(tmp_path, "/nonexistent/program"), tmp_path, [])
    async with asyncio.TaskGroup() as group:
        running = group.create_task(worker.run())
        async with asyncio.timeout(10):
            while caplog.text.count("cannot be started") < 2:
                await asyncio.sleep(0.01)
        worker.stop()
        await asyncio.wait_for(running, 5)


async def test_a_cancelled_worker_leaves_no_process(tmp_path: Path) -> None:
    """When the supervisor fails inside, what it started does not stay behind."""
    worker = Worker(recipe(tmp_path, "/bin/sleep", "60"), tmp_path, [])
    async with asyncio.TaskGroup() as group:
        running = group.create_task(worker.run())
        pid = await pid_of(worker)
        running.cancel()
    assert not Path(f"/proc/{pid}").exists()
