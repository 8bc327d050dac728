"""ClientHellos: those of the real TLS library, cut everywhere, and malformed ones."""

from __future__ import annotations

import ssl

import pytest

from gateway.core.hello import HELLO_LIMIT, Hello, read_hello


def hello_of(name: str | None, *protocols: str) -> bytes:
    """The bytes with which OpenSSL begins a handshake."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if protocols:
        context.set_alpn_protocols(list(protocols))
    outgoing = ssl.MemoryBIO()
    client = context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname=name)
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


def in_records(record: bytes, size: int) -> bytes:
    """The same handshake message, cut into records of `size` bytes."""
    message = record[5:]
    parts = [message[at : at + size] for at in range(0, len(message), size)]
    return b"".join(record[:3] + len(part).to_bytes(2, "big") + part for part in parts)


def hand_made(extensions: bytes) -> bytes:
    """A ClientHello with these bytes for its list of extensions, the list's length included."""
    body = b"\x03\x03" + bytes(32) + b"\x00" + b"\x00\x02\x13\x01" + b"\x01\x00" + extensions
    message = b"\x01" + len(body).to_bytes(3, "big") + body
    return b"\x16\x03\x01" + len(message).to_bytes(2, "big") + message


def server_names(*names: tuple[int, bytes]) -> bytes:
    """A server_name extension in its list."""
    listed = b"".join(bytes([kind]) + len(name).to_bytes(2, "big") + name for kind, name in names)
    content = len(listed).to_bytes(2, "big") + listed
    extension = b"\x00\x00" + len(content).to_bytes(2, "big") + content
    return len(extension).to_bytes(2, "big") + extension


def test_name_and_protocols_are_read() -> None:
    """What OpenSSL asks for is what is read."""
    assert read_hello(hello_of("App.Example", "h2", "http/1.1")) == Hello("app.example", (b"h2", b"http/1.1"))


def test_no_name_is_none() -> None:
    """A client that names no host."""
    assert read_hello(hello_of(None)) == Hello(None, ())


def test_every_prefix_is_incomplete() -> None:
    """A hello that arrives byte by byte is waited for."""
    whole = hello_of("a.example")
    assert all(read_hello(whole[:end]) is None for end in range(len(whole)))


@pytest.mark.parametrize("size", [1, 3, 100])
def test_hello_over_several_records(size: int) -> None:
    """The handshake message may be cut into records anywhere (RFC 8446, 5.1); what follows it is not read."""
    whole = hello_of("a.example")
    assert read_hello(in_records(whole, size) + b"\x17\x03\x03") == Hello("a.example", ())


def test_a_hello_without_extensions_is_read() -> None:
    """As TLS 1.0 clients may send."""
    assert read_hello(hand_made(b"")) == Hello(None, ())


def test_only_host_names_count() -> None:
    """Other name types are passed over, a final dot is dropped, an empty name is none."""
    assert read_hello(hand_made(server_names((7, b"x"), (0, b"A.example.")))) == Hello("a.example", ())
    assert read_hello(hand_made(server_names((7, b"x")))) == Hello(None, ())
    assert read_hello(hand_made(server_names((0, b"")))) == Hello(None, ())


@pytest.mark.parametrize(
    "records",
    [
        b"\x17\x03\x01\x00\x01\x01",
        b"\x16\x04\x01\x00\x01\x01",
        b"\x16\x03\x01\x00\x00",
        b"\x16\x03\x01\xff\xff",
        b"\x16\x03\x01\x00\x04\x02\x00\x00\x00",
        b"\x16\x03\x01\x00\x04\x01\xff\xff\xff",
        hand_made(b"\x00\x09\x00\x00"),
        hand_made(server_names((0, b"\xff.example"))),
    ],
    ids=["no handshake", "version", "empty record", "long record", "other message", "too long", "cut", "not ascii"],
)
def test_malformed_hellos_are_refused(records: bytes) -> None:
    """Nothing but a ClientHello is read as one."""
    with pytest.raises(ValueError, match=r"."):
        read_hello(records)


def test_an_endless_hello_is_not_collected() -> None:
    """A hello of the limit's length is waited for; what lies beyond it is not read."""
    head = b"\x16\x03\x01\x00\x04\x01" + HELLO_LIMIT.to_bytes(3, "big")
    half = b"\x16\x03\x01\x20\x00" + bytes(0x2000)
    assert read_hello(head + half) is None
    assert read_hello(head + half * 3) == Hello(None, ())
