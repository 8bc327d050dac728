"""What a job is asked to be, with all defaults filled in and checked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from control.domain.entries import EntrySpec
from control.domain.errors import FieldCode, FieldFault, fault

COMMAND_PARTS: Final = 256
COMMAND_CHARACTERS: Final = 32_768
ENV_VARIABLES: Final = 256
ENV_CHARACTERS: Final = 32_768
CLIENT_KEY_CHARACTERS: Final = 200
_ENV_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class JobSpec:
    """A checked wish for a job. `home` is the person's home on the cluster, `readonly` what else the job may read."""

    name: str
    app: str | None
    cluster: str
    partition: str
    command: tuple[str, ...]
    home: str
    env: Mapping[str, str] = field(default_factory=dict)
    image: str | None = None
    nodes: int = 1
    cpus: int = 1
    gpus: int = 0
    memory_bytes: int | None = None
    time_limit_s: int | None = None
    readonly: tuple[str, ...] = ()
    entries: tuple[EntrySpec, ...] = ()
    client_key: str | None = None


def command_faults(command: Any, path: str = "command") -> list[FieldFault]:
    """What is wrong with a command: it is a list of texts without NUL, not empty, bounded."""
    if not isinstance(command, (list, tuple)) or not all(isinstance(part, str) for part in command):
        return [fault(path, FieldCode.TYPE, wanted="list of text")]
    if not command or not command[0]:
        return [fault(path, FieldCode.REQUIRED)]
    if len(command) > COMMAND_PARTS or sum(map(len, command)) > COMMAND_CHARACTERS:
        return [fault(path, FieldCode.TOO_LONG, maximum=COMMAND_CHARACTERS)]
    if any("\0" in part or not _is_text(part) for part in command):
        return [fault(path, FieldCode.CONTROL_CHARACTERS)]
    return []


def env_faults(env: Any, path: str = "env") -> list[FieldFault]:
    """What is wrong with the environment of a job: names and values are texts, names are variable names, bounded."""
    if not isinstance(env, dict):
        return [fault(path, FieldCode.TYPE, wanted="object of text")]
    if len(env) > ENV_VARIABLES:
        return [fault(path, FieldCode.TOO_LONG, maximum=ENV_VARIABLES)]
    faults = []
    for name, value in env.items():
        if not isinstance(value, str) or "\0" in value or not _is_text(value) or not _ENV_NAME.fullmatch(str(name)):
            faults.append(fault(f"{path}.{str(name)[:64]}", FieldCode.ENV_NAME))
        elif len(value) > ENV_CHARACTERS:
            faults.append(fault(f"{path}.{str(name)[:64]}", FieldCode.TOO_LONG, maximum=ENV_CHARACTERS))
    return faults


def _is_text(value: str) -> bool:
    # A lone surrogate comes out of JSON escapes and has no UTF-8 form, so no database or program can take it.
    return not any("\ud800" <= character <= "\udfff" for character in value)
