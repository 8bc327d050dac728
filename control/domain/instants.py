"""Instants as people and programs read them. Inside, an instant is seconds since the epoch, UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Final

CHINA_STANDARD_TIME: Final = timezone(timedelta(hours=8), "CST")


def rfc3339(instant: float | None) -> str | None:
    """`2026-12-01T06:20:19.250Z` (RFC 3339), or None when there is no instant."""
    if instant is None:
        return None
    return datetime.fromtimestamp(instant, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parse_rfc3339(text: str) -> float:
    """Seconds since the epoch. Raises ValueError for text that is not RFC 3339 or names no zone."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("an instant names its zone")
    return moment.timestamp()


def manual_time(instant: float, zone: timezone = CHINA_STANDARD_TIME) -> str:
    """`2021-06-04 14:20:19 +0800 CST`, as the manual's status text writes it."""
    return datetime.fromtimestamp(instant, zone).strftime("%Y-%m-%d %H:%M:%S %z %Z")
