"""Certificates that an authority gives over ACME (RFC 8555): how it looks, where that stands, when to ask again.

Who is refused asks again later and later: authorities count failures (some allow five in an hour for one domain), and
a domain that does not lead here yet is mended by a person, not by haste.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

HOUR_S: Final = 3600.0
FIRST_RETRY_S: Final = 300.0
AWAY_RETRY_S: Final = 30.0
LONGEST_RETRY_S: Final = 24 * HOUR_S
LONGEST_AWAY_S: Final = HOUR_S
TRIES_PER_HOUR: Final = 4
"""How often a domain is asked for in an hour, a person's own tries included; authorities allow five failures."""
DOMAINS_PER_DAY: Final = 20
"""New domains that one person may ask for in a day: the authority's own limits are shared by everybody here."""
DAY_S: Final = 24 * HOUR_S
DETAIL_CHARACTERS: Final = 600
_SPREAD: Final = 0.2


class Method(StrEnum):
    """How the authority sees that a domain is ours: on port 80, on port 443, or by a record that a person sets."""

    HTTP = "http-01"
    TLS = "tls-alpn-01"
    DNS = "dns-01"


class Stage(StrEnum):
    """Where it stands. `by_hand`: a person has to set a record and say so."""

    WAITING = "waiting"
    BY_HAND = "by_hand"
    LOOKING = "looking"
    ISSUING = "issuing"
    ISSUED = "issued"
    FAILED = "failed"


WORLD_PORTS: Final = {Method.HTTP: 80, Method.TLS: 443}
"""The ports that authorities call, and no others (RFC 8555 section 8.3, RFC 8737 section 3)."""


@dataclass(frozen=True, slots=True)
class Complaint:
    """Why there is no certificate, in the authority's own words. `kind` is the last part of the error's type.

    `away`: nobody answered, so that nothing was refused and the order stands.
    """

    kind: str
    detail: str
    away: bool = False

    def plain(self, at: float) -> dict[str, Any]:
        """As it is stored."""
        return {"kind": self.kind, "detail": self.detail, "away": self.away, "at": at}


@dataclass(frozen=True, slots=True)
class Facts:
    """What an order's row says of where it stands."""

    method: Method
    is_open: bool
    is_shown: bool
    goes_on: bool
    is_answered: bool
    is_final: bool
    has_pair: bool
    is_refused: bool


def stage(facts: Facts) -> Stage:
    """Where it stands, in one word."""
    if not facts.is_open:
        if facts.is_refused:
            return Stage.FAILED
        return Stage.ISSUED if facts.has_pair else Stage.WAITING
    if facts.is_final:
        return Stage.ISSUING
    if facts.method is Method.DNS and facts.is_shown and not facts.goes_on:
        return Stage.BY_HAND
    return Stage.LOOKING if facts.is_answered else Stage.WAITING


def wait_s(complaint: Complaint, failures: int, told_s: float | None, chance: float) -> float:
    """Seconds until the next try after so many failures in a row.

    `told_s` is what the authority said (Retry-After), `chance` a number from 0 to 1 that spreads the tries of many.
    """
    first, longest = (AWAY_RETRY_S, LONGEST_AWAY_S) if complaint.away else (FIRST_RETRY_S, LONGEST_RETRY_S)
    if complaint.kind == "rateLimited":
        first = HOUR_S
    wait: float = min(first * 2 ** min(failures - 1, 16), longest)
    return max(wait, told_s or 0.0) * (1 + _SPREAD * chance)


def wait_for_try_s(tries: Sequence[float], now: float) -> int:
    """Whole seconds until a person may have it tried again; 0 when now."""
    recent = sorted(at for at in tries if now - at < HOUR_S)
    if len(recent) < TRIES_PER_HOUR:
        return 0
    return max(1, round(recent[-TRIES_PER_HOUR] + HOUR_S - now))


def renew_at(not_before: float, not_after: float) -> float:
    """When to ask for the next certificate: at two thirds of the life of this one."""
    return not_after - (not_after - not_before) / 3


def renews_itself(failures: int, due: float | None, now: float) -> bool:
    """Whether a certificate's end is nothing to warn of: the next one is not `due`, or just being asked for."""
    return failures == 0 and due is not None and now < due + DAY_S


def landing(method: Method, acme_port: int | None, entry_port: int) -> tuple[int, int] | None:
    """The port that authorities call and ours that has to be behind it; None where no port is called.

    `acme_port` is the one bound for authorities alone, `entry_port` that of the entries, which answer too.
    """
    world = WORLD_PORTS.get(method)
    return None if world is None else (world, acme_port or entry_port)
