"""The shim's end of the bridge protocol, spoken to by the platform's own caller."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from control.agent.shim import calls as shim_calls
from control.agent.shim.calls import Answer, Refused
from gateway.contract.bridge import Call, Fault, Reply, Verb, decode_reply, encode_call
from gateway.contract.calls import call


async def handle(verb: str, args: dict[str, Any]) -> Answer:
    """Lends a pipe, refuses, or stumbles."""
    if verb == "connect":
        reading, writing = os.pipe()
        os.close(writing)
        return {"port": args["port"]}, [reading]
    if verb == "shell":
        raise Refused("not_running", "it has ended")
    raise ValueError("cannot be read")


@asynccontextmanager
async def serving(directory: Path) -> AsyncIterator[Path]:
    """A listening shim; the path of its socket."""
    async with asyncio.TaskGroup() as group:
        with shim_calls.listen(directory) as listener:
            task = group.create_task(shim_calls.serve(listener, handle, group))
            yield directory / "shim.sock"
            task.cancel()


async def ask(path: Path, verb: Verb, **args: Any) -> tuple[Reply, list[int]]:
    """One call."""
    answer, descriptors = await call(str(path), encode_call(Call(verb, "job-1", args)), deadline_s=5)
    return decode_reply(answer), descriptors


async def test_a_result_and_its_descriptor_arrive(tmp_path: Path) -> None:
    """What the handler lends reaches the caller, and the shim keeps no copy."""
    before = len(os.listdir("/proc/self/fd"))
    async with serving(tmp_path) as path:
        reply, descriptors = await ask(path, Verb.CONNECT, port=80)
        assert reply == Reply({"port": 80})
        assert os.read(descriptors[0], 1) == b""
        os.close(descriptors[0])
    assert len(os.listdir("/proc/self/fd")) == before


async def test_a_refusal_keeps_its_code(tmp_path: Path) -> None:
    """The codes are the contract's."""
    async with serving(tmp_path) as path:
        assert await ask(path, Verb.SHELL) == (Reply(fault=Fault.NOT_RUNNING, detail="it has ended"), [])


@pytest.mark.parametrize("verb", [Verb.LOG, Verb.CONNECT])
async def test_arguments_that_make_no_sense_are_a_bad_request(tmp_path: Path, verb: Verb) -> None:
    """A missing field, a wrong value: told, and the next call is served."""
    async with serving(tmp_path) as path:
        reply, _ = await ask(path, verb)
        assert reply.fault is Fault.BAD_REQUEST
        assert (await ask(path, Verb.SHELL))[0].fault is Fault.NOT_RUNNING


async def test_another_version_is_refused(tmp_path: Path) -> None:
    """A shim never guesses what a newer caller means."""
    async with serving(tmp_path) as path:
        answer, _ = await call(str(path), b'{"v": 2, "verb": "connect"}', deadline_s=5)
        assert b'"unsupported"' in answer
        answer, _ = await call(str(path), b"garbage", deadline_s=5)
        assert b'"bad_request"' in answer


async def test_a_deep_directory_is_no_trouble(tmp_path: Path) -> None:
    """A socket's address ends at 107 bytes; a data directory does not."""
    deep = tmp_path / ("d" * 100) / ("e" * 100)
    deep.mkdir(parents=True)
    async with serving(deep) as path:
        assert (await ask(path, Verb.SHELL))[0].fault is Fault.NOT_RUNNING
