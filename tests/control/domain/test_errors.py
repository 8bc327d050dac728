"""Problems speak both languages, leak nothing, and have a sentence each."""

from __future__ import annotations

import string

import pytest

from control.domain import errors
from control.domain.errors import CATALOG, Code, FieldCode, Problem, fault, invalid, problem


@pytest.mark.parametrize("code", Code)
def test_every_problem_has_status_and_sentences(code: Code) -> None:
    """The enum and the catalog hold the same codes; each has a title and a detail in both languages."""
    entry = CATALOG[code]
    assert 400 <= entry.status < 600
    for sentence in (entry.title, entry.detail):
        assert sentence.zh
        assert sentence.en
        assert _fields(sentence.zh) == _fields(sentence.en)


@pytest.mark.parametrize("code", FieldCode)
def test_every_field_fault_has_a_sentence(code: FieldCode) -> None:
    """A field's fault is said in both languages, with the same parameters."""
    sentence = errors._FIELDS[code]
    assert sentence.zh
    assert _fields(sentence.zh) == _fields(sentence.en)
    assert fault("name", code).say("zh")


def test_problem_renders_as_problem_json() -> None:
    """RFC 9457 members, our code, and the field's sentence in the reader's language."""
    body = invalid(fault("entries[0].name", FieldCode.TOO_LONG, maximum=63)).problem.render("en")
    assert body["type"] == "about:blank"
    assert body["status"] == 422
    assert body["code"] == "invalid_input"
    assert body["fields"] == {"entries[0].name": "At most 63 characters."}
    assert "fields" not in Problem(Code.INTERNAL, {"incident": "7"}).render("zh")


def test_retry_time_is_told_to_programs() -> None:
    """Who has to wait finds the seconds as a number."""
    assert Problem(Code.RATE_LIMITED, {"retry_after_s": 7}).render("en")["retry_after_s"] == 7


def test_problem_error_says_what_happened_in_the_log() -> None:
    """The exception's own text is the English sentence."""
    assert str(problem(Code.USER_EXISTS, name="alice")) == "user_exists: The user name alice is taken."


def test_long_and_missing_parameters_do_not_break_a_sentence() -> None:
    """A 2 MB name is cut; a forgotten parameter shows as an ellipsis."""
    assert len(Problem(Code.USER_EXISTS, {"name": "x" * 2_000_000}).detail("zh")) < 300
    assert "…" in Problem(Code.USER_EXISTS).detail("en")


def _fields(template: str) -> set[str | None]:
    return {name for _, name, _, _ in string.Formatter().parse(template) if name is not None}
