"""A bridge's words become a fact, or are refused."""

from __future__ import annotations

from typing import Any

import pytest

from control.domain.jobs.observed import Cause, EngineEvent, Observed, Phase, from_plain


def test_full_report_is_read() -> None:
    """Every field."""
    plain = {
        "state": "ended",
        "started_at": 1.0,
        "ended_at": 2.0,
        "exit_code": 1,
        "signal": None,
        "cause": "exit",
        "detail": "d",
        "node": "n",
        "events": [{"at": 1.5, "kind": "Warning", "reason": "R", "message": "m"}],
    }
    event = EngineEvent(1.5, True, "R", "m")
    assert from_plain(plain) == Observed(Phase.ENDED, 1.0, 2.0, 1, None, Cause.EXIT, "d", "n", (event,))


def test_short_report_is_read() -> None:
    """Only the state is required; what is null counts as not told."""
    assert from_plain({"state": "starting", "detail": None}) == Observed(Phase.STARTING)


@pytest.mark.parametrize("plain", [{}, {"state": "dancing"}, {"state": "ended", "cause": "boredom"}])
def test_nonsense_is_refused(plain: dict[str, Any]) -> None:
    """ValueError or KeyError, for the caller to call silence."""
    with pytest.raises((ValueError, KeyError)):
        from_plain(plain)
