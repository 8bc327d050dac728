"""Every parser that reads what strangers send, each with what must hold for any bytes (`make fuzz`).

A target takes bytes. What a parser's docstring allows it to raise is taken calmly; anything else, and every
AssertionError, is a find. Seeds are inputs from which a fuzzer finds its way in.
"""

from __future__ import annotations

import contextlib
import json
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from certs.check import CheckFault, check, facts_of
from certs.local_ca import issue, make_authority
from certs.upload import judge
from control.agent.shim.outlet import parse_connect
from control.domain.domains import read_domain
from control.domain.entries import parse_spec
from control.domain.errors import ProblemError
from control.domain.instants import parse_rfc3339, rfc3339
from control.domain.origins import read_origins
from gateway.contract.bridge import FRAME_HEAD_BYTES, decode_call, decode_frame_head, decode_reply, encode_call
from gateway.contract.codec import Change, decode_change, encode_change, kind_of
from gateway.contract.slices import read_slice
from gateway.contract.visits import decode_report
from gateway.core import headers, http1, ssh_name
from gateway.core.authorized_keys import fitting
from gateway.core.authorized_keys import read as read_keys
from gateway.core.bodies import Chunked, request_body
from gateway.core.hello import HELLO_LIMIT, read_hello
from gateway.core.http1 import Malformed
from gateway.core.menu_keys import Key, Keys
from gateway.core.postgres import REQUEST_BYTES, read_opening
from gateway.core.sniff import SNIFF_BYTES, sniff
from gateway.core.tickets import Purpose, open_sealed
from gateway.core.websocket import FrameEnds
from gateway.feed.lines import parsed
from tests.gateway import world

ORIGIN: Final = headers.Origin("192.0.2.7", "http")
NOW: Final = datetime(2026, 12, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Target:
    """What is fed, and what with at first."""

    feed: Callable[[bytes], None]
    seeds: tuple[bytes, ...]


def request(data: bytes) -> None:
    """What is sent upstream reads as the same request, framed alike."""
    with contextlib.suppress(Malformed):
        if http1.head_end(data) != len(data):
            return
        head = http1.parse_request(data)
        again = http1.parse_request(headers.request_head(head, ORIGIN, upgrade=http1.upgrade_of(head)))
        assert (again.method, again.target, again.host) == (head.method, head.target, head.host)
        assert type(request_body(again)) is type(request_body(head))
        http1.split_host(head.host)
        headers.cookie_names(head)
        headers.is_foreign_origin(head, "http")


def response(data: bytes) -> None:
    """What is sent to the person reads with the same status."""
    with contextlib.suppress(Malformed):
        if http1.head_end(data) != len(data):
            return
        head = http1.parse_response(data)
        said = headers.response_head(head, "a.example", closes=False)
        assert http1.parse_response(said).status == head.status


def lane_line(data: bytes) -> None:
    """A first line that the short way takes is one that the long way takes, with the same target."""
    target = http1.plain_get(data)
    if target is not None:
        assert http1.parse_request(data + b"\r\nHost: a\r\n\r\n").target == target


def chunks(data: bytes) -> None:
    """At once, or byte by byte: the same verdict, the same end, the same content."""
    assert followed(data, len(data) or 1) == followed(data, 1)


def followed(data: bytes, size: int) -> tuple[str, int, bytes]:
    """How a chunked body comes out in pieces of `size`."""
    body, at, content = Chunked(), 0, b""
    try:
        while at < len(data) and not body.done:
            piece = data[at : at + size]
            count = body.feed(piece)
            content += body.payload(piece[:count])
            at += count
    except Malformed:
        return "malformed", 0, b""
    return ("done", at, content) if body.done else ("more", 0, content)


def frames(data: bytes) -> None:
    """Where a WebSocket's frames end does not depend on how they come."""
    whole, single = FrameEnds(), FrameEnds()
    whole.feed(data)
    for at in range(len(data)):
        single.feed(data[at : at + 1])
    assert whole.between == single.between


def hello(data: bytes) -> None:
    """A ClientHello is read, waited for, or refused."""
    with contextlib.suppress(ValueError):
        if read_hello(data) is None:
            assert len(data) <= HELLO_LIMIT + 1024


def first_bytes(data: bytes) -> None:
    """Once told, a protocol stays told."""
    told = sniff(data[:SNIFF_BYTES])
    assert told is None or sniff(data) is told
    opening = read_opening(data)
    assert (opening is None) <= (len(data) < REQUEST_BYTES)


def login_name(data: bytes) -> None:
    """Every name is split, and looked for."""
    name = data.decode("utf-8", "replace")
    split = ssh_name.split(name)
    assert name.startswith(split.user)
    if split.job:
        ssh_name.find(split.job, 1, TABLE)


def authorized_keys(data: bytes) -> None:
    """Any file is read; nobody but a line's own key gets through it."""
    lines = read_keys(data)
    for line in lines:
        assert fitting(lines, line.fingerprint + "x", "192.0.2.7", world.NOW) is None


def sealed(data: bytes) -> None:
    """No bytes that are not ours open."""
    assert open_sealed([world.SECRET], Purpose.ENTRY_TICKET, data.decode("utf-8", "replace")) is None


def menu(data: bytes) -> None:
    """Whatever is typed at the menu, a printable text or a key comes of it; a pause never invents more than Esc."""
    keys = Keys()
    for byte in data:
        pressed = keys.take(byte)
        assert pressed is None or isinstance(pressed, Key) or pressed.isprintable()
    assert keys.pause() in (None, Key.CANCEL)
    assert keys.pause() is None


def bridge_call(data: bytes) -> None:
    """What is read can be said again."""
    with contextlib.suppress(ValueError):
        call = decode_call(data)
        assert decode_call(encode_call(call)) == call
    with contextlib.suppress(ValueError):
        decode_reply(data)
    if len(data) >= FRAME_HEAD_BYTES:
        with contextlib.suppress(ValueError):
            decode_frame_head(data[:FRAME_HEAD_BYTES])


def feed_line(data: bytes) -> None:
    """A line of the feed is read or refused; a change that is read can be said again."""
    with contextlib.suppress(ValueError):
        read_slice(data)
    with contextlib.suppress(ConnectionError):
        said = parsed(data)
        with contextlib.suppress(ValueError):
            change = decode_change(said)
            assert decode_change(encode_change(change)) == change
        with contextlib.suppress(ValueError):
            decode_report(said)


def entry_spec(data: bytes) -> None:
    """Whatever JSON a caller sends is an entry or a list of what is wrong with it."""
    with contextlib.suppress(ProblemError, ValueError, RecursionError):
        parse_spec(json.loads(data))


def names(data: bytes) -> None:
    """A domain, origins and instants from outside; what is read reads the same again."""
    text = data.decode("utf-8", "replace")
    domain = read_domain(text)
    assert domain is None or read_domain(domain) == domain
    origins, why = read_origins([text])
    assert why or read_origins(list(origins))[0] == origins
    with contextlib.suppress(ValueError):
        rfc3339(parse_rfc3339(text))
    with contextlib.suppress(ValueError):
        parse_connect(data)


def certificates(data: bytes) -> None:
    """An upload is good, or its trouble is told."""
    chain, _, key = data.decode("utf-8", "replace").partition("\0")
    for look in (
        lambda: facts_of(chain),
        lambda: check(chain, key, names=["a.example"], now=NOW),
        lambda: judge(chain, key, password=None, name="a.example", now=NOW, roots=[]),
    ):
        with contextlib.suppress(CheckFault):
            look()


TABLE: Final = world.table(world.job(), world.entry())
_PAIR: Final = issue(make_authority(["a.example"], now=NOW), ["a.example"], now=NOW)
_REQUESTS: Final = (
    b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    b"POST http://a/x?y HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nCookie: a=b; starlight_entry=x\r\n\r\n",
    b"GET /w HTTP/1.1\r\nHost: [::1]:80\r\nConnection: Upgrade, x\r\nUpgrade: websocket\r\n\r\n",
    b"PUT /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTE: trailers\r\nX_Y: z\r\n\r\n",
)
_RESPONSES: Final = (
    b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nSet-Cookie: a=b; Domain=x\r\n\r\n",
    b"HTTP/1.0 101 Switching\r\nUpgrade: a\r\nConnection: upgrade\r\nTransfer-Encoding: chunked\r\n\r\n",
)


def _hello() -> bytes:
    """The bytes with which OpenSSL begins a handshake."""
    context, outgoing = ssl.create_default_context(), ssl.MemoryBIO()
    context.set_alpn_protocols(["h2"])
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="a.example").do_handshake()
    return outgoing.read()


