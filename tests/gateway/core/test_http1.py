"""Heads and bodies of HTTP/1.1: what passes unchanged, and everything that must not pass."""

from __future__ import annotations

import pytest

from gateway.core import http1
from gateway.core.http1 import (
    Malformed,
    RequestHead,
    empty_lines,
    head_end,
    keeps_alive,
    parse_request,
    parse_response,
    split_host,
    tokens,
    upgrade_of,
)


def request(*lines: str, start: str = "GET / HTTP/1.1", host: str | None = "a.example") -> bytes:
    """A request's head of these field lines, with a Host unless told otherwise."""
    fields = ([f"Host: {host}"] if host is not None else []) + list(lines)
    return "\r\n".join([start, *fields, "", ""]).encode("latin-1")


def response(*lines: str, start: str = "HTTP/1.1 200 OK") -> bytes:
    """A response's head of these field lines."""
    return "\r\n".join([start, *lines, "", ""]).encode("latin-1")


def parsed(*lines: str, **more: str) -> RequestHead:
    """The same request, parsed."""
    return parse_request(request(*lines, **more))


def status_of(head: bytes) -> int:
    """The status with which a request's head is refused."""
    with pytest.raises(Malformed) as caught:
        parse_request(head)
    return caught.value.status


# Where a head ends.


def test_head_ends_at_the_blank_line() -> None:
    """The end is found wherever the search was left off."""
    head = request() + b"body"
    assert {head_end(head, start) for start in range(len(head) - 4)} == {len(head) - 4}
    assert head_end(request()[:-1]) == -1


def test_head_in_single_bytes() -> None:
    """A head that comes byte by byte ends at its last one."""
    head, buffer = request("A: b"), bytearray()
    for byte in head[:-1]:
        before = len(buffer)
        buffer.append(byte)
        assert head_end(buffer, before) == -1
    assert head_end(buffer + head[-1:], len(buffer)) == len(head)


@pytest.mark.parametrize("head", [b"GET / HTTP/1.1\nHost: a\n\n", b"GET / HTTP/1.1\r\nA: b\n\r\n", b"\n"])
def test_bare_lf_is_refused_at_once(head: bytes) -> None:
    """A lenient reader would see another head."""
    with pytest.raises(Malformed):
        head_end(head)


def test_large_heads_are_431() -> None:
    """64 KiB pass, one byte more does not, complete or not."""
    fitting = request("A: " + "b" * (http1.HEAD_LIMIT - len(request("A: "))))
    assert len(fitting) == http1.HEAD_LIMIT
    assert head_end(fitting) == http1.HEAD_LIMIT
    for head in (fitting[:-4] + b"b\r\n\r\n", b"a" * (http1.HEAD_LIMIT + 1)):
        with pytest.raises(Malformed) as caught:
            head_end(head)
        assert caught.value.status == 431


def test_empty_lines_before_a_head() -> None:
    """They are counted, and only whole ones."""
    assert empty_lines(b"\r\n\r\nGET") == 4
    assert empty_lines(b"\rGET") == 0


# Requests.


@pytest.mark.parametrize(
    "target", ["/", "/a%2Fb", "/%41", "/a%27", "/a//b/../c", "/a%25b", "/a;b", "/a%zz", "/?a=1;b=2&c=%2B+&&=", "/\xe4"]
)
def test_targets_stay_byte_for_byte(target: str) -> None:
    """No decoding, no normalising (B49, B50)."""
    assert parsed(start=f"GET {target} HTTP/1.1").target == target.encode("latin-1")


def test_fields_keep_their_lines() -> None:
    """Each line as it came; names compare in lower case and repeated values join."""
    head = parsed("X-A:  1\t", "x-a: 2", "Empty:")
    assert [field.line for field in head.fields.lines] == [b"Host: a.example", b"X-A:  1\t", b"x-a: 2", b"Empty:"]
    assert head.value(b"x-a") == b"1, 2"
    assert head.value(b"empty") == b""
    assert head.value(b"none") is None


