"""Which workers an instance has, and how each is started: command, environment and identity."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from control.config import PREFIX, Settings, to_environment
from control.supervisor.identity import Identities
from control.supervisor.passage import ROOT, Passage
from control.supervisor.worker import Recipe

_LAUNCH: Final = Path(__file__).with_name("launch.py")
_CONTROL_ONLY: Final = ("STARLIGHT_ADMIN_PASSWORD", "STARLIGHT_DATABASE_URL")
"""Secrets that a gateway, which parses hostile input, and the bridge, which starts jobs, never hold."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What all workers of one start stand on. `surroundings` is what is passed on of the starter's environment."""

    settings: Settings
    who: Identities
    passage: Passage
    lifeline: int
    feed_key: str = field(repr=False)
    admin_password: str | None = field(repr=False)
    surroundings: dict[str, str]


def crew(ground: Ground) -> list[Recipe]:
    """Every worker's recipe: control, the local bridge, one web gateway a process asked for, one ssh gateway."""
    web = [f"web-{number}" for number in range(ground.settings.gateway_processes)]
    gateways = [_gateway(ground, "web", name) for name in web] + [_gateway(ground, "ssh", "ssh-0")]
    return [control(ground), bridge(ground), *gateways]


def control(ground: Ground) -> Recipe:
    """The control process, under its own uid."""
    environment = _environment(ground, "control", secrets=True)
    if ground.admin_password:
        environment["STARLIGHT_ADMIN_PASSWORD"] = ground.admin_password
    return _as(ground, ground.who.control_uid, "control", ["-m", "control"], environment)


def bridge(ground: Ground) -> Recipe:
    """The local bridge, which keeps the starter's uid: it starts jobs under people's uids."""
    name = "bridge-local"
    command = (_python(), "-m", "control.bridge")
    return Recipe(name, command, ROOT, _environment(ground, name, secrets=False))


def _gateway(ground: Ground, role: str, name: str) -> Recipe:
    words = ["-m", "gateway", "--role", role, "--name", name]
    environment = _environment(ground, name, secrets=False)
    return _as(ground, ground.who.gateway_uid, name, words, environment)


def _as(ground: Ground, uid: int, name: str, words: list[str], environment: dict[str, str]) -> Recipe:
    command = [_python(), *words]
    if not ground.who.separate:
        return Recipe(name, tuple(command), ROOT, environment)
    plan = {"uid": uid, "cwd": str(ROOT), "hidden": ground.passage.hidden, "shown": ground.passage.shown}
    return Recipe(name, (_python(), "-I", "-S", str(_LAUNCH), json.dumps(plan), *command), ROOT, environment)


def _python() -> str:
    return str(Path(sys.prefix).resolve() / "bin" / "python") if sys.prefix != sys.base_prefix else sys.executable


def _environment(ground: Ground, name: str, *, secrets: bool) -> dict[str, str]:
    plain = to_environment(ground.settings)
    if not secrets:
        plain = {label: text for label, text in plain.items() if label not in _CONTROL_ONLY}
    job_uid_base = ground.who.job_uid_base
    for label, value in {
        "RUN_DIR": ground.settings.run_dir,
        "NAME": name,
        "LIFELINE_FD": ground.lifeline,
        "CONTROL_UID": ground.who.control_uid,
        "GATEWAY_UID": ground.who.gateway_uid,
        "JOB_UID_BASE": "" if job_uid_base is None else job_uid_base,
        "FEED_KEY": ground.feed_key,
        "ASSETS_DIR": ROOT / "control" / "console" / "dist",
    }.items():
        plain[PREFIX + label] = str(value)
    return ground.surroundings | plain