def _records() -> Iterator[bytes]:
    for record in (
        world.user(),
        world.session(),
        world.token(),
        world.entry(),
        world.job(),
        world.SECRET,
        world.grant(),
    ):
        yield json.dumps(encode_change(Change(1, kind_of(record), str(record.id), record))).encode()


_SPEC: Final[dict[str, Any]] = {
    "name": "web", "protocol": "http", "level": "open", "target_port": "auto", "port": "random",
    "cors_origins": ["https://a"], "limits": {"connections": 1},
}  # fmt: skip

TARGETS: Final[dict[str, Target]] = {
    "request": Target(request, _REQUESTS),
    "response": Target(response, _RESPONSES),
    "lane_line": Target(lane_line, (b"GET /a?b HTTP/1.1", b"GET * HTTP/1.1")),
    "chunks": Target(chunks, (b"3;x=y\r\nabc\r\n0\r\nA: b\r\n\r\nGET", b"0\r\n\r\n")),
    "frames": Target(frames, (b"\x81\x85abcd12345\x88\x00", b"\x82\x7e\x01\x00" + bytes(256))),
    "hello": Target(hello, (_hello(),)),
    "first_bytes": Target(first_bytes, (b"\0\0\0\x08\x04\xd2\x16\x2f", b"SSH-2.0-x", b"\x16\x03\x01")),
    "login_name": Target(login_name, (b"alice+jupyter-17.node.app", b"alice%\xe8\xae\xad#")),
    "authorized_keys": Target(
        authorized_keys, (b'from="1.2.3.*",no-pty ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA== x\n',)
    ),
    "sealed": Target(sealed, (b"AAAA",)),
    "menu": Target(menu, (b"\x1b[A\x1b[B12\r\x7fq\xe4\xb8\xad",)),
    "bridge_call": Target(bridge_call, (b'{"v": 1, "verb": "connect", "subject": "j", "args": {}}', b"\0\0\0\0\x01")),
    "feed_line": Target(feed_line, (*_records(), b'{"revision":1,"kind":{},"key":"","record":null}')),
    "entry_spec": Target(entry_spec, (json.dumps(_SPEC).encode(),)),
    "names": Target(
        names, (b"xn--fsq.example", b"https://a.example:8443", b"2026-12-01T06:20:19.250Z", b"CONNECT a:1 HTTP/1.1")
    ),
    "certificates": Target(certificates, (f"{_PAIR.chain_pem}\0{_PAIR.key_pem}".encode(),)),
}
