"""Who is asking, for what: the entry that a request names, the visitor it shows, and the decision.

The header X-Starlight-Token goes before cookies: a program that sends one means it. A visitor known
by a cookie alone must come from the entry's own pages for anything but a safe request, because
browsers send cookies along with what other sites ask them to send (research: sibling apps are
same-site, so SameSite alone does not hold them off).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from ipaddress import ip_address
from typing import Any, Final

from gateway.contract.routes import Entry
from gateway.core import cors, headers
from gateway.core.decide import Admission, Ask
from gateway.core.headers import Origin
from gateway.core.http1 import RequestHead, body_length, split_host
from gateway.core.refusals import Code, Refusal
from gateway.core.tickets import ANONYMOUS, Purpose, Visitor, by_bearer, by_ticket
from gateway.entries.http.lessons import Lessons
from gateway.entries.http.pool import Pool
from gateway.wire.gate import Gate

TICKET_COOKIE: Final = "starlight_entry"
TOKEN_HEADER: Final = b"x-starlight-token"
SAFE_METHODS: Final = frozenset({b"GET", b"HEAD", b"OPTIONS", b"TRACE"})

Verdict = Admission | Ask | Refusal


class Console(Enum):
    """The console and its API are asked for: control answers, and does its own checks."""

    CONSOLE = "console"


@dataclass(frozen=True, slots=True)
class Front:
    """What all connections of one listener share. `port` is the public one; `console` marks the console's.

    `within` names the one HTTP/2 connection whose streams share this instead: there even who has no name is one person.
    """

    gate: Gate
    scheme: str
    port: int
    console: bool = False
    pool: Pool = field(default_factory=Pool)
    lessons: Lessons = field(default_factory=Lessons)
    within: object = None


def place(front: Front, head: RequestHead, server_name: str | None) -> Entry | Console | Refusal:
    """What the request's Host names on this listener. `server_name` is what the TLS handshake asked for.

    The port in Host is not compared: behind a forwarded port (`ssh -L`) it is another than ours.
    """
    host, _ = split_host(head.host)
    if server_name is not None and server_name != host:
        return Refusal(Code.MISDIRECTED)
    config, table = front.gate.config, front.gate.table
    if front.console:
        return Refusal(Code.MISDIRECTED) if _is_an_apps(front, host) else Console.CONSOLE
    if host == config.console_name and front.scheme == "https" and front.port == config.https_port:
        return Console.CONSOLE
    entry = table.entry_by_host(host, front.port)
    if entry is None or entry.protocol != front.scheme:
        return Refusal(Code.UNKNOWN_HOST)
    return entry


def _is_an_apps(front: Front, host: str) -> bool:
    """Whether apps live on this host: there the console would share cookies, which ignore ports, with them."""
    config, table = front.gate.config, front.gate.table
    if host == config.console_name:
        return False
    ports = (config.http_port, config.https_port)
    return host.endswith("." + config.base_domain) or any(table.entry_by_host(host, port) for port in ports)


class Doorman:
    """Tells visitors of one connection apart. State: the tickets it has opened, so that each is decrypted once."""

    def __init__(self, front: Front) -> None:
        self._front = front
        self._opened: dict[str, dict[str, Any] | None] = {}

    def admit(self, head: RequestHead, entry: Entry, origin: Origin, *, upgrades: bool) -> Verdict:
        """Whether this request passes the entry. Open the visit before the next await."""
        gate = self._front.gate
        bearer = head.value(TOKEN_HEADER)
        if bearer is not None:
            return gate.decide(entry, self._by_bearer(bearer, entry, origin))
        visitor = self._by_cookie(head, entry)
        changes = upgrades or head.method not in SAFE_METHODS
        if visitor is ANONYMOUS or not changes or not headers.is_foreign_origin(head, origin.scheme):
            return gate.decide(entry, visitor)
        if cors.named_origin(head, entry) is not None:
            return gate.decide(entry, visitor)
        # Another site's page asks in this person's name: it gets what it would get without them.
        verdict = gate.decide(entry, ANONYMOUS)
        return Refusal(Code.CROSS_ORIGIN, entry_name=entry.name) if isinstance(verdict, Ask) else verdict

    def by_token(self, head: RequestHead, entry: Entry, origin: Origin) -> Verdict:
        """The same where no cookie counts: by the token that the request shows, or as a stranger."""
        bearer = head.value(TOKEN_HEADER)
        return self._front.gate.decide(entry, ANONYMOUS if bearer is None else self._by_bearer(bearer, entry, origin))

    def _by_bearer(self, bearer: bytes, entry: Entry, origin: Origin) -> Visitor:
        secure = origin.scheme == "https" or is_loopback(origin.address)
        return by_bearer(bearer.decode("latin-1"), self._front.gate.table, entry, secure=secure) or ANONYMOUS

    def _by_cookie(self, head: RequestHead, entry: Entry) -> Visitor:
        """The first cookie of the name that is a good ticket: an app's sibling may have put others before it."""
        gate = self._front.gate
        for text in headers.cookies_named(head, cookie_name(TICKET_COOKIE, self._front.scheme).encode()):
            ticket = self._open(text)
            visitor = ticket and by_ticket(ticket, gate.table, entry, gate.now())
            if visitor:
                return visitor
        return ANONYMOUS

    def _open(self, text: str) -> dict[str, Any] | None:
        if text not in self._opened:
            if len(self._opened) >= headers.COOKIES_TRIED:
                self._opened.clear()
            self._opened[text] = self._front.gate.open_sealed(Purpose.ENTRY_TICKET, text)
        return self._opened[text]


def over_limits(gate: Gate, head: RequestHead, admission: Admission, origin: Origin) -> Refusal | None:
    """Why a request that may pass is more than the entry's owner allows; counts it when it is not."""
    entry = admission.entry
    if entry.limits is None:
        return None
    most, length = entry.limits.body_bytes, body_length(head.fields, head.version)
    if most is not None and length is not None and length > most:
        return Refusal(Code.BODY_TOO_LARGE, entry.job_id, entry.name)
    return gate.pace(admission, origin.address)


def cookie_name(name: str, scheme: str) -> str:
    """A gateway cookie's full name: over TLS browsers hold it to this host and to TLS by its prefix."""
    return f"__Host-{name}" if scheme == "https" else name


def is_loopback(address: str) -> bool:
    """Whether the peer is on this machine."""
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False
