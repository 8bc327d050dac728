"""From a setting's text to its value. Each reader raises ValueError with what would be right.

The sentence repeats the text, but never one that may hold a password.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

_DOMAIN: Final = re.compile(r"(?=.{1,253}\Z)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*")
_MAIL: Final = re.compile(r"[^@\s,;<>]{1,64}@[^@\s,;<>]{1,190}")
_NAME_SERVER: Final = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([0-9.]+)):([0-9]+)")
_URL_CHARACTERS: Final = 500
_MOST_PROCESSES: Final = 64


@dataclass(frozen=True, slots=True)
class PortRange:
    """Port numbers from `first` to `last`, both included."""

    first: int
    last: int

    def __contains__(self, port: int) -> bool:
        return self.first <= port <= self.last

    def __str__(self) -> str:
        return f"{self.first}-{self.last}"


@dataclass(frozen=True, slots=True)
class NameServer:
    """A name server to ask."""

    address: str
    port: int

    def __str__(self) -> str:
        return f"[{self.address}]:{self.port}" if ":" in self.address else f"{self.address}:{self.port}"


def line(text: str) -> str:
    """One printable line, trimmed."""
    if not text.isprintable():
        raise ValueError("it holds control characters")
    return text.strip()


def path(text: str) -> Path:
    """An absolute path, links followed, `~` read."""
    return Path(text).expanduser().resolve()


def address(text: str) -> str:
    """An IP address to listen on; `localhost` is 127.0.0.1."""
    if text == "localhost":
        return "127.0.0.1"
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        raise ValueError(f"{text!r} is not an IP address to listen on, like 127.0.0.1 or 0.0.0.0") from None


def number(text: str, first: int, last: int) -> int:
    """A whole number in ASCII digits."""
    if not re.fullmatch(r"[0-9]{1,10}", text, re.ASCII) or not first <= int(text) <= last:
        raise ValueError(f"{text!r} is not a number from {first} to {last}")
    return int(text)


def port(text: str) -> int:
    """A TCP port."""
    return number(text, 1, 65535)


def processes(text: str) -> int:
    """How many processes."""
    return number(text, 1, _MOST_PROCESSES)


def visits(text: str) -> int:
    """How many live connections."""
    return number(text, 1, 1_000_000)


def jobs(text: str) -> int:
    """How many jobs."""
    return number(text, 1, 1_000_000)


def uid(text: str) -> int:
    """A user id."""
    return number(text, 0, 2**32 - 2)


def seconds(text: str) -> float:
    """Whole seconds, at most a day."""
    return float(number(text.removesuffix(".0"), 1, 86_400))


def port_range(text: str) -> PortRange:
    """`FIRST-LAST`."""
    first, dash, last = text.partition("-")
    if not dash:
        raise ValueError(f"{text!r} is not a range like 32768-65535")
    ports = PortRange(port(first.strip()), port(last.strip()))
    if ports.first > ports.last:
        raise ValueError(f"{text!r} ends before it begins")
    return ports


def domain(text: str) -> str:
    """A host name in lower case, without the root's dot."""
    name = text.strip().rstrip(".").lower()
    if not _DOMAIN.fullmatch(name) or name.rpartition(".")[2].isdigit():
        raise ValueError(f"{text!r} is not a host name (write other scripts in their xn-- form)")
    return name


def origin(text: str) -> str:
    """Scheme, host and port of a web address, the default port left out, without a trailing slash."""
    wrong = f"{text!r} is not an address like https://console.example.com:8443, without a path"
    try:
        url = urlsplit(text.strip())
        port = url.port
    except ValueError:
        raise ValueError(wrong) from None
    bare = url.path in ("", "/") and not url.query and not url.fragment and "@" not in url.netloc
    if url.scheme not in ("http", "https") or not url.hostname or not bare:
        raise ValueError(wrong)
    host = f"[{url.hostname}]" if ":" in url.hostname else url.hostname
    default = {"http": 80, "https": 443}[url.scheme]
    return f"{url.scheme}://{host}" + (f":{port}" if port and port != default else "")


def secure_url(text: str) -> str:
    """An https address with a path."""
    url = urlsplit(line(text))
    if url.scheme != "https" or not url.hostname or "@" in url.netloc or len(text) > _URL_CHARACTERS:
        raise ValueError(f"{text!r} is not an https:// address like https://acme.example.org/directory")
    return text.strip()


def mail_address(text: str) -> str:
    """An e-mail address."""
    if not _MAIL.fullmatch(text.strip()):
        raise ValueError(f"{text!r} is not an e-mail address")
    return text.strip()


def name_servers(text: str) -> tuple[NameServer, ...]:
    """Addresses with or without a port, by commas: `9.9.9.9,127.0.0.1:5353,[2620:fe::fe]:53`."""
    return tuple(_name_server(part.strip()) for part in text.split(","))


def _name_server(text: str) -> NameServer:
    match = _NAME_SERVER.fullmatch(text)
    if match is None:
        return NameServer(address(text), 53)
    return NameServer(address(match[1] or match[2]), port(match[3]))


def password(text: str) -> str | None:
    """A password that a person chose."""
    if not 8 <= len(text) <= 1024:
        raise ValueError("a password has 8 to 1,024 characters")
    return text


def database(text: str) -> str:
    """A database address with the driver that the store uses."""
    scheme, rest, tail = text.partition("://")
    drivers = {
        "sqlite": "sqlite+aiosqlite",
        "sqlite+aiosqlite": "sqlite+aiosqlite",
        "postgres": "postgresql+asyncpg",
        "postgresql": "postgresql+asyncpg",
        "postgresql+asyncpg": "postgresql+asyncpg",
    }
    if not rest or scheme not in drivers:
        raise ValueError("it begins with postgresql:// or sqlite:///")  # the rest may hold a password: not repeated
    return f"{drivers[scheme]}://{tail}"


def switch(text: str) -> bool:
    """1 or 0, and the usual words for them."""
    known = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
    if text.lower() not in known:
        raise ValueError(f"{text!r} is neither 1 nor 0")
    return known[text.lower()]
