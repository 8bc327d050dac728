"""Entries of the web role are tested on both event loops; ssh on the one that its gateways run on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
import uvloop

LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {
    "asyncio": asyncio.SelectorEventLoop,
    "uvloop": uvloop.new_event_loop,
}


def pytest_asyncio_loop_factories(item: pytest.Item) -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """The loops by name."""
    return {"asyncio": LOOPS["asyncio"]} if "ssh" in item.path.parts else LOOPS
