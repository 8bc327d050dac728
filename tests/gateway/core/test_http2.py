"""Fields of HTTP/2 as HTTP/1.1 heads and back."""

from __future__ import annotations

from http import HTTPStatus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core import http1, http2
from gateway.core.http1 import Field, Malformed

NONCE = bytes(range(16))
GET = [(b":method", b"GET"), (b":scheme", b"https"), (b":authority", b"h:8443"), (b":path", b"/a%2Fb?c=1;d")]
POST = [(b":method", b"POST"), *GET[1:]]
SOCKET = [(b":method", b"CONNECT"), (b":protocol", b"websocket"), *GET[1:]]


def opening(headers: list[http2.Header], *, ended: bool = True) -> http2.Opening:
    return http2.request_opening(headers, ended=ended, nonce=NONCE)


def lines(made: http2.Opening) -> list[bytes]:
    assert made.head.endswith(b"\r\n\r\n")
    said = made.head[:-4].split(b"\r\n")
    return [line for line in said if line != b"Connection: close"]


def test_a_request_keeps_target_and_authority_byte_for_byte() -> None:
    """Nothing of a path is decoded or tidied up."""
    made = opening([*GET, (b"accept", b"*/*"), (b"x-a_b", b"1")])
    assert lines(made) == [b"GET /a%2Fb?c=1;d HTTP/1.1", b"Host: h:8443", b"Accept: */*", b"X-A_b: 1"]
    assert (made.chunked, made.method, made.accept) == (False, b"GET", None)


def test_names_are_spelt_as_http1_programs_do() -> None:
    """There are apps that look for one spelling (B14)."""
    fields = [(b"sec-websocket-key", b"k"), (b"dnt", b"1"), (b"te", b"trailers"), (b"x-starlight-token", b"t")]
    spelt = [line.partition(b":")[0] for line in lines(opening(GET + fields))[2:]]
    assert spelt == [b"Sec-WebSocket-Key", b"DNT", b"TE", b"X-Starlight-Token"]


def test_crumbs_of_cookies_are_put_together() -> None:
    """In their order, as one line (RFC 9113, 8.2.3)."""
    assert b"Cookie: a=1; b=2" in lines(opening([*GET, (b"cookie", b"a=1"), (b"x", b""), (b"cookie", b"b=2")]))


def test_content_of_unknown_length_goes_in_chunks() -> None:
    """Of known length as it is; without any where there might be some, that is said."""
    assert opening(POST, ended=False).chunked
    assert lines(opening(POST, ended=False))[-1] == b"Transfer-Encoding: chunked"
    known = opening([*POST, (b"content-length", b"3")], ended=False)
    assert not known.chunked and lines(known)[-1] == b"Content-Length: 3"
    assert lines(opening(POST))[-1] == b"Content-Length: 0"
    assert lines(opening([*POST, (b"content-length", b"0")]))[2:] == [b"Content-Length: 0"]


def test_host_stands_in_for_authority() -> None:
    """Where a client sends one alone (RFC 9113, 8.3.1); the same twice is one."""
    without = [*GET[:2], GET[3]]
    assert lines(opening([*without, (b"host", b"h:1")]))[1] == b"Host: h:1"
    assert lines(opening([*GET, (b"host", b"H:8443")]))[1:] == [b"Host: h:8443"]


@pytest.mark.parametrize(
    "headers",
    [
        [],
        GET[1:],
        [GET[0], *GET[2:]],
        [*GET[:2], GET[3]],
        GET[:3],
        [*GET, GET[0]],
        [(b"a", b"b"), *GET],
        [*GET, (b":status", b"200")],
        [*GET, (b":protocol", b"websocket")],
        [GET[0], (b":scheme", b"ftp"), *GET[2:]],
        [(b":method", b"GET /x HTTP/1.1\r\nA"), *GET[1:]],
        [(b":method", b"G T"), *GET[1:]],
        [*GET[:3], (b":path", b"")],
        [*GET[:3], (b":path", b"http://other/")],
        [*GET[:3], (b":path", b"/a b")],
        [*GET[:3], (b":path", b"/a\r\nX: y")],
        [*GET, (b"host", b"other")],
        [*GET[:2], GET[3], (b"host", b"a"), (b"host", b"b")],
        [*GET, (b"A", b"b")],
        [*GET, (b"a b", b"c")],
        [*GET, (b"", b"c")],
        [*GET, (b"a", b"b\r\nX: y")],
        [*GET, (b"a", b"b\x00")],
        [*GET, (b"a", b"b\n")],
        [*GET, (b"a", b" b")],
        [*GET, (b"a", b"b\t")],
        [*GET, (b"connection", b"close")],
        [*GET, (b"transfer-encoding", b"chunked")],
        [*GET, (b"upgrade", b"websocket")],
        [*GET, (b"keep-alive", b"1")],
        [*GET, (b"proxy-connection", b"1")],
        [*GET, (b"te", b"gzip")],
        [*POST, (b"content-length", b"3")],
        [*SOCKET, (b"content-length", b"3")],
    ],
)
def test_a_request_that_could_become_another_is_malformed(headers: list[http2.Header]) -> None:
    """H2.CL, H2.TE, line ends, pseudo-header fields out of place, two authorities."""
    with pytest.raises(Malformed) as caught:
        opening(headers)
    assert caught.value.status == HTTPStatus.BAD_REQUEST


def test_a_head_over_the_limit_is_told_so() -> None:
    """431, as in HTTP/1.1."""
    with pytest.raises(Malformed) as caught:
        opening([*GET, *[(b"x-%d" % number, b"v" * 1000) for number in range(66)]])
    assert caught.value.status == HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE


