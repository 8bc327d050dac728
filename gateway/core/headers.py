"""Which header fields travel on, and which the gateway says itself (RFC 9110, 7.6; RFC 7239). Pure.

Towards the app: hop-by-hop fields go, the gateway's own cookies and headers go (an app never sees
them), what visitors claim about forwarding goes (also spelled with `_`, which CGI-like apps read as
the same name) and the truth is added. Towards the person: hop-by-hop fields go, and no app may set a
gateway cookie or one for more hosts than its own. Every other line stays byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from gateway.core.cors import REPLACED
from gateway.core.http1 import Field, Fields, RequestHead, ResponseHead, split_host, tokens

COOKIES_TRIED: Final = 4
"""Cookies of one name that are looked at: a browser may send several, the right one need not be first."""

_HOP_BY_HOP: Final = frozenset(
    {
        b"connection",
        b"http2-settings",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"upgrade",
    }
)
_FRAMING: Final = frozenset({b"content-length", b"transfer-encoding"})
_NEVER_HOP_BY_HOP: Final = _FRAMING | {b"host"}
"""Naming one of these in Connection must not take it away: the message would mean something else."""
_OURS: Final = (b"forwarded", b"x-forwarded-", b"x-real-ip", b"x-starlight-")
_OUR_COOKIES: Final = (b"starlight_", b"__host-starlight_", b"__secure-starlight_")


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a request came from and how: the client's address, and the scheme it spoke to us."""

    address: str
    scheme: str


def request_head(
    head: RequestHead,
    origin: Origin,
    *,
    upgrade: bytes | None = None,
    own_cookies: bool = False,
    identity: bytes = b"",
) -> bytes:
    """The head to send upstream. `upgrade` asks for that protocol; `own_cookies` lets ours pass (to control only).

    `identity` are whole lines that tell the app who comes.
    """
    switch = b"" if upgrade is None else b"Connection: Upgrade\r\nUpgrade: " + upgrade + b"\r\n"
    travelling = _travelling(head.fields, own_cookies)
    return b"%b %b HTTP/1.1\r\n%b%b%b%b\r\n" % (
        head.method,
        head.target,
        travelling,
        switch,
        _forwarding(origin, head.host),
        identity,
    )


def response_head(
    head: ResponseHead, host: str | None, *, closes: bool, unchunked: bool = False, cors: bytes = b""
) -> bytes:
    """The head to send to the person. `host` is the entry's name (None: control's answer, whose cookies pass).

    `closes` says so to the peer; `unchunked` that the body goes to an HTTP/1.0 peer without its framing. `cors`
    are whole lines that replace what the app says of pages from elsewhere.
    """
    dropped = _dropped(head.fields) | _framing_to_drop(head.status, unchunked)
    if cors:
        dropped |= REPLACED
    lines = [b"HTTP/1.1 %d %s" % (head.status, head.reason)]
    for field in head.fields.lines:
        if field.name in dropped or field.name.startswith(b"x-starlight-"):
            continue
        if field.name == b"set-cookie" and host is not None:
            lines += _guarded_cookie(field, host)
        else:
            lines.append(field.line)
    if head.status == 101:
        lines += [b"Connection: Upgrade", b"Upgrade: " + (head.value(b"upgrade") or b"")]
    elif closes:
        lines.append(b"Connection: close")
    return b"\r\n".join(lines) + b"\r\n" + cors + b"\r\n"


def cookies_named(head: RequestHead, name: bytes) -> list[str]:
    """The values of the first few cookies of this name, whatever host or path set them."""
    values = [value.decode("latin-1") for key, value in _cookies(head.fields) if key == name]
    return values[:COOKIES_TRIED]


def cookie_names(head: RequestHead) -> list[bytes]:
    """The names of all cookies, in the order in which they were sent."""
    return [name for name, _ in _cookies(head.fields)]


def is_foreign_origin(head: RequestHead, scheme: str) -> bool:
    """Whether the request says that another site's page sent it (RFC 6454, 7). No Origin is no such claim."""
    origin = head.value(b"origin")
    return origin is not None and origin.lower() != scheme.encode() + b"://" + head.host.lower()


