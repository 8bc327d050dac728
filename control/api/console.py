"""Serves the console's built pages: hashed assets for ever, the page itself fresh, under a strict policy.

Any path without a dot that is not the API's is a view of the page (a SPA route), so it gets index.html.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from aiohttp import web

from control.api.language import language_of

_POLICY: Final = (
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_HEADERS: Final = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_FOR_EVER: Final = "public, max-age=31536000, immutable"
_NOT_BUILT: Final = {
    "zh": "控制台页面尚未构建。请运行 make start。",
    "en": "The console's pages are not built yet. Run make start.",
}


def serve_console(pages: Path) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """A handler for every GET that is not the API's, from the folder that the console's build made."""
    root = pages.resolve()

    async def page(request: web.Request) -> web.StreamResponse:
        """A file of the build, or the page itself."""
        name = request.match_info["name"]
        if "." not in name.rpartition("/")[2]:
            return _index(root, request)
        file = _file(root, name)
        if file is None:
            raise web.HTTPNotFound
        cache = _FOR_EVER if name.startswith("assets/") else "no-cache"
        return web.FileResponse(file, headers=_HEADERS | {"Cache-Control": cache})

    return page


def _file(root: Path, name: str) -> Path | None:
    """The file of the build with this name. A name that no file can have (too long, with NUL) is nobody's."""
    try:
        file = (root / name).resolve()
        return file if file.is_relative_to(root) and file.is_file() else None
    except (OSError, ValueError):
        return None


def _index(root: Path, request: web.Request) -> web.StreamResponse:
    file = root / "index.html"
    if not file.is_file():
        return web.Response(status=503, text=_NOT_BUILT[language_of(request)] + "\n", headers={"Retry-After": "10"})
    return web.FileResponse(file, headers=_HEADERS | {"Cache-Control": "no-cache"})
