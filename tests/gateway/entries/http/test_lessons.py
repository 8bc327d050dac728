"""What is remembered of requests, for how long, and how much of it."""

from __future__ import annotations

import pytest

from gateway.entries.http import lessons
from gateway.entries.http.brief import Judge
from gateway.entries.http.lessons import Lesson, Lessons
from tests.gateway import world


def lesson(until: float = 10.0) -> Lesson:
    """Something to remember."""
    return Lesson(world.admission(world.entry()), b"sent", "key", Judge("app.example", closes=True), 1, until)


def test_lessons_are_for_an_address_and_for_words() -> None:
    """Nothing is told to somebody else."""
    memory = Lessons()
    taught = lesson()
    memory.teach("::1", b"words", taught)
    assert memory.recall("::1", b"words") is taught
    assert memory.recall("::2", b"words") is None
    assert memory.recall("::1", b"word") is None


def test_what_is_over_is_forgotten() -> None:
    """At the next sweep."""
    memory = Lessons()
    memory.teach("::1", b"old", lesson(1.0))
    memory.teach("::1", b"new", lesson(3.0))
    memory.sweep(2.0)
    assert len(memory) == 1


def test_what_led_nowhere_is_not_taught_again_for_a_while() -> None:
    """Its answers are not for errands."""
    memory = Lessons()
    memory.teach("::1", b"words", lesson())
    memory.spoil("::1", b"words", 0.0)
    memory.teach("::1", b"words", lesson())
    assert len(memory) == 0
    memory.sweep(lessons.SPOILED_S + 1)
    memory.teach("::1", b"words", lesson(99.0))
    assert len(memory) == 1


def test_the_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest goes first; what is known is taught anew without making room."""
    monkeypatch.setattr(lessons, "LIMIT", 2)
    memory = Lessons()
    for words in (b"1", b"2", b"2", b"3"):
        memory.teach("::1", words, lesson())
    assert [memory.recall("::1", words) is None for words in (b"1", b"2", b"3")] == [True, False, False]
    for words in (b"4", b"5", b"6"):
        memory.spoil("::1", words, 0.0)
    memory.teach("::1", b"6", lesson())
    assert memory.recall("::1", b"6") is not None
