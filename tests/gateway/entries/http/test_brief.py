"""Which answers are one whole piece."""

from __future__ import annotations

import pytest

from gateway.entries.http.brief import LIMIT, Judge

WHOLE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"


def test_a_whole_answer_is_passed_on() -> None:
    """With what the gateway adds, and word for word the second time."""
    judge = Judge("app.example", closes=True)
    said = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi"
    assert [judge.answer(WHOLE), judge.answer(WHOLE[:-2] + b"yo")] == [said, said[:-2] + b"yo"]
    assert Judge("app.example", closes=False).answer(WHOLE) == WHOLE


@pytest.mark.parametrize("count", [0, 1, len(WHOLE) - 5, len(WHOLE) - 2, len(WHOLE) - 1])
def test_more_may_come(count: int) -> None:
    """Of a head that is not whole yet, and of a body."""
    assert Judge("app.example", closes=False).answer(WHOLE[:count]) == b""


@pytest.mark.parametrize(
    "data",
    [
        WHOLE + b"!",
        b"HTTP/1.1 200 OK\r\n\r\nhi",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi",
        b"HTTP/1.1 103 Early Hints\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\nhi",
        b"x" * LIMIT,
    ],
)
def test_any_other_is_for_a_conversation(data: bytes) -> None:
    """Longer than it says, of unknown length, the connection's last, interim, broken, without an end of its head."""
    judge = Judge("app.example", closes=False)
    assert judge.answer(data) is None
    assert judge.answer(WHOLE) == WHOLE


def test_a_cookie_of_ours_never_passes() -> None:
    """The head is guarded as on the long way."""
    told = b"HTTP/1.1 204 No Content\r\nSet-Cookie: starlight_entry=x\r\n\r\n"
    assert Judge("app.example", closes=False).answer(told) == b"HTTP/1.1 204 No Content\r\n\r\n"
