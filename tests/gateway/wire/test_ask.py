"""Questions to control: a yes needs the right shape, everything else is a no of the closed list."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.contract.feed import Question
from gateway.core.refusals import Code, Refusal
from gateway.wire.ask import Ask, SignedIn


class Control:
    """Answers every question the same; notes what was asked."""

    def __init__(self, answer: dict[str, Any] | None) -> None:
        self.answer = answer
        self.asked: list[tuple[Question, dict[str, Any]]] = []

    async def __call__(self, question: Question, arguments: dict[str, Any]) -> dict[str, Any] | None:
        self.asked.append((question, arguments))
        return self.answer


async def test_a_right_password_names_the_user() -> None:
    """Name, password and address are asked; the id comes back."""
    control = Control({"ok": True, "user_id": 3})
    assert await Ask(control).password("alice", "secret", "192.0.2.7") == 3
    assert control.asked == [(Question.PASSWORD, {"user": "alice", "password": "secret", "address": "192.0.2.7"})]


async def test_a_good_code_names_session_and_user() -> None:
    """Entry, code and challenge are asked; whose session it was comes back."""
    control = Control({"ok": True, "user_id": 3, "session_id": "s1", "grounds": []})
    assert await Ask(control).exchange(17, "code", "challenge") == SignedIn(3, "s1")
    assert control.asked == [(Question.EXCHANGE, {"entry_id": 17, "code": "code", "challenge": "challenge"})]


@pytest.mark.parametrize(
    ("answer", "password", "exchange"),
    [
        (None, Code.CONTROL_AWAY, Code.CONTROL_AWAY),
        ({"ok": False, "code": "rate_limited"}, Code.RATE_LIMITED, Code.RATE_LIMITED),
        ({"ok": False, "code": "too_many_attempts", "retry_after_s": 9}, Code.RATE_LIMITED, Code.RATE_LIMITED),
        ({"ok": False, "code": "user_disabled"}, Code.USER_DISABLED, Code.USER_DISABLED),
        ({"ok": False, "code": "unheard_of"}, Code.WRONG_PASSWORD, Code.SIGN_IN),
        ({"ok": False}, Code.WRONG_PASSWORD, Code.SIGN_IN),
        ({"user_id": 3, "session_id": "s1"}, Code.WRONG_PASSWORD, Code.SIGN_IN),
        ({"ok": True, "user_id": "3", "session_id": 1}, Code.WRONG_PASSWORD, Code.SIGN_IN),
    ],
)
async def test_anything_else_is_no(answer: dict[str, Any] | None, password: Code, exchange: Code) -> None:
    """Silence, a no with or without a code we know, a yes of the wrong shape: nobody comes in."""
    ask = Ask(Control(answer))
    assert await ask.password("alice", "secret", "a") == Refusal(password)
    assert await ask.exchange(17, "code", "challenge") == Refusal(exchange)
