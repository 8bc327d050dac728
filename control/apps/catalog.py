"""The apps as control offers them: templates filled in for this machine, and how far each is installed.

Reads what `environments.py` writes. It installs nothing itself: the bridge does, when it is asked to or when
the first job of an app starts.
"""

from __future__ import annotations

import json
import logging
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from control.apps import templates
from control.apps.environments import Environments
from control.domain.apps import App, AppState, Installed
from control.domain.entries import parse_spec
from control.domain.errors import Sentence
from gateway.contract.bridge import Call, Verb, encode_call
from gateway.contract.calls import call

_log = logging.getLogger(__name__)
_CALL_S: Final = 5.0


class Catalog:
    """All apps. `directory` is where their environments lie; in `run_dir` the bridge listens."""

    def __init__(self, directory: Path, run_dir: Path | None = None) -> None:
        self._directory = directory
        self._run_dir = run_dir
        self._environments = Environments(directory)

    def known(self) -> tuple[App, ...]:
        """All of them, in the order in which they are offered."""
        return tuple(self._filled(template) for template in templates.APPS.values())

    def state(self, name: str) -> AppState:
        """How far the installation of one is. Raises KeyError for an unknown name."""
        environment = templates.APPS[name].environment
        if environment is None or not self._environments.missing([self._directory / environment]):
            return AppState(Installed.READY)
        told = self._told(environment)
        match told.get("state"):
            case "building":
                return AppState(Installed.INSTALLING, told["done"] / max(1, told["total"]))
            case "failed":
                return AppState(Installed.FAILED, message=_FAILED)
            case _:
                return AppState(Installed.ABSENT)

    async def install(self, name: str) -> None:
        """Has the bridge begin the installation, or join the one under way. Raises KeyError for an unknown name.

        A bridge that is away is no fault: the app's first job asks for the installation again.
        """
        environment = templates.APPS[name].environment
        if environment is None or self._run_dir is None:
            return
        message = encode_call(Call(Verb.START, f"app:{environment}"))
        try:
            await call(str(self._run_dir / "bridge-local.sock"), message, deadline_s=_CALL_S)
        except (OSError, TimeoutError) as fault:
            _log.warning("the installation of %s could not be asked for: %s", name, fault)

    def _filled(self, template: templates.App) -> App:
        return App(
            name=template.name,
            title=Sentence(template.title_zh, template.title_en),
            description=Sentence(template.description_zh, template.description_en),
            command=tuple(templates.command_of(template, str(self._directory), "")),
            entries=tuple(parse_spec(entry) for entry in template.entries),
            env=template.env,
            readonly=tuple(templates.readonly_of(template, str(self._directory))),
        )

    def _told(self, environment: str) -> dict[str, Any]:
        with suppress(OSError, ValueError):
            told: dict[str, Any] = json.loads((self._directory / f"{environment}.progress.json").read_bytes())
            return told
        return {}


_FAILED = Sentence("上次安装未成功，下一个作业会重试。", "The last installation failed; the next job tries again.")
