"""How a job ended."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from control.agent.shim.outcome import event_of, outcome_of, signal_name


@pytest.mark.parametrize(
    ("status", "ending", "out_of_memory", "fields"),
    [
        (None, None, False, {"cause": "launch_failed"}),
        (None, "stopped", False, {"cause": "stopped"}),
        (0, None, False, {"cause": "exit", "exit_code": 0}),
        (7 << 8, None, False, {"cause": "exit", "exit_code": 7}),
        (7 << 8, None, True, {"cause": "exit", "exit_code": 7}),
        (137 << 8, None, False, {"cause": "exit", "exit_code": 137}),
        (137 << 8, None, True, {"cause": "oom", "exit_code": 137}),
        (signal.SIGSEGV, None, False, {"cause": "signal", "signal": "SIGSEGV"}),
        (signal.SIGKILL, None, True, {"cause": "oom", "signal": "SIGKILL"}),
        (signal.SIGTERM, "time_limit", False, {"cause": "time_limit", "signal": "SIGTERM"}),
        (0, "stopped", False, {"cause": "stopped", "exit_code": 0}),
    ],
)
def test_the_cause_is_the_first_that_explains_it(
    status: int | None, ending: str | None, out_of_memory: bool, fields: dict[str, Any]
) -> None:
    """Being ended comes before what the end looked like; memory before a bare signal. Each has a sentence."""
    assert outcome_of(status, ending, out_of_memory=out_of_memory) == fields
    kind, reason, sentence = event_of(fields)
    assert kind == ("Normal" if fields["cause"] == "stopped" or fields.get("exit_code") == 0 else "Warning")
    assert reason
    assert sentence


def test_every_signal_has_a_name() -> None:
    """Those between the named real-time signals as well."""
    names = [signal_name(number) for number in signal.valid_signals()]
    assert {"KILL", "TERM", "RTMIN", "RTMIN+1"} <= set(names)
    assert len(set(names)) == len(names)
