"""The terminal's page and files as answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.entries.http import assets
from tests.gateway.core.test_http1 import parsed


async def test_the_page_may_reach_its_own_socket_only(tmp_path: Path) -> None:
    """By both spellings that browsers know."""
    (tmp_path / "term.html").write_text("<title>t</title>")
    said = await assets.page(parsed(host="a.example:8443"), tmp_path, "https", closes=False)
    assert said.endswith(b"<title>t</title>")
    assert b"connect-src 'self' wss://a.example:8443; " in said
    assert b"Cache-Control: no-store\r\n" in said


@pytest.mark.parametrize(
    "name", ["", "a.html", "a", ".hidden.js", "a/b.js", "..", "%2e%2e.js", "a" * 200 + ".js", "n.js"]
)
async def test_names_that_are_none(tmp_path: Path, name: str) -> None:
    """Other types, other folders, files that are not there."""
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / ".hidden.js").write_text("x")
    with pytest.raises(FileNotFoundError):
        await assets.asset(parsed(start=f"GET /.starlight/assets/{name} HTTP/1.1"), tmp_path, closes=False)
