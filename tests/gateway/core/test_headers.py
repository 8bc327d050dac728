"""What travels on, what stays at the gateway, and what it says itself."""

from __future__ import annotations

import pytest

from gateway.core.headers import (
    Origin,
    cookie_names,
    cookies_named,
    is_foreign_origin,
    request_head,
    response_head,
)
from gateway.core.http1 import parse_request, parse_response
from tests.gateway.core.test_http1 import parsed, request, response

ORIGIN = Origin("192.0.2.7", "https")
FORWARDING = (
    b'Forwarded: for=192.0.2.7;host="a.example";proto=https\r\nX-Forwarded-For: 192.0.2.7\r\n'
    b"X-Forwarded-Host: a.example\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Port: 443\r\n\r\n"
)


def forwarded(*lines: str, **more: object) -> list[str]:
    """The field lines that an app gets of a request, ours left out."""
    head = request_head(parse_request(request(*lines)), ORIGIN, **more)  # type: ignore[arg-type] # as given
    assert head.endswith(FORWARDING)
    return head.removesuffix(FORWARDING).decode("latin-1").split("\r\n")[2:-1]


def answered(*lines: str, start: str = "HTTP/1.1 200 OK", **more: object) -> list[str]:
    """The field lines that a person gets of a response."""
    settings: dict[str, object] = {"host": "a.example", "closes": False, **more}
    head = response_head(parse_response(response(*lines, start=start)), **settings)  # type: ignore[arg-type] # as given
    return head.decode("latin-1").split("\r\n")[1:-2]


def test_request_travels_byte_for_byte() -> None:
    """Order, case and blanks of lines that are nobody's business stay."""
    lines = ["X-Odd:  a \t", "authorization: Bearer x", "Accept: */*", "Accept: a"]
    assert forwarded(*lines) == lines


def test_request_line_and_host_are_verbatim() -> None:
    """The version is our own."""
    head = request_head(parsed(start="PATCH /a%2F HTTP/1.0", host="A.example:8443"), ORIGIN)
    assert head.startswith(b"PATCH /a%2F HTTP/1.1\r\nHost: A.example:8443\r\n")
    assert b"X-Forwarded-Port: 8443\r\n" in head


def test_ports_and_addresses_in_forwarding() -> None:
    """An IPv6 address is quoted in brackets (RFC 7239, 6), plain http is port 80."""
    head = request_head(parsed(), Origin("2001:db8::1", "http"))
    assert b'Forwarded: for="[2001:db8::1]";host="a.example";proto=http\r\n' in head
    assert b"X-Forwarded-Port: 80\r\n" in head


@pytest.mark.parametrize(
    "line",
    [
        "Forwarded: for=1",
        "X-Forwarded-For: 1.2.3.4",
        "X_Forwarded_For: 1.2.3.4",
        "x-forwarded_user: admin",
        "X-Forwarded-Uri: /",
        "X-Real-IP: 1",
        "X-Starlight-Token: t",
        "X_Starlight_Token: t",
        "Keep-Alive: 5",
        "Proxy-Connection: x",
        "Proxy-Authorization: Basic x",
        "HTTP2-Settings: x",
        "Upgrade: h2c",
        "TE: gzip",
        "Connection: close",
    ],
)
def test_claims_and_hop_by_hop_stay_here(line: str) -> None:
    """Also in the spelling that CGI-like apps read as the same name (B42)."""
    assert forwarded(line) == []


def test_connection_names_fields_to_drop() -> None:
    """But never those that make the message what it is."""
    kept = ["Content-Length: 3", "Cookie: a=b"]
    assert forwarded("Connection: X-Hop, host, content-length, close", "X-Hop: 1", *kept) == kept
    framed = request_head(parsed("Connection: transfer-encoding", "Transfer-Encoding: chunked"), ORIGIN)
    assert b"\r\nTransfer-Encoding: chunked\r\n" in framed


def test_te_trailers_and_upgrade_are_said_anew() -> None:
    """Both are hop-by-hop and ours to say."""
    assert forwarded("TE: gzip, trailers") == ["TE: trailers"]
    asked = forwarded("Connection: Upgrade", "Upgrade: websocket", upgrade=b"websocket")
    assert asked == ["Connection: Upgrade", "Upgrade: websocket"]


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("a=1; b=2;c =3", ["Cookie: a=1; b=2;c =3"]),
        ("starlight_entry=x", []),
        ("a=1; starlight_entry=x; b=2", ["Cookie: a=1; b=2"]),
        ('starlight_entry=x; a=%20"q"', ['Cookie: a=%20"q"']),
        ("a=1;starlight_state_1=x", ["Cookie: a=1"]),
        ("__Host-starlight_entry=x; __host-STARLIGHT_y=z;a=1", ["Cookie: a=1"]),
        ("not_starlight_entry=x", ["Cookie: not_starlight_entry=x"]),
        ("odd; =; a=b=c; starlight_entry", ["Cookie: odd; =; a=b=c"]),
    ],
)
def test_our_cookies_are_cut_out_exactly(sent: str, kept: list[str]) -> None:
    """The app's own keep every byte."""
    assert forwarded(f"Cookie: {sent}") == kept


