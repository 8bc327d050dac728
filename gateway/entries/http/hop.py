"""The hop: a browser signs in at the console and comes back to the entry with a ticket of its own.

1. `begin`: to the console, with a challenge; its secret stays in this browser, sealed in a cookie.
2. The console gives a one-time code, bound to entry, challenge and session, back to `callback`.
3. `exchange`: code and secret together, asked of control once, become the entry's cookie.
The path to return to comes out of the sealed cookie, never out of an address: no open redirect.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import secrets
from dataclasses import dataclass
from typing import Any, Final

from gateway.contract.routes import Entry
from gateway.core.headers import cookie_names, cookies_named
from gateway.core.http1 import RequestHead
from gateway.core.refusals import Code, Refusal
from gateway.core.tickets import Purpose, Visitor, by_session, entry_ticket
from gateway.entries.http import answers
from gateway.entries.http.admit import TICKET_COOKIE, Front, cookie_name
from gateway.entries.pages import callback_page
from gateway.wire.ask import SignedIn

CALLBACK: Final = b"/.starlight/callback"
EXCHANGE: Final = b"/.starlight/exchange"
STATE_COOKIE: Final = "starlight_state_"
STATE_S: Final = 600
TICKET_S: Final = 12 * 3600
BODY_LIMIT: Final = 4096
"""Bytes of the exchange's request body."""
_FEED_TRIES: Final = 40
_FEED_STEP_S: Final = 0.05
_ATTEMPTS_KEPT: Final = 3
"""Unfinished hops of one browser that may still be finished: tabs that were opened together."""
_PATH_LIMIT: Final = 1500
"""Bytes of the path that is returned to; a longer one would not fit the cookie, and the start page has to do."""


def login_url(front: Front, head: RequestHead) -> str:
    """What a program's user may open in a browser: the entry's own start page, which begins the hop."""
    return f"{front.scheme}://{head.host.decode('ascii')}/"


def begin(front: Front, head: RequestHead, entry: Entry, *, closes: bool) -> bytes:
    """The redirect of a navigation to the console."""
    gate = front.gate
    state, secret = secrets.token_urlsafe(12), secrets.token_urlsafe(32)
    payload = {
        "secret": secret,
        "path": _return_path(head.target),
        "entry_id": entry.id,
        "expires": gate.now() + STATE_S,
    }
    sealed = gate.seal(Purpose.HOP_STATE, payload)
    if sealed is None:
        return answers.refuse(head, Refusal(Code.CONTROL_AWAY), console_url=gate.config.console_url, closes=closes)
    url = f"{gate.config.console_url}/hop?entry={entry.label}&state={state}&challenge={_challenge(secret)}"
    cookies = [_cookie(front, STATE_COOKIE + state, sealed, STATE_S), *_old_attempts(front, head)]
    return answers.redirect(head, url, headers=cookies, closes=closes)


def callback(head: RequestHead, *, closes: bool) -> bytes:
    """The page that the console sends the browser back to."""
    nonce = secrets.token_urlsafe(16)
    return answers.page_answer(head, 200, callback_page(answers.language_of(head), nonce), closes=closes)


async def exchange(front: Front, head: RequestHead, entry: Entry, body: bytes, *, closes: bool) -> bytes | Refusal:
    """The answer to the callback page: the entry's cookie and the path to go on to, or why not."""
    outcome = await _exchange(front, head, entry, body)
    if isinstance(outcome, Refusal):
        return outcome
    cookies, path = outcome
    return answers.json_answer(head, 200, {"path": path}, headers=cookies, closes=closes)


async def _exchange(
    front: Front, head: RequestHead, entry: Entry, body: bytes
) -> tuple[list[answers.Header], str] | Refusal:
    asked = _read(body)
    state = _state(front, head, entry, asked.state) if asked else None
    if asked is None or state is None:
        return Refusal(Code.SIGN_IN, entry_name=entry.name)
    gate = front.gate
    signed_in = await gate.ask.exchange(entry.id, asked.code, _challenge(state["secret"]))
    if not isinstance(signed_in, SignedIn):
        return signed_in
    visitor = await _visitor(front, signed_in.session_id)
    if visitor is None:
        return Refusal(Code.SIGN_IN, entry_name=entry.name)
    ticket = gate.seal(Purpose.ENTRY_TICKET, entry_ticket(visitor, signed_in.session_id, entry, gate.now(), TICKET_S))
    if ticket is None:
        return Refusal(Code.CONTROL_AWAY)
    cookies = [_cookie(front, TICKET_COOKIE, ticket, TICKET_S), _cookie(front, STATE_COOKIE + asked.state, "", 0)]
    return cookies, state["path"]


async def _visitor(front: Front, session_id: str) -> Visitor | None:
    """The person of a session that control just vouched for; a brand-new one may reach our table a moment later."""
    table = front.gate.table
    for _ in range(_FEED_TRIES):
        session = table.session(session_id)
        if session is not None:
            return by_session(session, table)
        await asyncio.sleep(_FEED_STEP_S)
    return None


@dataclass(frozen=True, slots=True)
class _Asked:
    state: str
    code: str


def _read(body: bytes) -> _Asked | None:
    """What the callback page posts; None for anything else."""
    try:
        plain = json.loads(body)
    except ValueError:
        return None
    match plain:
        case {"state": str(state), "code": str(code)} if state.isascii() and len(state) <= 64 and len(code) <= 256:
            return _Asked(state, code)
        case _:
            return None


def _state(front: Front, head: RequestHead, entry: Entry, state: str) -> dict[str, Any] | None:
    """What `begin` sealed into this browser's cookie for this entry, while it is fresh."""
    name = cookie_name(STATE_COOKIE + state, front.scheme)
    for text in cookies_named(head, name.encode()):
        payload = front.gate.open_sealed(Purpose.HOP_STATE, text)
        if payload and payload["entry_id"] == entry.id and front.gate.now() < payload["expires"]:
            return payload
    return None


def _return_path(target: bytes) -> str:
    """The path on this host to come back to. One that a browser would read as another host becomes `/`."""
    path = target.decode("latin-1")
    harmless = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isascii()
    return path if harmless and len(path) <= _PATH_LIMIT else "/"


def _challenge(secret: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(secret.encode()).digest()).rstrip(b"=").decode()


def _cookie(front: Front, name: str, value: str, lifetime_s: int) -> answers.Header:
    """A cookie for this host alone that no script reads; over TLS it also never travels in the clear."""
    secure = "; Secure" if front.scheme == "https" else ""
    full = cookie_name(name, front.scheme)
    return "Set-Cookie", f"{full}={value}; Path=/; Max-Age={lifetime_s}; HttpOnly; SameSite=Lax{secure}"


def _old_attempts(front: Front, head: RequestHead) -> list[answers.Header]:
    """Takes back state cookies of hops that were never finished: they would pile up until the head is too large."""
    prefix = cookie_name(STATE_COOKIE, front.scheme).encode()
    names = [name for name in cookie_names(head) if name.startswith(prefix)]
    return [_cookie(front, STATE_COOKIE + name[len(prefix) :].decode(), "", 0) for name in names[:-_ATTEMPTS_KEPT]]
