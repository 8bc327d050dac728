"""Entries in a real browser by HTTP/2: hosts that share a certificate, and a WebSocket within a connection."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.console.conftest import OpenPage
from tests.system.product import Person, eventually

APP = (Path(__file__).parents[1] / "system" / "app.py").read_text()
ENTRIES = [
    {"name": "web", "protocol": "https", "level": "private", "target_port": "auto", "port": "fixed"},
    {"name": "idle", "protocol": "https", "level": "private", "target_port": "auto", "port": "fixed"},
]
TERMINAL = {"name": "term", "protocol": "https", "level": "private", "service": "terminal", "port": "fixed"}
HOW = "performance.getEntriesByType('navigation')[0].nextHopProtocol"


def opened(page: Page, url: str) -> tuple[int, str]:
    """The status of a page, signed in, and the protocol by which it came."""
    page.goto(url)
    page.wait_for_url(url)  # behind the sign-in hop
    response = page.reload()
    assert response is not None
    return response.status, page.evaluate(HOW)


@pytest.mark.slow
def test_hosts_that_share_a_certificate(open_page: OpenPage, newcomer: Person) -> None:
    """Chromium may put requests for one on the other's connection (B57): it is told, and opens another."""
    job = newcomer.run(["python3", "-c", APP], name="app", entries=ENTRIES)
    eventually(lambda: b"serving" in newcomer.logs(job["id"]), what="the app serving")
    visit = open_page(newcomer, "/jobs", ignore_https_errors=True)
    page = visit.page
    web, idle = newcomer.entry(job, "web")["url"], newcomer.entry(job, "idle")["url"]
    for _ in range(2):
        assert opened(page, web) == (200, "h2")
        assert opened(page, idle) == (502, "h2")  # nobody listens there
    visit.faults.clear()  # the browser complains of each 502


@pytest.mark.slow
def test_a_terminals_websocket_goes_within_the_connection(open_page: OpenPage, newcomer: Person) -> None:
    """By extended CONNECT (RFC 8441): the page's own connection carries it."""
    job = newcomer.run(["sleep", "600"], name="shell", entries=[TERMINAL])
    page = open_page(newcomer, "/jobs", ignore_https_errors=True).page
    told: list[dict[str, Any]] = []
    session = page.context.new_cdp_session(page)
    session.on("Network.webSocketHandshakeResponseReceived", lambda event: told.append(event["response"]))
    session.send("Network.enable")
    page.goto(newcomer.entry(job, "term")["url"])
    expect(page.locator(".state[data-state=live]")).to_be_visible(timeout=20_000)
    page.keyboard.type("echo sum $((40+2))\n")
    expect(page.locator(".xterm-rows")).to_contain_text("sum 42", timeout=10_000)
    assert page.evaluate(HOW) == "h2"
    assert told[-1]["status"] == 200
