"""What this machine allows, found out by doing it: a shim runs `true` in the sandbox that jobs will get.

Nothing is concluded from versions or files; whatever refuses says why, and that is reported.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final

import control
from control.agent.shim.limits import cgroup_limits
from control.agent.shim.network import tun_opens
from control.agent.shim.visits import sftp_server
from control.bridge.shims import spawn
from control.bridge.truth import read_status

_TRIAL_S: Final = 30.0
_POLL_S: Final = 0.02
_ALWAYS_MASKED: Final = ("/root", "/run", "/home")
_SYSTEM: Final = tuple(map(PurePosixPath, ("/usr", "/etc", "/bin", "/sbin", "/lib", "/proc", "/sys", "/dev", "/var")))
_SYSTEM_PYTHON: Final = "/usr/bin/python3"
_OWN_PYTHON: Final = os.path.realpath(sys.executable)
_PYTHON_CHECK: Final = "import sys; sys.exit(sys.version_info < (3, 11))"


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What jobs get here. `why` holds a sentence for each thing that is less than it could be."""

    isolation: str
    network: str
    limits: dict[str, str]
    sftp: bool
    why: dict[str, str]
    masks: tuple[str, ...]
    python: str
    python_home: str | None

    def sandbox(self) -> dict[str, Any]:
        """The part of a shim's spec that says how to keep the job apart."""
        return {
            "isolation": self.isolation,
            "network": self.network,
            "masks": self.masks,
            "python": self.python,
            "python_home": self.python_home,
        }

    def report(self) -> dict[str, Any]:
        """What a caller of `capabilities` is told."""
        return {
            "isolation": self.isolation,
            "network": self.network,
            "limits": self.limits,
            "sftp": self.sftp,
            "why": self.why,
        }


async def probe(data_dir: Path, trial_dir: Path, uid: int | None) -> Capabilities:
    """Tries the sandboxes from the best down and reports the first that works; `trial_dir` is emptied and used.

    `uid` is one that no person has, None when not started as root.
    """
    python = await _visible_python()
    masks = masked(data_dir)
    home = _home_if_hidden(python, masks)
    why: dict[str, str] = {}
    for isolation, network in _candidates(why):
        sandbox = {"isolation": isolation, "network": network, "masks": masks, "python": python, "python_home": home}
        fault = await _trial(trial_dir, sandbox, uid)
        if fault is None:
            break
        why["isolation" if network == "loopback" else "network"] = fault
    else:
        isolation, network = "none", "none"
    sftp = sftp_server() is not None
    if not sftp:
        why["sftp"] = "sftp-server is not installed (package openssh-sftp-server)"
    return Capabilities(isolation, network, _limits(why, network), sftp, why, masks, python, home)


def masked(data_dir: Path) -> tuple[str, ...]:
    """The directories that every job sees empty: data, root's and people's homes, /run, the checkout, its settings."""
    checkout = Path(control.__file__).resolve().parents[1]
    wanted = [checkout] + ([Path.cwd()] if Path("starlight.toml").exists() else [])
    return (*_ALWAYS_MASKED, str(data_dir), *(str(path) for path in wanted if _may_be_masked(path)))


def _may_be_masked(path: Path) -> bool:
    """A directory that holds parts of the system cannot be taken from the jobs."""
    pure = PurePosixPath(path)
    return not pure.is_relative_to("/usr") and not any(system.is_relative_to(pure) for system in _SYSTEM)


def _home_if_hidden(python: str, masks: tuple[str, ...]) -> str | None:
    program = Path(python).resolve()
    hidden = any(program.is_relative_to(Path(mask).resolve()) for mask in masks)
    return str(program.parents[1]) if hidden else None


def _candidates(why: dict[str, str]) -> list[tuple[str, str]]:
    if os.geteuid() != 0:
        why["network"] = "outbound access in an own namespace needs root; jobs get a proxy instead"
        return [("full", "loopback")]
    if not tun_opens():
        why["network"] = "/dev/net/tun does not open; jobs get a proxy instead"
        return [("full", "loopback")]
    return [("full", "pasta"), ("full", "loopback")]


def _limits(why: dict[str, str], network: str) -> dict[str, str]:
    held = cgroup_limits()
    if "memory" not in held:
        why["limits"] = "no cgroup may be made here; memory is limited for each process alone"
    return {
        "memory": "cgroup" if "memory" in held else "per_process",
        "cpu": "cgroup" if "cpu" in held else "none",
        "processes": "cgroup" if "processes" in held else "none" if network == "none" else "per_person",
        "time": "shim",
    }


async def _visible_python() -> str:
    """An interpreter for the inner half: the system's when it is new enough, else the one that runs here."""
    with suppress(FileNotFoundError):
        check = await asyncio.create_subprocess_exec(_SYSTEM_PYTHON, "-I", "-S", "-c", _PYTHON_CHECK)
        async with asyncio.timeout(_TRIAL_S):
            if await check.wait() == 0:
                return _SYSTEM_PYTHON
    return _OWN_PYTHON


async def _trial(trial_dir: Path, sandbox: dict[str, Any], uid: int | None) -> str | None:
    """Why `true` did not end well in this sandbox; None when it did."""
    shutil.rmtree(trial_dir, ignore_errors=True)
    home = trial_dir / "home"
    home.mkdir(parents=True, mode=0o700)
    if uid is not None:
        os.chown(home, uid, uid)
    spec = {
        "job": trial_dir.name,
        "owner": {"name": "trial", "uid": uid},
        "home": str(home),
        "work_dir": str(home),
        "command": ["true"],
        "env": {},
        "log_limit_bytes": 1024,
        "sandbox": sandbox,
    }
    (trial_dir / "spec.json").write_text(json.dumps(spec), encoding="utf-8")
    try:
        async with asyncio.timeout(_TRIAL_S):
            await spawn(trial_dir)
            while (status := read_status(trial_dir)) is None or status["state"] != "ended":  # noqa: ASYNC110 - a file
                await asyncio.sleep(_POLL_S)
    except TimeoutError:
        return f"the trial did not end in {_TRIAL_S:.0f} s"
    except OSError as fault:
        return str(fault)
    if status["exit_code"] == 0:
        return None
    return str(status["detail"] or f"the trial ended by {status['cause']}")