@pytest.mark.parametrize(
    ("start", "host", "target"),
    [
        ("GET http://A.example/p?q HTTP/1.1", "a.example", b"/p?q"),
        ("GET HTTPS://a.example:8443?q HTTP/1.1", "a.example:8443", b"/?q"),
        ("GET http://a.example HTTP/1.1", "a.example", b"/"),
        ("OPTIONS http://a.example HTTP/1.1", "a.example", b"*"),
        ("OPTIONS * HTTP/1.1", "a.example", b"*"),
    ],
)
def test_absolute_form_becomes_origin_form(start: str, host: str, target: bytes) -> None:
    """When it names the Host it came with (RFC 9112, 3.2.2)."""
    assert parsed(start=start, host=host).target == target


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (request(start="GET / HTTP/2.0"), 505),
        (request(start="GET / HTTP/1.2"), 505),
        (request(start="PRI * HTTP/2.0", host=None), 505),
        (request(start="GET /"), 400),
        (request(start="GET  / HTTP/1.1"), 400),
        (request(start="GET / HTTP/1.1 "), 400),
        (request(start="GET /\x01 HTTP/1.1"), 400),
        (request("Long: " + "b" * 5000 + "\x00"), 400),
        (request(start="G(T / HTTP/1.1"), 400),
        (request(start="GET /a b HTTP/1.1"), 400),
        (request(start="GET a HTTP/1.1"), 400),
        (request(start="GET * HTTP/1.1"), 400),
        (request(start="GET /#f HTTP/1.1"), 400),
        (request(start="GET http://evil/p HTTP/1.1"), 400),
        (request(start="GET http://u@a.example/p HTTP/1.1"), 400),
        (request(start="CONNECT a.example:443 HTTP/1.1"), 501),
        (request(host=None), 400),
        (request(host=None, start="GET / HTTP/1.0"), 400),
        (request(host=""), 400),
        (request(host="a, b"), 400),
        (request(host="a:b"), 400),
        (request("Host: b"), 400),
        (request("host: a.example"), 400),
        (request("A : b"), 400),
        (request(" folded: b"), 400),
        (request("A: b", "\tfolded"), 400),
        (request("no colon"), 400),
        (request(": no name"), 400),
        (request("A: \x00"), 400),
        (request("A: a\rb"), 400),
        (request("A: \x7f"), 400),
        (request("Content-Length: 46", "Content-Length: 0"), 400),
        (request("Content-Length: 5", "Content-Length: 5"), 400),
        (request("Content-Length: 5, 5"), 400),
        (request("Content-Length: +5"), 400),
        (request("Content-Length: -5"), 400),
        (request("Content-Length: 0x5"), 400),
        (request("Content-Length: 1_0"), 400),
        (request("Content-Length:"), 400),
        (request("Content-Length: " + "9" * 19), 400),
        (request("Transfer-Encoding: chunked", "Content-Length: 5"), 400),
        (request("Transfer-Encoding: chunked", start="GET / HTTP/1.0"), 400),
        (request("Transfer-Encoding: chunked", "Transfer-Encoding: chunked"), 400),
        (request("Transfer-Encoding: identity"), 501),
        (request("Transfer-Encoding: chunked, identity"), 501),
        (request("Transfer-Encoding: identity, chunked"), 501),
        (request("Transfer-Encoding: xchunked"), 501),
        (request("Transfer-Encoding: \x0bchunked"), 400),
        (request("Transfer-Encoding:"), 501),
    ],
)
def test_requests_in_doubt_are_refused(head: bytes, status: int) -> None:
    """Whatever two parsers could read in two ways (B35, B36, B43, B65)."""
    assert status_of(head) == status


@pytest.mark.parametrize(
    ("host", "name", "port"),
    [("A.Example.:88", "a.example", 88), ("a", "a", None), ("[::1]:80", "[::1]", 80), ("a:", None, None)],
)
def test_hosts_are_split(host: str, name: str | None, port: int | None) -> None:
    """Name in lower case without its final dot, and port."""
    if name is None:
        assert status_of(request(host=host)) == 400
    else:
        assert split_host(parsed(host=host).host) == (name, port)


def test_tokens_of_a_list() -> None:
    """Members in lower case, empty ones left out (RFC 9110, 5.6.1)."""
    assert tokens(b"Keep-Alive,, \tUpgrade ") == (b"keep-alive", b"upgrade")
    assert tokens(None) == ()


