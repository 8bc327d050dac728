"""The gateway's own responses: pages for browsers, problem+json for programs, both with the same reason header.

Pages and problems are never cached, sniffed or framed; what the request held is not echoed back.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from gateway.core import challenges
from gateway.core.http1 import RequestHead, tokens
from gateway.core.refusals import Code, Refusal, next_step, sentence, status
from gateway.core.table import Table
from gateway.entries.pages import Page, refusal_page
from gateway.entries.pages.refusal import REFRESH_S, WAITED_FOR

Header = tuple[str, str]
"""A header line of our own: name and value."""
_ALWAYS: Final[tuple[Header, ...]] = (("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"))


def language_of(head: RequestHead | None) -> str:
    """`en` when the person prefers it over Chinese, else `zh` (Accept-Language in its order, RFC 9110, 12.5.4)."""
    for preferred in tokens(head.value(b"accept-language")) if head is not None else ():
        for language in ("zh", "en"):
            if preferred.startswith(language.encode()):
                return language
    return "zh"


def is_navigation(head: RequestHead) -> bool:
    """Whether a browser loads this as a page: only then may an answer be a page or a redirect to sign-in.

    Sec-Fetch-Mode tells exactly; for clients without it (plain http hosts get none) Accept has to do.
    """
    if head.method not in (b"GET", b"HEAD") or head.value(b"upgrade") is not None:
        return False
    mode = head.value(b"sec-fetch-mode")
    if mode is not None:
        return mode == b"navigate"
    return any(part.startswith(b"text/html") for part in tokens(head.value(b"accept")))


def answer(
    head: RequestHead | None,
    code: int,
    body: bytes,
    media_type: str,
    *,
    headers: Sequence[Header] = (),
    cache: str = "no-store",
    closes: bool = False,
) -> bytes:
    """A whole response; of one to HEAD only the head. `headers` are added to those that every answer has."""
    described = (("Content-Type", media_type), ("Content-Length", str(len(body))), ("Cache-Control", cache))
    said = [*described, *_ALWAYS, *headers]
    if closes:
        said.append(("Connection", "close"))
    lines = [f"HTTP/1.1 {code} {HTTPStatus(code).phrase}", *(f"{name}: {value}" for name, value in said)]
    bodyless = head is not None and head.method == b"HEAD"
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + (b"" if bodyless else body)


def page_answer(head: RequestHead | None, code: int, page: Page, **more: Any) -> bytes:
    """A page of ours; `more` as for answer()."""
    headers = [("Content-Security-Policy", page.policy), *more.pop("headers", ())]
    return answer(head, code, page.html.encode(), "text/html; charset=utf-8", headers=headers, **more)


def json_answer(head: RequestHead | None, code: int, body: Mapping[str, Any], **more: Any) -> bytes:
    """A JSON answer of ours; `more` as for answer()."""
    return answer(head, code, _json(body), "application/json", **more)


def redirect(head: RequestHead, url: str, *, headers: Sequence[Header], closes: bool, code: int = 303) -> bytes:
    """Sends a browser on to `url`."""
    return answer(head, code, b"", "text/plain", headers=[("Location", url), *headers], closes=closes)


def refuse(
    head: RequestHead | None,
    refusal: Refusal,
    *,
    console_url: str,
    closes: bool,
    code: int | None = None,
    login_url: str | None = None,
    label: str = "",
    more: Sequence[Header] = (),
) -> bytes:
    """The answer to a refused request: a page for a navigation, else problem+json (RFC 9457).

    `code` is a status more exact than the refusal's own; `login_url` is where a program's user may sign in,
    `label` the entry's, for whose share code there is a box; `more` are further header lines.
    """
    code = code or status(refusal)
    language = language_of(head)
    headers = [("X-Starlight-Reason", str(refusal.code)), *more]
    if refusal.retry_s is not None or refusal.code in WAITED_FOR:
        headers.append(("Retry-After", str(refusal.retry_s or REFRESH_S)))
    if code == HTTPStatus.UNAUTHORIZED:
        headers.append(("WWW-Authenticate", 'Starlight realm="access entry"'))
    if head is not None and is_navigation(head):
        page = refusal_page(refusal, language, console_url, label=label, nonce=secrets.token_urlsafe(16))
        return page_answer(head, code, page, headers=headers, closes=closes)
    problem = _problem(refusal, code, language) | ({"login_url": login_url} if login_url else {})
    return answer(head, code, _json(problem), "application/problem+json", headers=headers, closes=closes)


def validation(table: Table, head: RequestHead | None, refusal: Refusal, *, closes: bool) -> bytes | None:
    """What a certificate authority that looks at a domain gets, where no entry of that name lives on the port."""
    if head is None or refusal.code is not Code.UNKNOWN_HOST:
        return None
    shown = challenges.http_answer(table, head)
    return None if shown is None else answer(head, HTTPStatus.OK, shown, challenges.MEDIA_TYPE, closes=closes)


def malformed(status_code: int) -> Refusal:
    """The refusal of a request that the parser turned down."""
    return Refusal(Code.TOO_LARGE if status_code == HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE else Code.BAD_REQUEST)


def _problem(refusal: Refusal, code: int, language: str) -> dict[str, Any]:
    named = {"job": refusal.job_id, "entry": refusal.entry_name}
    return {
        "type": "about:blank",
        "code": str(refusal.code),
        "status": code,
        "title": sentence(refusal, language),
        "detail": next_step(refusal, language),
    } | {name: value for name, value in named.items() if value}


def _json(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode()
