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
    """The loops by name. HTTP/2 leans on a loop in its exchanges only: the rest of it needs one."""
    if "ssh" in item.path.parts:
        return {"asyncio": LOOPS["asyncio"]}
    if "http2" in item.path.parts and item.path.name != "test_exchange.py":
        return {"uvloop": LOOPS["uvloop"]}
    return LOOPS
