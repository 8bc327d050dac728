"""Bodies: where they end, however they are cut, and every other spelling of chunks."""

from __future__ import annotations

import pytest

from gateway.core.bodies import (
    CHUNK_LINE_LIMIT,
    TRAILER_LIMIT,
    Chunked,
    Length,
    UntilClose,
    request_body,
    response_body,
)
from gateway.core.http1 import Malformed, parse_response
from tests.gateway.core.test_http1 import parsed, response


@pytest.mark.parametrize(
    ("head", "method", "kind", "done"),
    [
        (response("Content-Length: 3"), b"GET", Length, False),
        (response("Content-Length: 0"), b"GET", Length, True),
        (response("Content-Length: 3"), b"HEAD", Length, True),
        (response("Content-Length: 3", start="HTTP/1.1 304 x"), b"GET", Length, True),
        (response("Transfer-Encoding: chunked", start="HTTP/1.1 204 x"), b"GET", Length, True),
        (response(start="HTTP/1.1 103 x"), b"GET", Length, True),
        (response("Transfer-Encoding: Chunked"), b"GET", Chunked, False),
        (response(), b"GET", UntilClose, False),
    ],
)
def test_response_bodies(head: bytes, method: bytes, kind: type, done: bool) -> None:
    """The rules of RFC 9112, 6.3 in their order (B28)."""
    body = response_body(parse_response(head), method)
    assert isinstance(body, kind)
    assert body.done is done


def test_length_takes_its_own_bytes_only() -> None:
    """What follows is the next message's."""
    body = request_body(parsed("Content-Length: 5"))
    assert body.feed(b"abc") == 3
    assert not body.done
    assert body.feed(b"defgh") == 2
    assert body.done
    assert body.payload(b"de") == b"de"
    assert request_body(parsed()).done


def test_until_close_takes_everything() -> None:
    """Only the end of the connection ends it."""
    body = UntilClose()
    assert body.feed(b"abc") == 3
    assert body.payload(b"abc") == b"abc"
    assert body.ends_with_connection
    assert not body.done


WHOLE = b'3\r\nabc\r\n00A;ext="v"\r\n0123456789\r\n0\r\nX-Sum: 1\r\n\r\n'


@pytest.mark.parametrize("size", [1, 2, 7, len(WHOLE) + 3])
def test_chunked_body_in_pieces(size: int) -> None:
    """However it is cut, it ends at its end and gives the same content."""
    body, data = request_body(parsed("Transfer-Encoding: chunked")), WHOLE + b"GET"
    taken, content = 0, b""
    while not body.done:
        piece = data[taken : taken + size]
        count = body.feed(piece)
        content += body.payload(piece[:count])
        taken += count
    assert taken == len(WHOLE)
    assert content == b"abc0123456789"
    assert body.feed(b"GET") == 0


def feed_bytewise(body: Chunked, data: bytes) -> None:
    """Feeds one byte at a time."""
    for at in range(len(data)):
        body.feed(data[at : at + 1])


@pytest.mark.parametrize(
    "data",
    [
        b"\r\n",
        b"0x3\r\n",
        b"+3\r\n",
        b"1_0\r\n",
        b"-1\r\n",
        b" 3\r\n",
        b"3 \r\n",
        b"11111111111111111\r\n",
        b"1\na",
        b"1\r\nab",
        b"1\r\nab\r\n",
        b"1\r\na\n",
        b"1\r\na0\r\n",
        b"3;a\nb\r\n",
        b"3;a\rb\r\n",
        b"0\r\nA: b\n",
        b"0\r\nno colon\r\n",
        b"0\r\nA: \x00\r\n",
        b"0\r\nContent-Length: 3\r\n",
        b"0\r\nX_Forwarded_For: me\r\n",
        b"0\r\n folded\r\n",
        b"0\r\nA: " + b"b" * TRAILER_LIMIT + b"\r\n",
        b"0\r\n" + b"A: bbbbbbbb\r\n" * 2000,
        b"1;" + b"a" * CHUNK_LINE_LIMIT,
    ],
)
def test_other_spellings_of_chunks_are_refused(data: bytes) -> None:
    """In one piece and byte by byte (B38)."""
    with pytest.raises(Malformed):
        Chunked().feed(data)
    with pytest.raises(Malformed):
        feed_bytewise(Chunked(), data)


def test_many_small_chunks_are_followed_as_if_they_came_one_by_one() -> None:
    """Their content, what follows the body, and where a limit is passed."""
    said = b"".join(b"%x;n=%d\r\n%b\r\n" % (size, size, b"x" * size) for size in range(1, 200)) + b"0\r\n\r\nNEXT"
    at_once, one_by_one = Chunked(), Chunked()
    assert at_once.feed(said) == len(said) - 4 and at_once.done
    content = b""
    for byte in said[:-4]:
        assert one_by_one.feed(bytes([byte])) == 1
        content += one_by_one.payload(bytes([byte]))
    assert one_by_one.done and at_once.payload(said[:-4]) == content == b"x" * sum(range(200))
    for limit, over in ((len(content), False), (len(content) - 1, True)):
        limited = Chunked(limit)
        if over:
            with pytest.raises(Malformed):
                limited.feed(said)
        else:
            limited.feed(said)
        assert limited.over is over


def test_a_chunked_body_ends_where_it_holds_too_much() -> None:
    """Its content counts, not its framing; the sizes that are said count at once."""
    within = Chunked(6)
    assert within.feed(b"3\r\nabc\r\n3\r\nabc\r\n0\r\n\r\n") and within.done and not within.over
    beyond = Chunked(6)
    with pytest.raises(Malformed):
        beyond.feed(b"3\r\nabc\r\n4\r\n")
    assert beyond.over
