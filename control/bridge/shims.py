"""Starts shims and speaks with them. A shim is nobody's child: it has to be asked, or its files read."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any, Final

import control.agent
from gateway.contract.bridge import Call, Fault, Reply, Verb, decode_reply, encode_call
from gateway.contract.calls import call

_AGENT: Final = str(Path(control.agent.__file__).resolve().parent)
_SPAWN_S: Final = 20.0
_CALL_S: Final = 30.0
_ENVIRONMENT: Final = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}


async def spawn(job_dir: Path) -> None:
    """Starts the shim of the job whose spec.json lies there; returns when it listens and has written its status.

    Raises OSError when it does not come up.
    """
    errors = os.open(job_dir / "shim.err", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        starter = await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-S", _AGENT, "shim", str(job_dir),
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=errors, env=_ENVIRONMENT,
        )  # fmt: skip
    finally:
        os.close(errors)
    assert starter.stdout is not None
    async with asyncio.timeout(_SPAWN_S):
        said = await starter.stdout.read()
        await starter.wait()
    if said != b"ready\n":
        words = (job_dir / "shim.err").read_text(encoding="utf-8", errors="replace").strip()[-300:]
        raise OSError(f"the shim did not come up: {words or starter.returncode}")


async def ask(job_dir: Path, verb: Verb, args: dict[str, Any]) -> tuple[Reply, list[int]]:
    """One call to the job's shim: its reply and the descriptors that came with it, now the caller's."""
    message = encode_call(Call(verb, job_dir.name, args))
    try:
        answer, descriptors = await call(str(job_dir / "shim.sock"), message, deadline_s=_CALL_S)
        return decode_reply(answer), descriptors
    except (ConnectionError, FileNotFoundError):
        return Reply(fault=Fault.NOT_RUNNING, detail="the job has no shim"), []
    except TimeoutError:
        return Reply(fault=Fault.FAILED, detail="the job's shim does not answer"), []