def test_a_websocket_is_asked_for_as_http1_does() -> None:
    """With a key of ours, whose answer is known (RFC 8441, 5; RFC 6455, 1.3)."""
    made = opening([*SOCKET, (b"sec-websocket-version", b"13"), (b"sec-websocket-key", b"theirs")], ended=False)
    assert lines(made) == [
        b"GET /a%2Fb?c=1;d HTTP/1.1",
        b"Host: h:8443",
        b"Sec-WebSocket-Version: 13",
        b"Connection: Upgrade",
        b"Upgrade: websocket",
        b"Sec-WebSocket-Key: AAECAwQFBgcICQoLDA0ODw==",
    ]
    assert made.accept == b"Bz3qJYTGdOe8gUSpLosEdiLKDrk="
    assert http1.upgrade_of(http1.parse_request(made.head)) == b"websocket"
    assert not made.chunked


@pytest.mark.parametrize(
    "headers",
    [[(b":method", b"CONNECT"), *GET[1:]], [(b":method", b"CONNECT"), (b":protocol", b"connect-udp"), *GET[1:]]],
)
def test_other_connects_are_not_done(headers: list[http2.Header]) -> None:
    """We are no forward proxy: 501."""
    with pytest.raises(Malformed) as caught:
        opening(headers, ended=False)
    assert caught.value.status == HTTPStatus.NOT_IMPLEMENTED


def test_a_websocket_that_is_over_is_malformed() -> None:
    """There is nothing to open."""
    with pytest.raises(Malformed):
        opening(SOCKET, ended=True)


HEADER = st.tuples(st.binary(max_size=12), st.binary(max_size=12))


@given(st.lists(HEADER, max_size=4), st.booleans(), st.sampled_from([GET, POST, SOCKET]))
def test_whatever_passes_is_one_request_for_the_strict_parser_too(
    more: list[http2.Header], ended: bool, first: list[http2.Header]
) -> None:
    """No field of HTTP/2 makes a second line, a second head or another target."""
    try:
        made = opening([*first, *more], ended=ended)
        head = http1.parse_request(made.head)
    except Malformed:
        return
    assert http1.head_end(made.head) == len(made.head)
    assert head.target == b"/a%2Fb?c=1;d" and head.host == b"h:8443"


@given(st.lists(HEADER, max_size=4), st.booleans())
def test_whatever_an_app_says_is_one_response_for_the_strict_parser_too(more: list[http2.Header], ended: bool) -> None:
    """As for requests."""
    try:
        made = http2.response_opening([(b":status", b"200"), *more], ended=ended, method=b"GET")
        head = http1.parse_response(made.head)
    except Malformed:
        return
    assert http1.head_end(made.head) == len(made.head)
    assert head.status == 200


@pytest.mark.parametrize(
    ("headers", "ended", "method", "said"),
    [
        ([], False, b"GET", [b"Transfer-Encoding: chunked"]),
        ([], True, b"GET", [b"Content-Length: 0"]),
        ([(b"content-length", b"3")], False, b"GET", [b"Content-Length: 3"]),
        ([], True, b"HEAD", []),
        ([(b"content-length", b"3")], True, b"HEAD", [b"Content-Length: 3"]),
    ],
)
def test_a_response_of_an_app(headers: list[http2.Header], ended: bool, method: bytes, said: list[bytes]) -> None:
    """Framed so that its end is known in HTTP/1.1 as well."""
    made = http2.response_opening([(b":status", b"200"), (b"a", b"b"), *headers], ended=ended, method=method)
    assert lines(made) == [b"HTTP/1.1 200 ", b"A: b", *said]
    assert made.chunked == (said == [b"Transfer-Encoding: chunked"])


@pytest.mark.parametrize("status", [b"103", b"204", b"304"])
def test_a_response_without_content(status: bytes) -> None:
    """Gets no framing."""
    made = http2.response_opening([(b":status", status)], ended=status != b"103", method=b"GET")
    assert lines(made) == [b"HTTP/1.1 " + status + b" "]


@pytest.mark.parametrize("headers", [[], [(b":status", b"20")], [(b":status", b"101")], [(b":path", b"/")]])
def test_a_response_that_is_none(headers: list[http2.Header]) -> None:
    """Or says what HTTP/2 does not have."""
    with pytest.raises(Malformed):
        http2.response_opening(headers, ended=True, method=b"GET")


def test_trailers_there_and_back() -> None:
    """Lines for HTTP/1.1, fields for HTTP/2."""
    assert http2.trailer_lines([(b"grpc-status", b"0"), (b"a", b"b")]) == b"grpc-status: 0\r\na: b\r\n"
    with pytest.raises(Malformed):
        http2.trailer_lines([(b":status", b"0")])
    fields = [Field(b"grpc-status", b"0", b""), Field(b"connection", b"x", b"")]
    assert http2.trailer_headers(fields) == [(b"grpc-status", b"0")]


def test_a_request_to_an_app() -> None:
    """Its fields without those of one connection, and trailers are welcome."""
    raw = b"POST /p HTTP/1.1\r\nHost: h:1\r\nContent-Type: application/grpc\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert http2.request_headers(http1.parse_request(raw)) == [
        (b":method", b"POST"),
        (b":scheme", b"http"),
        (b":authority", b"h:1"),
        (b":path", b"/p"),
        (b"content-type", b"application/grpc"),
        (b"te", b"trailers"),
    ]


def test_a_response_to_a_person() -> None:
    """Several cookies stay several."""
    raw = b"HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nConnection: close\r\nX: y\r\n\r\n"
    said = http2.response_headers(http1.parse_response(raw))
    assert said == [(b":status", b"200"), (b"set-cookie", b"a=1"), (b"set-cookie", b"b=2"), (b"x", b"y")]
