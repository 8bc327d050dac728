"""What the shim is told in spec.json: written once by the bridge, never changed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Sandbox:
    """How this machine can keep the job apart, as the bridge's probe found it.

    `isolation` is full or none; `network` pasta, loopback or none. `masks` are the directories that
    the job sees empty. `python` is the interpreter for the inner half; `python_home` the directory it
    needs, when a mask would hide it.
    """

    isolation: str
    network: str
    masks: tuple[str, ...]
    python: str
    python_home: str | None


@dataclass(frozen=True)
class Limits:
    """What one job may use at most; None is no limit. `log_bytes` is always bounded."""

    cpus: float | None
    memory_bytes: int | None
    time_s: float | None
    processes: int | None
    log_bytes: int


@dataclass(frozen=True)
class Spec:
    """One job. `uid` is the person's; None: the shim's own. `readonly` are directories the job sees beside its home.

    `idle_s` is for what exists for its visitors alone: it ends so long after the last of them.
    """

    job: str
    owner: str
    uid: int | None
    home: Path
    work_dir: Path
    command: tuple[str, ...]
    env: dict[str, str]
    limits: Limits
    readonly: tuple[str, ...]
    sandbox: Sandbox
    idle_s: float | None = None


def read_spec(path: Path) -> Spec:
    """The spec in the file. Raises OSError, ValueError or KeyError when it is not one."""
    plain: dict[str, Any] = json.loads(path.read_bytes())
    sandbox = plain["sandbox"]
    uid = plain["owner"].get("uid")
    return Spec(
        job=str(plain["job"]),
        owner=str(plain["owner"]["name"]),
        uid=None if uid is None else int(uid),
        home=Path(plain["home"]),
        work_dir=Path(plain["work_dir"]),
        command=tuple(map(str, plain["command"])),
        env={str(name): str(value) for name, value in plain["env"].items()},
        limits=_limits(plain),
        readonly=tuple(map(str, plain.get("readonly", ()))),
        sandbox=Sandbox(
            sandbox["isolation"],
            sandbox["network"],
            tuple(map(str, sandbox["masks"])),
            sandbox["python"],
            sandbox.get("python_home"),
        ),
        idle_s=plain.get("idle_s"),
    )


def _limits(plain: dict[str, Any]) -> Limits:
    return Limits(
        cpus=plain.get("cpus"),
        memory_bytes=plain.get("memory_bytes"),
        time_s=plain.get("time_limit_s"),
        processes=plain.get("processes"),
        log_bytes=int(plain["log_limit_bytes"]),
    )
