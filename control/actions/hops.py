"""The hop: how a sign-in on the console becomes a visit to an entry on another origin (research: http, 2.6).

Control decides the right and makes a one-time code, bound to the entry, the browser (its challenge) and
the sign-in. Where the browser goes next is the entry's own origin, never an address out of the request.
"""

from __future__ import annotations

import re
import secrets
from typing import Final
from urllib.parse import urlencode

from control.actions.acting import acting
from control.actions.context import Context, Person
from control.actions.rights import passable_entry
from control.actions.sessions import digest
from control.domain.entries import url_of
from control.domain.errors import Code, FieldCode, fault, invalid, problem
from control.domain.jobs.states import ENDED
from control.store import shares
from gateway.contract.routes import Protocol

CODE_S: Final = 60.0
_CODE_BYTES: Final = 32
_STATE: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")
_CHALLENGE: Final = re.compile(r"[A-Za-z0-9_-]{43}")
"""SHA-256 in base64url without padding."""
_CALLBACK: Final = ".starlight/callback"


async def hop(ctx: Context, who: Person, label: str, state: str, challenge: str) -> str:
    """The address at which the entry's gateway takes the code.

    Raises ProblemError INVALID_INPUT, NOT_FOUND, ENTRY_FORBIDDEN, JOB_ENDED, or SIGN_IN for one who came by an
    API token: a hop carries a console sign-in, so that ending it ends the visit.
    """
    _check(state, challenge)
    if who.session_id is None:
        raise problem(Code.SIGN_IN)
    code = secrets.token_urlsafe(_CODE_BYTES)
    async with acting(ctx, who, "entry.hop", f"entry:{label[:40]}") as act:
        entry, job = await passable_entry(act.session, who, label, act.now)
        if job.state in ENDED:
            raise problem(Code.JOB_ENDED, job=job.id)
        if entry.protocol not in (Protocol.HTTP, Protocol.HTTPS):
            raise problem(Code.NOT_FOUND, what=label)
        await shares.add_hop(
            act.session,
            code_hash=digest(code),
            entry_id=entry.id,
            session_id=who.session_id,
            user_id=who.id,
            challenge=challenge,
            expires_at=act.now + CODE_S,
        )
    origin = url_of(entry.protocol, entry.host, entry.port)
    return f"{origin}{_CALLBACK}#{urlencode({'state': state, 'code': code})}"


def _check(state: str, challenge: str) -> None:
    faults = []
    if not _STATE.fullmatch(state):
        faults.append(fault("state", FieldCode.INVALID, why="base64url"))
    if not _CHALLENGE.fullmatch(challenge):
        faults.append(fault("challenge", FieldCode.INVALID, why="SHA-256, base64url"))
    if faults:
        raise invalid(*faults)
