"""Waits that people may have, and tests need not."""

from __future__ import annotations

import pytest

from gateway.entries import http
from gateway.entries.http2 import connection, link


@pytest.fixture(autouse=True)
def _brisk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sweeps and last words are soon."""
    monkeypatch.setattr(http, "SWEEP_S", 0.05)
    monkeypatch.setattr(link, "LAST_WORDS_S", 0.05)
    monkeypatch.setattr(link, "FAREWELL_S", 0.2)
    monkeypatch.setattr(connection, "DECLINE_S", 0.05)
