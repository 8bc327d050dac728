"""Every event has a sentence in both languages."""

from __future__ import annotations

import pytest

from control.domain.events import SENTENCES, EventCode, message, reason


@pytest.mark.parametrize("code", EventCode)
def test_every_event_has_sentences(code: EventCode) -> None:
    """The enum and the sentences hold the same codes."""
    assert SENTENCES[code].zh
    assert message(code, {"user": "alice"}, "en")


def test_engine_event_brings_its_own_word_and_sentence() -> None:
    """What an engine noted is shown as it said it."""
    params = {"reason": "Pulling", "message": "Pulling image"}
    assert reason(EventCode.ENGINE, params) == "Pulling"
    assert message(EventCode.ENGINE, params, "zh") == "Pulling image"
    assert reason(EventCode.STARTED, {}) == "Started"
