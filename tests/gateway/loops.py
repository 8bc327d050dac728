"""Runs a test on both event loops: the stock one, and uvloop as in the web role."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
import uvloop

Runner = Callable[[Coroutine[Any, Any, Any]], Any]
both_loops = pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
"""A test that takes `run` and hands it a coroutine runs once on each loop."""
