"""The web terminal's page and its built files, served on the entry's own host to who may pass it."""

from __future__ import annotations

import asyncio
import re
from http import HTTPStatus
from pathlib import Path
from typing import Final

from gateway.core.http1 import RequestHead
from gateway.entries.http import answers

ASSETS: Final = b"/.starlight/assets/"
_NAME: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}")
_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}
_FOR_EVER: Final = "private, max-age=31536000, immutable"
"""Built files carry a hash of their content in their names."""


async def page(head: RequestHead, assets_dir: Path, scheme: str, *, closes: bool) -> bytes:
    """The terminal's page. Raises FileNotFoundError when the console was not built."""
    content = await asyncio.to_thread((assets_dir / "term.html").read_bytes)
    socket_origin = f"{'wss' if scheme == 'https' else 'ws'}://{head.host.decode()}"
    # xterm.js sets its cells' styles itself; its script comes from a file like all others.
    policy = (
        f"default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
        f"font-src 'self'; connect-src 'self' {socket_origin}; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    headers = [("Content-Security-Policy", policy)]
    return answers.answer(head, HTTPStatus.OK, content, "text/html; charset=utf-8", headers=headers, closes=closes)


async def asset(head: RequestHead, assets_dir: Path, *, closes: bool) -> bytes:
    """A built file by its one-part name. Raises FileNotFoundError when there is none of that name."""
    name = head.target.partition(b"?")[0].removeprefix(ASSETS).decode("latin-1")
    path = assets_dir / "assets" / name
    if not _NAME.fullmatch(name) or path.suffix not in _TYPES:
        raise FileNotFoundError(name)
    content = await asyncio.to_thread(path.read_bytes)
    return answers.answer(head, HTTPStatus.OK, content, _TYPES[path.suffix], cache=_FOR_EVER, closes=closes)
