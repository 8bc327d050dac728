"""The apps that can be submitted by name: `control.apps` describes them, the bridge builds what they need.

Holds no state: how far an installation is lies in files beside it, written by the bridge.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

from control.apps import templates
from control.apps.environments import Environments
from control.domain.apps import App, AppState, Installed
from control.domain.entries import parse_spec
from control.domain.errors import Sentence

_STALLED_S: Final = 600.0
"""A build that said nothing for so long has ended with whoever ran it."""


class Catalog:
    """The apps of one data directory."""

    def __init__(self, directory: Path, now: Callable[[], float], build: Callable[[str], Awaitable[None]]) -> None:
        """`directory` holds the environments; `build` has the one of that name built, or joins the build."""
        self._directory = directory
        self._now = now
        self._build = build
        self._environments = Environments(directory)

    def known(self) -> tuple[App, ...]:
        """All apps, in the order in which they are offered."""
        return tuple(self._app(template) for template in templates.APPS.values())

    def state(self, name: str) -> AppState:
        """How far the installation is. Raises KeyError for an unknown name."""
        environment = templates.APPS[name].environment
        if environment is None or not self._environments.missing([self._directory / environment]):
            return AppState(Installed.READY)
        return self._told(environment)

    async def install(self, name: str) -> None:
        """Has the bridge begin the installation, or join it; returns at once. Raises KeyError for an unknown name."""
        environment = templates.APPS[name].environment
        if environment is not None:
            await self._build(environment)

    def _app(self, template: templates.App) -> App:
        directory = str(self._directory)
        return App(
            name=template.name,
            title=Sentence(template.title_zh, template.title_en),
            description=Sentence(template.description_zh, template.description_en),
            command=tuple(templates.command_of(template, directory, "")),
            entries=tuple(parse_spec(entry) for entry in template.entries),
            env=template.env,
            readonly=tuple(templates.readonly_of(template, directory)),
        )

    def _told(self, environment: str) -> AppState:
        told, written_at = self._read(self._directory / f"{environment}.progress.json")
        match told.get("state"):
            case "building" if self._now() - written_at < _STALLED_S:
                done, total = int(told.get("done", 0)), max(1, int(told.get("total", 1)))
                counted = {"done": done, "total": total}
                return AppState(Installed.INSTALLING, done / total, _filled(_BUILDING, counted))
            case "failed":
                return AppState(Installed.FAILED, None, _FAILED)
            case _:
                return AppState(Installed.ABSENT)

    def _read(self, file: Path) -> tuple[dict[str, Any], float]:
        try:
            return json.loads(file.read_bytes()), file.stat().st_mtime
        except (OSError, ValueError):
            return {}, 0.0


_BUILDING: Final = Sentence("正在安装：{done}/{total} 个软件包", "Installing: {done} of {total} packages")
_FAILED: Final = Sentence(
    "安装未成功，请管理员查看平台日志后重试。",
    "The installation did not succeed; an administrator finds why in the platform's log.",
)


def _filled(sentence: Sentence, params: dict[str, Any]) -> Sentence:
    return Sentence(sentence.say("zh", params), sentence.say("en", params))
