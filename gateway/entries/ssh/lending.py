"""What a client lends the programs of its session: its ssh agent (`ssh -A`) and its X display (`ssh -X`).

Both are listeners in the job for as long as the session. What the job's environment cannot give is
done without: the session begins all the same, and programs find no agent or display.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from typing import Any, Final

from gateway.core.decide import Admission
from gateway.entries.ssh import back
from gateway.entries.ssh.guest import Guest
from gateway.wire.bridge import DialFault

_PROTOCOL: Final = b"MIT-MAGIC-COOKIE-1"
_COOKIE: Final = re.compile(rb"(?:[0-9a-fA-F]{2}){1,64}")
_SCREENS: Final = 256


@dataclass(frozen=True, slots=True)
class Display:
    """An X display of the client. It made up the cookie, in hex, for this session, and checks it itself."""

    protocol: str
    cookie: str
    screen: int


def display(protocol: bytes, cookie: bytes, screen: int) -> Display | None:
    """The display that an x11-req asks for (RFC 4254 section 6.3.1); None for what no program would understand."""
    if protocol != _PROTOCOL or _COOKIE.fullmatch(cookie) is None or screen >= _SCREENS:
        return None
    return Display(protocol.decode(), cookie.decode(), screen)


@asynccontextmanager
async def agent_lent(guest: Guest, admission: Admission) -> AsyncIterator[dict[str, str]]:
    """The client's agent on a socket of the job, and the variable that names it."""
    async with _lent(guest, admission, {"agent": True}, back.AGENT) as told:
        yield _named({"SSH_AUTH_SOCK": told.get("path")})


@asynccontextmanager
async def display_lent(guest: Guest, admission: Admission, wanted: Display) -> AsyncIterator[dict[str, str]]:
    """The client's display as one of the job's own, and the variables that name it and the file with its cookie."""
    async with _lent(guest, admission, {"display": asdict(wanted)}, back.X11) as told:
        yield _named({"DISPLAY": told.get("display"), "XAUTHORITY": told.get("xauthority")})


@asynccontextmanager
async def _lent(
    guest: Guest, admission: Admission, where: dict[str, Any], kind: back.Kind
) -> AsyncIterator[dict[str, Any]]:
    try:
        lending = await back.lend(guest, admission, where, kind)
    except DialFault:
        yield {}
        return
    with lending:
        yield dict(lending.told)


def _named(variables: dict[str, Any]) -> dict[str, str]:
    return {name: value for name, value in variables.items() if isinstance(value, str)}
