"""The eleven states in the manual's words, and the view that each belongs to."""

from __future__ import annotations

import pytest

from control.domain.jobs.states import ENDED, LIVE, UNCLOSED_SHOWN_S, State, is_running_view, phase, word
from gateway.contract.routes import JobPhase

MANUAL = (
    *("排队中", "创建中", "运行中", "挂起", "故障", "未知"),
    *("已结束", "已结束（失败）", "创建失败", "已取消", "退出码异常"),
)


def test_words_are_the_manuals() -> None:
    """Eleven states, each with the manual's word."""
    assert tuple(word(state, "zh") for state in State) == MANUAL
    assert word(State.ABNORMAL_EXIT, "en") == "abnormal exit"


def test_every_state_has_a_phase() -> None:
    """Ended states are ended for gateways; an unknown job may still be dialled."""
    assert {phase(state) for state in ENDED} == {JobPhase.ENDED}
    assert phase(State.UNKNOWN) is JobPhase.RUNNING
    assert phase(State.QUEUED) is JobPhase.STARTING
    assert set(State) == LIVE | ENDED


@pytest.mark.parametrize(
    ("state", "closed", "age_s", "running"),
    [
        (State.FAULT, False, None, True),
        (State.ABNORMAL_EXIT, False, 1.0, True),
        (State.ABNORMAL_EXIT, True, 1.0, False),
        (State.CREATE_FAILED, False, UNCLOSED_SHOWN_S, False),
        (State.FINISHED, False, 1.0, False),
    ],
)
def test_view(state: State, closed: bool, age_s: float | None, running: bool) -> None:
    """Abnormal ends stay among the running ones until closed, or for a day."""
    ended_at = None if age_s is None else 1e9 - age_s
    assert is_running_view(state, closed=closed, ended_at=ended_at, now=1e9) is running
