"""Domains of entries' own: how one is written, which are ours and never anybody's, how its owner is known.

A domain serves one entry at a time. Whose it is shows by a publicly trusted certificate, by a TXT record
that only its owner can set, by a certificate that an authority gave over ACME, or by an administrator's word.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

import idna

from control.domain.acme import Method
from control.domain.errors import FieldCode, FieldFault, fault

PEM_CHARACTERS: Final = 256 * 1024
PASSWORD_CHARACTERS: Final = 1024
WARN_DAYS: Final = (30, 14, 7, 1)
"""Days before its end at which a certificate's owner is warned; 0 is the end itself."""
TXT_LABEL: Final = "_starlight"
FIELDS: Final = ("domain", "certificate", "private_key", "private_key_password", "acme", "acme_challenge")
_PAIR: Final = ("certificate", "private_key", "private_key_password")
_DAY_S: Final = 24 * 3600.0
_LABEL: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")


class Proof(StrEnum):
    """How a domain's owner is known."""

    CHAIN = "chain"
    DNS = "dns"
    ADMIN = "admin"
    ACME = "acme"


class Pointing(StrEnum):
    """Whether a domain leads to this platform; unknown when nobody answered or no public address is set."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Sight:
    """A domain as the public sees it. `texts` are its proof records, empty also when nobody answered."""

    texts: frozenset[str]
    addresses: tuple[str, ...]
    pointing: Pointing


@dataclass(frozen=True, slots=True)
class DomainWish:
    """A domain, and the certificate and key to serve it with, as they were brought: PEM texts, not looked at yet.

    `domain` None stands for the one that the entry has. With `acme` none are brought: an authority is asked, this way.
    """

    domain: str | None
    certificate: str = ""
    private_key: str = field(default="", repr=False)
    password: str | None = field(default=None, repr=False)
    acme: Method | None = None


def read_wish(
    plain: dict[str, Any], path: str, *, has_domain: bool = False
) -> tuple[DomainWish | None, list[FieldFault]]:
    """The wish among an entry's fields, or None when they hold none, with everything that is wrong with it.

    `has_domain`: the entry has one already, so that certificate and key may come alone.
    """
    given = {name: plain[name] for name in FIELDS if plain.get(name) not in (None, "", False)}
    if "acme" in given or "acme_challenge" in given:
        return _read_acme(given, path, has_domain=has_domain)
    faults = [
        fault(path + name, FieldCode.TYPE, wanted="text") for name, value in given.items() if not isinstance(value, str)
    ]
    if not given or faults:
        return None, faults
    for name, value in given.items():
        limit = PASSWORD_CHARACTERS if name == "private_key_password" else PEM_CHARACTERS
        if len(value) > limit:
            faults.append(fault(path + name, FieldCode.TOO_LONG, maximum=limit))
    domain = read_domain(given["domain"]) if "domain" in given else None
    if "domain" in given and domain is None:
        faults.append(fault(path + "domain", FieldCode.DOMAIN_FORM))
    needed = ("certificate", "private_key") if has_domain else ("domain", "certificate", "private_key")
    faults += [fault(path + name, FieldCode.REQUIRED) for name in needed if name not in given]
    if faults:
        return None, faults
    return DomainWish(domain, given["certificate"], given["private_key"], given.get("private_key_password")), []


def _read_acme(given: dict[str, Any], path: str, *, has_domain: bool) -> tuple[DomainWish | None, list[FieldFault]]:
    """The wish for a certificate that an authority gives: how it may look, and no certificate beside it."""
    faults = [fault(path + name, FieldCode.NOT_ALLOWED) for name in _PAIR if name in given]
    if given.get("acme") is not True:
        wanted = FieldCode.REQUIRED if "acme" not in given else FieldCode.TYPE
        faults.append(fault(path + "acme", wanted, wanted="true, false"))
    method = given.get("acme_challenge", Method.HTTP.value)
    if method not in set(Method):
        faults.append(fault(path + "acme_challenge", FieldCode.NOT_ONE_OF, allowed=", ".join(Method)))
    name = given.get("domain")
    domain = read_domain(name) if isinstance(name, str) else None
    if domain is None and (name is not None or not has_domain):
        faults.append(fault(path + "domain", FieldCode.DOMAIN_FORM if name is not None else FieldCode.REQUIRED))
    return (None, faults) if faults else (DomainWish(domain, acme=Method(method)), [])


def read_domain(text: str) -> str | None:
    """A host name as it is kept: lower case, other scripts in their `xn--` form; None for what is none.

    An address, a single label and a wildcard are none.
    """
    name = text.strip().rstrip(".")
    if len(name) > 253 or not name.isprintable():
        return None
    if not name.isascii():
        try:
            name = idna.encode(name, uts46=True).decode()
        except (idna.IDNAError, UnicodeError):
            return None
    labels = name.lower().split(".")
    if len(labels) < 2 or labels[-1].isdigit() or not all(_LABEL.fullmatch(label) for label in labels):
        return None
    return ".".join(labels) if len(name) <= 253 else None


def is_ours(domain: str, own: Iterable[str]) -> bool:
    """Whether a domain is one of the platform's own names or lies below one."""
    return any(domain == name or domain.endswith("." + name) for name in own if name)


def lineage(domain: str) -> tuple[str, ...]:
    """The domain and the names above it, without the last label: a top-level domain is nobody's."""
    labels = domain.split(".")
    return tuple(".".join(labels[start:]) for start in range(len(labels) - 1))


def txt_name(domain: str) -> str:
    """Where the TXT record that proves a domain's owner stands."""
    return f"{TXT_LABEL}.{domain}"


def pointing(found: Iterable[str], public: Iterable[str]) -> Pointing:
    """Whether a domain with these addresses leads to a platform with those."""
    wanted = {_address(text) for text in public}
    if not wanted:
        return Pointing.UNKNOWN
    return Pointing.YES if wanted & {_address(text) for text in found} else Pointing.NO


def days_left(not_after: float, now: float) -> int:
    """Whole days until a certificate's end; negative after it."""
    return int((not_after - now) // _DAY_S)


def due_warning(not_after: float, now: float) -> int | None:
    """The smallest of WARN_DAYS that has come, 0 after the end, None while there is time."""
    if now >= not_after:
        return 0
    return min((days for days in WARN_DAYS if not_after - now <= days * _DAY_S), default=None)


def _address(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return text
