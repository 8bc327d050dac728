"""Sentences are filled in, whatever the parameters."""

from __future__ import annotations

from control.domain.errors import Code, Problem
from control.domain.language import Sentence


def test_sentence_is_said_in_the_language_asked_for() -> None:
    """Chinese or English."""
    sentence = Sentence("你好，{name}", "Hello, {name}")
    assert sentence.say("zh", {"name": "alice"}) == "你好，alice"
    assert sentence.say("en", {"name": "alice"}) == "Hello, alice"


def test_long_and_missing_parameters_do_not_break_a_sentence() -> None:
    """A 2 MB name is cut; a forgotten parameter shows as an ellipsis."""
    assert len(Problem(Code.USER_EXISTS, {"name": "x" * 2_000_000}).detail("zh")) < 300
    assert "…" in Problem(Code.USER_EXISTS).detail("en")
