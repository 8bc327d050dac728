"""A gate for tests of entries: a table, visits, a bridge in a run directory, and a control that is away."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gateway.config import GatewayConfig, Role
from gateway.contract.feed import Question
from gateway.core.table import Table
from gateway.wire.ask import Ask
from gateway.wire.bridge import Bridge
from gateway.wire.gate import Gate
from gateway.wire.visits import Visits
from tests.gateway.world import NOW


def config(run_dir: Path, **settings: Any) -> GatewayConfig:
    """The settings of a web process whose sockets lie in `run_dir`."""
    told: dict[str, Any] = {"role": Role.WEB, "name": "web-0", "state_dir": run_dir, "assets_dir": run_dir} | settings
    return GatewayConfig(run_dir=run_dir, **told)


def gate(run_dir: Path, table: Table, **settings: Any) -> Gate:
    """A gate at NOW."""
    ask = Ask(_away)
    return Gate(config(run_dir, **settings), table, Visits("web-0"), Bridge(run_dir, lambda: NOW), ask, lambda: NOW)


async def _away(question: Question, arguments: dict[str, Any]) -> dict[str, Any] | None:
    return None
