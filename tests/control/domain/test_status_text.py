"""The manual's three examples, laid out to the character; and our own states beside them."""

from __future__ import annotations

from pathlib import Path

import pytest

from control.domain.conditions import derive
from control.domain.errors import Language
from control.domain.events import EventCode, EventKind
from control.domain.instants import parse_rfc3339
from control.domain.jobs.states import State
from control.domain.status_text import STATUS_WORDS, Happened, render

GOLDEN = Path(__file__).parents[2] / "golden" / "status_text"


def engine(line: str) -> Happened:
    """The event of a line of the manual's, as an engine noted it."""
    stamp, kind, word, sentence = line.split("    ")
    at = parse_rfc3339(stamp.removesuffix(" CST").replace(" ", "T", 1).replace(" ", ""))
    return Happened(at, EventKind(kind), EventCode.ENGINE, {"reason": word, "message": sentence})


@pytest.mark.parametrize(
    ("example", "state", "container"),
    [
        ("manual-1-running", State.RUNNING, "bashkuber2-414207"),
        ("manual-2-failed", State.FAILED, "bashkuber2-4145313"),
        ("manual-3-pending", State.CREATING, "elasticsea-41506"),
    ],
)
def test_layout_is_the_manuals(example: str, state: State, container: str) -> None:
    """Two spaces, four between words, six before a container: the files hold the manual's own text."""
    printed = (GOLDEN / f"{example}.txt").read_text(encoding="utf-8")
    events = [engine(line) for line in printed.partition("Events:\n")[2].splitlines()]
    conditions = derive(state, container=container, scheduled=True, previous=(), now=0.0)
    assert render(state, conditions, events, container=container, because=None, language="en") == printed


@pytest.mark.parametrize("language", ["zh", "en"])
def test_our_own_events_are_said_in_the_readers_language(language: Language) -> None:
    """A job that ran out of memory; the Status line says why."""
    conditions = derive(State.ABNORMAL_EXIT, container="web-1", scheduled=True, previous=(), now=0.0)
    happened = [
        Happened(0.0, EventKind.NORMAL, EventCode.SCHEDULED, {"job": "web-1", "node": "local"}),
        Happened(5.0, EventKind.WARNING, EventCode.OOM_KILLED, {}),
    ]
    because: tuple[EventCode, dict[str, object]] = (EventCode.OOM_KILLED, {})
    text = render(State.ABNORMAL_EXIT, conditions, happened, container="web-1", because=because, language=language)
    assert text == (GOLDEN / f"out-of-memory-{language}.txt").read_text(encoding="utf-8")


def test_a_sentence_never_breaks_the_layout() -> None:
    """An engine's message of several lines stays one line of the text."""
    event = engine("2021-06-04 14:20:19 +0800 CST    Normal    X    a\n  Ready\nb")
    text = render(State.QUEUED, (), [event], container="c", because=None, language="en")
    assert text.splitlines()[-1].endswith("X    a Ready b")


def test_every_state_has_a_status_word() -> None:
    """The first line never lacks its word."""
    assert set(STATUS_WORDS) == set(State)