@lru_cache(maxsize=256)
def _travelling(fields: Fields, own_cookies: bool) -> bytes:
    """The request's lines that go upstream. Remembered with the fields, which the parser remembers."""
    dropped = _dropped(fields)
    lines: list[bytes] = []
    for field in fields.lines:
        if field.name in dropped or _is_ours(field.name):
            continue
        if field.name == b"cookie" and not own_cookies:
            lines += _without_our_cookies(field)
        else:
            lines.append(field.line)
    if b"trailers" in tokens(fields.values.get(b"te")):
        lines.append(b"TE: trailers")
    return b"".join(line + b"\r\n" for line in lines)


def _dropped(fields: Fields) -> frozenset[bytes]:
    named = fields.values.get(b"connection")
    if named is None:
        return _HOP_BY_HOP
    return _HOP_BY_HOP | (frozenset(tokens(named)) - _NEVER_HOP_BY_HOP)


def _framing_to_drop(status: int, unchunked: bool) -> frozenset[bytes]:
    """Framing fields that would lie: of a response without a body (RFC 9112, 6.1), or one that lost its chunks."""
    if status < 200 or status == 204:
        return _FRAMING
    return frozenset({b"transfer-encoding"}) if unchunked or status == 304 else frozenset()


@lru_cache(maxsize=1024)
def _is_ours(name: bytes) -> bool:
    return name.replace(b"_", b"-").startswith(_OURS)


@lru_cache(maxsize=1024)
def _forwarding(origin: Origin, host: bytes) -> bytes:
    """What the gateway says about the person's side; the port is the one that their browser shows."""
    _, port = split_host(host)
    scheme, address = origin.scheme, origin.address
    node = f'"[{address}]"' if ":" in address else address
    said = (
        f'Forwarded: for={node};host="{host.decode("ascii")}";proto={scheme}',
        f"X-Forwarded-For: {address}",
        f"X-Forwarded-Host: {host.decode('ascii')}",
        f"X-Forwarded-Proto: {scheme}",
        f"X-Forwarded-Port: {port or (443 if scheme == 'https' else 80)}",
    )
    return "".join(line + "\r\n" for line in said).encode()


@lru_cache(maxsize=256)
def _cookies(fields: Fields) -> tuple[tuple[bytes, bytes], ...]:
    lines = [field.value for field in fields.lines if field.name == b"cookie"]
    pairs = [pair.strip(b" \t").partition(b"=") for line in lines for pair in line.split(b";")]
    return tuple((name, value) for name, _, value in pairs)


def _without_our_cookies(field: Field) -> Iterable[bytes]:
    """The Cookie line without the gateway's own pairs; the app's keep every byte. Nothing when none are left."""
    pairs = field.value.split(b";")
    kept = [pair for pair in pairs if not _names_our_cookie(pair)]
    if len(kept) == len(pairs):
        return (field.line,)
    name, _, _ = field.line.partition(b":")
    return (name + b": " + b";".join(kept).lstrip(b" \t"),) if kept else ()


def _names_our_cookie(pair: bytes) -> bool:
    return pair.strip(b" \t").lower().startswith(_OUR_COOKIES)


def _guarded_cookie(field: Field, host: str) -> Iterable[bytes]:
    """The Set-Cookie line as an app may send it: none of ours, and for no host but the entry's own."""
    pair, *attributes = field.value.split(b";")
    if _names_our_cookie(pair):
        return ()
    kept = [attribute for attribute in attributes if not _reaches_further(attribute, host)]
    if len(kept) == len(attributes):
        return (field.line,)
    name, _, _ = field.line.partition(b":")
    return (name + b": " + b";".join([pair, *kept]),)


def _reaches_further(attribute: bytes, host: str) -> bool:
    name, _, value = attribute.partition(b"=")
    if name.strip(b" \t").lower() != b"domain":
        return False
    domain = value.strip(b" \t").lower().removeprefix(b".")
    return domain not in (b"", host.encode("ascii"))  # an empty Domain is ignored by browsers (RFC 6265, 5.2.3)
