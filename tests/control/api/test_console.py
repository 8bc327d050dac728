"""The console's built pages, served under a strict policy."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from yarl import URL

from control.api.console import serve_console

Client = TestClient[web.Request, web.Application]


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    """A small build: the page, a hashed asset, and a secret beside the folder."""
    (tmp_path / "secret.txt").write_text("never served")
    built = tmp_path / "dist"
    (built / "assets").mkdir(parents=True)
    (built / "index.html").write_text("<title>console</title>")
    (built / "assets" / "main-abc.js").write_text("page()")
    (built / "theme.js").write_text("theme()")
    return built


@pytest.fixture
async def client(pages: Path) -> AsyncIterator[Client]:
    """A client of a server that serves nothing but the pages."""
    app = web.Application()
    app.router.add_get("/{name:.*}", serve_console(pages))
    async with TestClient(TestServer(app)) as client:
        yield client


@pytest.mark.parametrize("path", ["/", "/jobs", "/jobs/jupyter-17", "/hop?entry=abc"])
async def test_every_view_of_the_page_is_the_page_itself(client: Client, path: str) -> None:
    """A reload anywhere in the page works: paths without a dot are views, fresh each time."""
    async with client.get(path) as answer:
        assert answer.status == 200
        assert await answer.text() == "<title>console</title>"
        assert answer.headers["Cache-Control"] == "no-cache"


async def test_the_page_may_run_nothing_but_its_own_scripts(client: Client) -> None:
    """The policy names no inline script or style, no other host, and forbids being framed."""
    async with client.get("/") as answer:
        policy = answer.headers["Content-Security-Policy"]
        assert "'unsafe" not in policy
        assert "default-src 'self'" in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] == "no-referrer"


async def test_hashed_assets_are_kept_for_ever_and_others_are_asked_again(client: Client) -> None:
    """A file whose name changes with its content never has to be asked for twice."""
    async with client.get("/assets/main-abc.js") as asset, client.get("/theme.js") as plain:
        assert asset.headers["Cache-Control"] == "public, max-age=31536000, immutable"
        assert plain.headers["Cache-Control"] == "no-cache"


@pytest.mark.parametrize(
    "path", ["/assets/gone.js", "/..%2fsecret.txt", "/%2e%2e/secret.txt", "/assets/..%2f..%2fsecret.txt"]
)
async def test_nothing_outside_the_build_is_served(client: Client, path: str) -> None:
    """A path that leads out of the folder finds nothing, however it is written."""
    async with client.get(path) as answer:
        assert answer.status == 404


@pytest.mark.parametrize("path", ["/a%00b.js", f"/{'a' * 3000}.js", f"/{'a/' * 3000}b.js", "/theme.js/x.js", "/%ff.js"])
async def test_a_name_that_no_file_can_have_finds_nothing(client: Client, path: str) -> None:
    """The file system refuses such names; that is an ordinary "not there", not a fault of the platform."""
    async with client.get(URL(path, encoded=True)) as answer:
        assert answer.status == 404


async def test_a_missing_build_is_said_in_a_sentence(client: Client, pages: Path) -> None:
    """Before `make start` has built the pages there is an instruction, not a stack."""
    (pages / "index.html").unlink()
    async with client.get("/", headers={"Accept-Language": "en"}) as answer:
        assert answer.status == 503
        assert "make start" in await answer.text()
