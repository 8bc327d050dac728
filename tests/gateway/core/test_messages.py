"""HTTP/1.1 messages taken apart, however their bytes come."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.http1 import Malformed, RequestHead, ResponseHead
from gateway.core.messages import End, Unframer, requests, responses

CHUNKED = (
    b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nGrpc-Status: 0\r\nX-Sum: 5\r\n\r\n"
)


def told(unframer: Unframer, *pieces: bytes) -> tuple[list[int], bytes, list[End]]:
    """The statuses (0 for a request), the content, the ends."""
    heads, content, ends = [], b"", []
    for piece in pieces:
        for part in unframer.feed(piece):
            match part:
                case ResponseHead():
                    heads.append(part.status)
                case RequestHead():
                    heads.append(0)
                case End():
                    ends.append(part)
                case _:
                    content += part
    return heads, content, ends


@given(st.lists(st.integers(0, len(CHUNKED)), max_size=6))
def test_a_response_comes_apart_the_same_however_it_is_cut(cuts: list[int]) -> None:
    """Interim head, head, content, trailers."""
    edges = [0, *sorted(cuts), len(CHUNKED)]
    pieces = [CHUNKED[start:end] for start, end in pairwise(edges)]
    heads, content, ends = told(responses(b"GET"), *pieces)
    assert (heads, content) == ([103, 200], b"abcde")
    assert [(field.name, field.value) for field in ends[0].trailers] == [(b"grpc-status", b"0"), (b"x-sum", b"5")]


@pytest.mark.parametrize(
    ("method", "head"),
    [
        (b"GET", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
        (b"GET", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n"),
        (b"HEAD", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"),
    ],
)
def test_a_head_without_content_is_complete_at_once(method: bytes, head: bytes) -> None:
    """So that the frame of the head can say so."""
    unframer = responses(method)
    complete = [unframer.is_complete for part in unframer.feed(head) if isinstance(part, ResponseHead)]
    assert complete == [True]
    assert not unframer.is_complete


def test_a_body_that_only_the_connection_ends() -> None:
    """No end is told; whoever closes in order completes it."""
    unframer = responses(b"GET")
    assert not unframer.ends_with_connection
    assert told(unframer, b"HTTP/1.1 200 OK\r\n\r\nab", b"c") == ([200], b"abc", [])
    assert unframer.ends_with_connection and not unframer.is_complete


def test_after_a_switch_all_is_content() -> None:
    """From the byte after the head on."""
    unframer, seen = responses(b"GET"), b""
    for part in unframer.feed(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\nHTTP/1.1 frame"):
        if isinstance(part, ResponseHead):
            unframer.raw = True
        else:
            assert isinstance(part, bytes)
            seen += part
    assert told(unframer, b"more") == ([], b"more", [])
    assert seen == b"HTTP/1.1 frame" and unframer.ends_with_connection and not unframer.is_complete
    assert told(unframer, b"") == ([], b"", [])


def test_a_switch_with_nothing_behind_it() -> None:
    """Not even an empty piece of content is told."""
    unframer, parts = responses(b"GET"), []
    for part in unframer.feed(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"):
        parts.append(part)
        unframer.raw = True
    assert len(parts) == 1


def test_requests_follow_one_another() -> None:
    """As on a connection that is kept."""
    first = b"POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc"
    second = b"GET /b HTTP/1.1\r\nHost: h\r\n\r\n"
    heads, content, ends = told(requests(), first + second[:5], second[5:])
    assert (heads, content, len(ends)) == ([0, 0], b"abc", 2)


def test_framing_in_doubt_is_malformed() -> None:
    """As everywhere."""
    with pytest.raises(Malformed):
        told(responses(b"GET"), b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")
