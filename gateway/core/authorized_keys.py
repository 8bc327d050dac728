"""A home's `~/.ssh/authorized_keys` (sshd(8), AUTHORIZED_KEYS FILE FORMAT): which keys admit, and on what conditions.

An option is honoured or its line admits nobody: none is skipped. What only sshd itself can keep
(certificates, tunnels, how a security key was touched) is of the second kind.
"""

from __future__ import annotations

import base64
import fnmatch
import hashlib
import ipaddress
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final

from gateway.contract.bridge import KEYS_LIMIT

_KINDS: Final = frozenset(
    {
        "ssh-ed25519",
        "sk-ssh-ed25519@openssh.com",
        "ecdsa-sha2-nistp256",
        "ecdsa-sha2-nistp384",
        "ecdsa-sha2-nistp521",
        "sk-ecdsa-sha2-nistp256@openssh.com",
        "ssh-rsa",
    }
)
_OPTION: Final = re.compile(r'([A-Za-z0-9-]+)(?:="((?:[^"\\]|\\.)*)")?(,|(?=[ \t]))')
_DATE: Final = re.compile(r"(\d{8})(\d{4}(?:\d{2})?)?(Z?)")
_VARIABLE: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=([^\0]*)", re.DOTALL)

Place = tuple[str, int | None]
"""A host and a port, None for any."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """What a key may do. `places` and `listening` are the only ones that it may forward to and from, unless None."""

    pty: bool = True
    forwarding: bool = True
    agent: bool = True
    display: bool = True
    command: str | None = None
    env: tuple[tuple[str, str], ...] = ()
    sources: tuple[str, ...] = ()
    until: float | None = None
    places: tuple[Place, ...] | None = None
    listening: tuple[Place, ...] | None = None

    def may_forward_to(self, host: str, port: int) -> bool:
        """Whether connections may go there; a Unix socket may not be named, so that any condition rules it out."""
        return self.forwarding and _is_among(self.places, host, port)

    def may_listen_on(self, host: str, port: int) -> bool:
        """Whether the job may listen there for the client."""
        return self.forwarding and _is_among(self.listening, host or "localhost", port)


@dataclass(frozen=True, slots=True)
class Line:
    """One key of the file. `unmet` names the option that is not supported, or None: then `conditions` hold."""

    number: int
    fingerprint: str
    conditions: Conditions = field(default_factory=Conditions)
    unmet: str | None = None


UNCONDITIONAL: Final = Conditions()


def read(content: bytes) -> tuple[Line, ...]:
    """The keys of a file, in its order. What is no key is no line."""
    if len(content) > KEYS_LIMIT:
        return ()
    return tuple(_lines(content.decode("utf-8", "replace")))


def fitting(lines: Sequence[Line], fingerprint: str, address: str, now: float) -> Line | None:
    """The first line with this key whose `from` and `expiry-time` fit; else one with an unmet option, if any."""
    mine = [line for line in lines if line.fingerprint == fingerprint]
    fit = [line for line in mine if line.unmet is None and _fits(line.conditions, address, now)]
    unmet = [line for line in mine if line.unmet is not None]
    return next(iter(fit or unmet), None)


def _lines(text: str) -> Iterator[Line]:
    for number, raw in enumerate(text.split("\n"), 1):
        stripped = raw.strip(" \t\r")
        if not stripped or stripped.startswith("#"):
            continue
        conditions, unmet = UNCONDITIONAL, None
        fingerprint = _fingerprint(stripped)
        if fingerprint is None:
            options, rest = _options(stripped)
            fingerprint = _fingerprint(rest)
            conditions, unmet = _conditions(options)
        if fingerprint is not None:
            yield Line(number, fingerprint, conditions, unmet)


def _fingerprint(words: str) -> str | None:
    """`SHA256:...` of a line that begins with a key: its kind, then the key in base64."""
    kind, blob = (*words.split(maxsplit=2), "", "")[:2]
    if kind not in _KINDS:
        return None
    try:
        raw = base64.b64decode(blob, validate=True)
    except ValueError:
        return None
    if not raw.startswith(len(kind).to_bytes(4, "big") + kind.encode()):
        return None
    return f"SHA256:{base64.b64encode(hashlib.sha256(raw).digest()).rstrip(b'=').decode()}"


def _options(text: str) -> tuple[list[tuple[str, str | None]], str]:
    """The options before a key, and what follows them. A malformed list has an option of no name."""
    options: list[tuple[str, str | None]] = []
    at = 0
    while (found := _OPTION.match(text, at)) is not None:
        value = found[2]
        options.append((found[1].lower(), None if value is None else value.replace('\\"', '"')))
        at = found.end()
        if found[3] != ",":
            return options, text[at:].lstrip(" \t")
    return [("", None)], text[at:]


def _conditions(options: Sequence[tuple[str, str | None]]) -> tuple[Conditions, str | None]:
    conditions = UNCONDITIONAL
    for name, value in options:
        try:
            conditions = _with(conditions, name, value)
        except (LookupError, ValueError):
            return UNCONDITIONAL, name
    return conditions, None


def _with(held: Conditions, name: str, value: str | None) -> Conditions:
    """The conditions with one option more. Raises LookupError or ValueError when it cannot be kept."""
    if value is None:
        return _SWITCHES[name](held)
    match name:
        case "command" if held.command is None:
            return replace(held, command=value)
        case "environment":
            found = _VARIABLE.fullmatch(value)
            if found is None:
                raise ValueError(value)
            return replace(held, env=(*held.env, (found[1], found[2])))
        case "from" if not held.sources:
            return replace(held, sources=(*held.sources, *_patterns(value)))
        case "expiry-time":
            until = _instant(value)
            return replace(held, until=until if held.until is None else min(until, held.until))
        case "permitopen":
            return replace(held, places=(*(held.places or ()), _place(value)))
        case "permitlisten":
            return replace(held, listening=(*(held.listening or ()), _place(value)))
    raise LookupError(name)


_SWITCHES: Final[dict[str, Callable[[Conditions], Conditions]]] = {
    "restrict": lambda held: replace(held, pty=False, forwarding=False, agent=False, display=False),
    "pty": lambda held: replace(held, pty=True),
    "no-pty": lambda held: replace(held, pty=False),
    "port-forwarding": lambda held: replace(held, forwarding=True),
    "no-port-forwarding": lambda held: replace(held, forwarding=False),
    "agent-forwarding": lambda held: replace(held, agent=True),
    "no-agent-forwarding": lambda held: replace(held, agent=False),
    "x11-forwarding": lambda held: replace(held, display=True),
    "no-x11-forwarding": lambda held: replace(held, display=False),
    "user-rc": lambda held: held,  # ~/.ssh/rc is sshd's: nothing here runs it
    "no-user-rc": lambda held: held,
}


def _patterns(value: str) -> list[str]:
    patterns = [pattern.strip() for pattern in value.split(",")]
    if not all(patterns):
        raise ValueError(value)
    return patterns


def _instant(value: str) -> float:
    """YYYYMMDD[HHMM[SS]], in UTC with a Z and in the machine's own time zone without."""
    found = _DATE.fullmatch(value)
    if found is None:
        raise ValueError(value)
    clock = (found[2] or "").ljust(6, "0")
    naive = datetime.strptime(found[1] + clock, "%Y%m%d%H%M%S")  # noqa: DTZ007 - the zone is decided here
    return (naive.replace(tzinfo=UTC) if found[3] else naive.astimezone()).timestamp()


def _place(value: str) -> Place:
    host, colon, port = value.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") if colon else "localhost"
    if port != "*" and not 0 < int(port) < 65536:
        raise ValueError(value)
    return host.lower(), None if port == "*" else int(port)


def _is_among(places: tuple[Place, ...] | None, host: str, port: int) -> bool:
    if places is None:
        return True
    return any(place in {host.lower(), "*"} and number in {port, None} for place, number in places)


def _fits(conditions: Conditions, address: str, now: float) -> bool:
    if conditions.until is not None and now >= conditions.until:
        return False
    if not conditions.sources:
        return True
    matches = [
        not pattern.startswith("!") for pattern in conditions.sources if _comes_from(pattern.lstrip("!"), address)
    ]
    return bool(matches) and all(matches)


def _comes_from(pattern: str, address: str) -> bool:
    """Whether an address fits: a network, or wildcards. Host names never do: nobody is asked for them here."""
    try:
        return ipaddress.ip_address(address) in ipaddress.ip_network(pattern, strict=False)
    except ValueError:
        return fnmatch.fnmatchcase(address.lower(), pattern.replace("[", "[[]").lower())
