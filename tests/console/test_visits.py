"""Who is connected, on an entry's card: listed while it is open, and cut with a button."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.console.conftest import OpenPage
from tests.system.product import Person, eventually
from tests.system.test_http_entries import APP, echo, gone, tunnel


@pytest.fixture
def served(newcomer: Person) -> dict[str, Any]:
    """A job of the newcomer whose app keeps connections open."""
    web = {"name": "web", "protocol": "http", "level": "private", "target_port": "auto"}
    job = newcomer.run(["python3", "-c", APP], name="visited", entries=[web])
    eventually(lambda: b"serving" in newcomer.logs(job["id"]), what="the app serving")
    return job


def test_the_owner_sees_who_is_connected_and_cuts(
    open_page: OpenPage, newcomer: Person, served: dict[str, Any]
) -> None:
    """The list fills by itself; after the cut the connection is gone, and so is its line."""
    with tunnel(newcomer.product, newcomer.entry(served, "web"), newcomer) as sock:
        assert echo(sock)
        card = open_page(newcomer, f"/jobs/{served['id']}").page.locator("li.card", has_text="web")
        card.get_by_text("谁在连接").click()
        line = card.get_by_role("list", name="谁在连接").get_by_role("listitem")
        expect(line).to_have_count(1, timeout=10_000)
        expect(line).to_contain_text(newcomer.name)
        expect(line).to_contain_text("127.0.0.1")
        line.get_by_role("button", name="断开").click()
        expect(card.get_by_text("现在没有人连接")).to_be_visible(timeout=10_000)
        assert gone(sock)


def test_the_list_speaks_english_too(open_page: OpenPage, newcomer: Person, served: dict[str, Any]) -> None:
    """Nobody is there, and it says so."""
    card = open_page(newcomer, f"/jobs/{served['id']}", language="en").page.locator("li.card", has_text="web")
    card.get_by_text("Who is connected").click()
    expect(card.get_by_text("Nobody is connected now")).to_be_visible()
