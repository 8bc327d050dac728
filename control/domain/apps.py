"""Apps: job templates with a name, so that a newcomer has something real to open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from control.domain.entries import EntrySpec
from control.domain.errors import Sentence


class Installed(StrEnum):
    """Whether an app can be run at once."""

    READY = "ready"
    ABSENT = "absent"
    INSTALLING = "installing"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class App:
    """A job template. `readonly` names the folders that its job may read beside its home: the app's environment."""

    name: str
    title: Sentence
    description: Sentence
    command: tuple[str, ...]
    entries: tuple[EntrySpec, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    readonly: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AppState:
    """How far an installation is: `progress` from 0 to 1 while it runs, `message` why it failed or what it does."""

    state: Installed
    progress: float | None = None
    message: Sentence | None = None
