"""Problems speak both languages and carry what programs need."""

from __future__ import annotations

from control.domain.errors import Code, FieldCode, Problem, fault, invalid, problem


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
