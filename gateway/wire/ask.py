"""The few questions that only control can answer. Silence is no.

How the question travels is handed in (the feed's `ask`), so that this room does not know the feed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from gateway.contract.feed import Question
from gateway.core.refusals import Code, Refusal

Asking = Callable[[Question, dict[str, Any]], Awaitable[dict[str, Any] | None]]
"""Sends a question and its arguments; the answer's fields with `ok`, or None when there was none in time."""

_CODES: Final = {code.value: code for code in Code} | {"too_many_attempts": Code.RATE_LIMITED}
"""Control's words for a no, where they mean something here."""


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A one-time code was good: whose session it was made in."""

    user_id: int
    session_id: str


class Ask:
    """Questions to control."""

    def __init__(self, asking: Asking) -> None:
        """`asking` is the feed's."""
        self._asking = asking

    async def password(self, user: str, password: str, address: str) -> int | Refusal:
        """The user's id when the password is right; `address` is where the person comes from."""
        answer = await self._asking(Question.PASSWORD, {"user": user, "password": password, "address": address})
        if answer is None:
            return Refusal(Code.CONTROL_AWAY)
        user_id = answer.get("user_id")
        if answer.get("ok") is True and isinstance(user_id, int):
            return user_id
        return Refusal(_code(answer, Code.WRONG_PASSWORD))

    async def exchange(self, entry_id: int, code: str, challenge: str) -> SignedIn | Refusal:
        """Whose session the one-time code of a browser's hop came from; control accepts each code once."""
        arguments = {"entry_id": entry_id, "code": code, "challenge": challenge}
        answer = await self._asking(Question.EXCHANGE, arguments)
        if answer is None:
            return Refusal(Code.CONTROL_AWAY)
        user_id, session_id = answer.get("user_id"), answer.get("session_id")
        if answer.get("ok") is True and isinstance(user_id, int) and isinstance(session_id, str):
            return SignedIn(user_id, session_id)
        return Refusal(_code(answer, Code.SIGN_IN))


def _code(answer: dict[str, Any], default: Code) -> Code:
    """Control's code where we know it; the usual no otherwise."""
    return _CODES.get(str(answer.get("code")), default)
