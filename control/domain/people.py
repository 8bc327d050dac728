"""People: user names, passwords and roles; when a wrong password is one too many."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from ipaddress import IPv6Address, IPv6Network, ip_address
from typing import Final

from control.domain.errors import FieldCode, FieldFault, fault

PASSWORD_CHARACTERS: Final = (8, 1024)
FAILURE_WINDOW_S: Final = 300.0
PAIR_FAILURES: Final = 10
"""Wrong passwords for one account from one address in the window, after which that pair has to wait."""
ADDRESS_FAILURES: Final = 50
"""Wrong passwords from one address in the window, for any accounts, after which the address has to wait."""
_ONE_LINE_BITS: Final = 64
"""Of an IPv6 address: what one line is given. Whoever has it has 2^64 addresses to try from."""
_USER_NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,31}")


class Role(StrEnum):
    """What a person is on the platform."""

    USER = "user"
    ADMIN = "admin"


def user_name_fault(name: str, field: str = "username") -> FieldFault | None:
    """What is wrong with a user name, or None."""
    return None if _USER_NAME.fullmatch(name) else fault(field, FieldCode.USER_NAME)


def password_fault(password: str, field: str = "password") -> FieldFault | None:
    """What is wrong with a new password, or None. Length is the only rule."""
    shortest, longest = PASSWORD_CHARACTERS
    if len(password) < shortest:
        return fault(field, FieldCode.TOO_SHORT, minimum=shortest)
    if len(password) > longest:
        return fault(field, FieldCode.TOO_LONG, maximum=longest)
    return None


def counted_address(address: str) -> str:
    """The address under which wrong attempts are counted: of IPv6 the network of one line, of IPv4 the address.

    What is no address (a caller on a Unix socket) counts as it is.
    """
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(IPv6Network((parsed, _ONE_LINE_BITS), strict=False))


def wait_before_attempt_s(pair: Sequence[float], address: Sequence[float], now: float) -> int:
    """Whole seconds to wait before the next password is looked at; 0 when it may be tried now.

    `pair` holds the instants of recent wrong passwords for this account from this address, `address`
    those from this address for any account. There is no limit on the account alone, which would
    let a stranger lock its owner out: a password from a fresh address is always looked at.
    """
    waits = (_wait_s(pair, PAIR_FAILURES, now), _wait_s(address, ADDRESS_FAILURES, now))
    return max(waits)


def _wait_s(failures: Sequence[float], limit: int, now: float) -> int:
    recent = sorted(at for at in failures if now - at < FAILURE_WINDOW_S)
    if len(recent) < limit:
        return 0
    return max(1, round(recent[-limit] + FAILURE_WINDOW_S - now))