def test_control_gets_our_cookies() -> None:
    """It made them."""
    assert forwarded("Cookie: starlight_session=x", own_cookies=True) == ["Cookie: starlight_session=x"]


def test_cookies_by_name() -> None:
    """All of a name are found, the first few are taken, others are not mistaken for it."""
    head = parsed("Cookie: a=1; ab=2;a=3=4", "Cookie: a=5; a=6; a=7", "X: a=8")
    assert cookies_named(head, b"a") == ["1", "3=4", "5", "6"]
    assert cookie_names(head) == [b"a", b"ab", b"a", b"a", b"a", b"a"]


def test_five_cookies_stay_five() -> None:
    """In their order (B33)."""
    lines = [f"Set-Cookie: c{number}={number}; Path=/" for number in range(5)]
    assert answered(*lines) == lines


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("starlight_entry=x; Path=/", []),
        ("__Host-starlight_entry=x; Path=/; Secure", []),
        ("a=1; Domain=example; Path=/", ["Set-Cookie: a=1; Path=/"]),
        ("a=1; domain = .example", ["Set-Cookie: a=1"]),
        ("a=1; Domain=.A.example", ["Set-Cookie: a=1; Domain=.A.example"]),
        ("a=1; Domain=", ["Set-Cookie: a=1; Domain="]),
        ("a=1; Domain=a.example; Domain=example", ["Set-Cookie: a=1; Domain=a.example"]),
        ("a=Domain=example", ["Set-Cookie: a=Domain=example"]),
    ],
)
def test_apps_set_cookies_for_their_own_host_only(sent: str, kept: list[str]) -> None:
    """And none of ours."""
    assert answered(f"Set-Cookie: {sent}") == kept


def test_control_sets_what_it_wants() -> None:
    """The session cookie is its own."""
    assert answered("Set-Cookie: starlight_session=x", host=None) == ["Set-Cookie: starlight_session=x"]


def test_response_hop_by_hop_stays_here() -> None:
    """Also what Connection names, and reasons that only we give."""
    lines = ["Connection: X-Hop", "X-Hop: 1", "Keep-Alive: 5", "X-Starlight-Reason: job_ended", "Location: /x"]
    assert answered(*lines) == ["Location: /x"]
    assert answered(closes=True) == ["Connection: close"]


@pytest.mark.parametrize(
    ("start", "unchunked", "kept"),
    [
        ("HTTP/1.1 200 OK", False, ["Transfer-Encoding: chunked"]),
        ("HTTP/1.1 200 OK", True, []),
        ("HTTP/1.1 204 No", False, []),
        ("HTTP/1.1 304 No", False, []),
        ("HTTP/1.1 103 Early", False, []),
    ],
)
def test_framing_that_would_lie_is_dropped(start: str, unchunked: bool, kept: list[str]) -> None:
    """Of responses without a body, and of unchunked ones (B29)."""
    assert answered("Transfer-Encoding: chunked", start=start, unchunked=unchunked) == kept


def test_content_length_of_a_304_stays() -> None:
    """It tells the length of what is cached (RFC 9110, 8.6)."""
    assert answered("Content-Length: 5", start="HTTP/1.1 304 No") == ["Content-Length: 5"]


def test_switching_protocols_names_the_protocol() -> None:
    """As the app said it, once."""
    lines = answered("Connection: upgrade", "Upgrade: WebSocket", "Sec-WebSocket-Accept: x", start="HTTP/1.1 101 S")
    assert lines == ["Sec-WebSocket-Accept: x", "Connection: Upgrade", "Upgrade: WebSocket"]


@pytest.mark.parametrize(
    ("lines", "foreign"),
    [
        ([], False),
        (["Origin: https://A.example"], False),
        (["Origin: http://a.example"], True),
        (["Origin: https://a.example:8443"], True),
        (["Origin: https://b.example"], True),
        (["Origin: null"], True),
    ],
)
def test_foreign_origins(lines: list[str], foreign: bool) -> None:
    """Scheme, host and port must all be the entry's own."""
    assert is_foreign_origin(parsed(*lines), "https") is foreign