@pytest.mark.parametrize(
    ("head", "kept"),
    [
        (parsed(), True),
        (parsed("Connection: keep-alive, Close"), False),
        (parsed("Connection: notclose"), True),
        (parsed("Connection: keep-alive", start="GET / HTTP/1.0"), False),
    ],
)
def test_persistence(head: RequestHead, kept: bool) -> None:
    """HTTP/1.1 stays unless it says close, HTTP/1.0 never does."""
    assert keeps_alive(head) is kept


@pytest.mark.parametrize(
    ("lines", "protocol"),
    [
        (["Connection: keep-alive, Upgrade", "Upgrade: WebSocket"], b"WebSocket"),
        (["Connection: upgrade", "Upgrade: foo/2"], b"foo/2"),
        (["Connection: notupgrade", "Upgrade: websocket"], None),
        (["Connection: upgrade"], None),
        (["Upgrade: websocket"], None),
        (["Connection: upgrade", "Upgrade: h2c"], None),
        (["Connection: upgrade", "Upgrade: HTTP/2.0"], None),
        (["Connection: upgrade", "Upgrade: TLS/1.2"], None),
        (["Connection: upgrade", "Upgrade: websocket, h2c"], None),
        (["Connection: upgrade", "Upgrade: websocket", "Content-Length: 3"], None),
        (["Connection: upgrade", "Upgrade: websocket", "Content-Length: 0"], b"websocket"),
    ],
)
def test_upgrades(lines: list[str], protocol: bytes | None) -> None:
    """Only whole tokens ask for one (B14, B15), and HTTP itself is not tunnelled (B17)."""
    assert upgrade_of(parsed(*lines)) == protocol


def test_http_1_0_does_not_upgrade() -> None:
    """RFC 9110, 7.8."""
    assert upgrade_of(parsed("Connection: upgrade", "Upgrade: websocket", start="GET / HTTP/1.0")) is None


# Responses.


@pytest.mark.parametrize(
    ("start", "status", "reason"),
    [
        ("HTTP/1.1 200 OK", 200, b"OK"),
        ("HTTP/1.1 200 ", 200, b""),
        ("HTTP/1.0 404", 404, b""),
        ("HTTP/1.1 599 \xe4 b", 599, b"\xe4 b"),
    ],
)
def test_status_lines(start: str, status: int, reason: bytes) -> None:
    """With and without a reason."""
    head = parse_response(response(start=start))
    assert (head.status, head.reason) == (status, reason)
    assert head.value(b"none") is None


@pytest.mark.parametrize(
    "head",
    [
        response(start="HTTP/2 200 OK"),
        response(start="HTTP/1.1 20 OK"),
        response(start="HTTP/1.1 0200 OK"),
        response(start="ICY 200 OK"),
        response("Content-Length: 1", "Content-Length: 1"),
        response("Content-Length: x"),
        response("Transfer-Encoding: gzip, chunked"),
        response("Transfer-Encoding: chunked", "Content-Length: 3"),
        response("Transfer-Encoding: chunked", start="HTTP/1.0 200 OK"),
        response("A: \x01"),
        response("A : b"),
    ],
)
def test_responses_in_doubt_are_bad_gateways(head: bytes) -> None:
    """Duplicate or invalid framing upstream is 502, never passed on (B31)."""
    with pytest.raises(Malformed) as caught:
        parse_response(head)
    assert caught.value.status == 502


@pytest.mark.parametrize(
    ("line", "target"),
    [
        (b"GET /a%2Fb?x=1 HTTP/1.1", b"/a%2Fb?x=1"),
        (b"HEAD / HTTP/1.1", None),
        (b"GET / HTTP/1.0", None),
        (b"GET http://h/ HTTP/1.1", None),
        (b"GET /a#b HTTP/1.1", None),
        (b"GET /a b HTTP/1.1", None),
        (b"GET /\x00 HTTP/1.1", None),
        (b"", None),
    ],
)
def test_plain_first_lines(line: bytes, target: bytes | None) -> None:
    """Only a GET in origin-form is plain; nothing that the parser refuses is."""
    assert http1.plain_get(line) == target
