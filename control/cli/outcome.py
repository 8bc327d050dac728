"""What a command hands back: data for `--json`, lines for people."""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from control.cli.client import Client
from control.cli.words import Words


@dataclass(frozen=True, slots=True)
class Outcome:
    """`data` is what `--json` prints; `lines` what a person reads instead."""

    data: Any
    lines: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Asked:
    """One command: its arguments, the signed-in client, the words to answer in."""

    args: argparse.Namespace
    client: Client
    say: Words
    environ: Mapping[str, str]


Command = Callable[[Asked], Awaitable[Outcome]]
