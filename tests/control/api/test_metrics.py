"""GET /metrics: for administrators, and for a scraper on this machine."""

from __future__ import annotations

import pytest

from control.api import metrics
from control.domain.people import Role
from tests.control.api.desk import Desk


async def asked(desk: Desk, authorization: str | None) -> tuple[int, str]:
    """Status and text."""
    headers = {} if authorization is None else {"Authorization": authorization}
    async with desk.http.get(f"{desk.base}/metrics", headers=headers) as answer:
        return answer.status, await answer.text()


async def test_a_scraper_and_an_administrator_read_them(desk: Desk) -> None:
    """In the text format; nobody else does."""
    status, text = await asked(desk, "Bearer scrape-token")
    assert status == 200
    assert "starlight_control_visits_open 0.0" in text
    root = await desk.person("root", Role.ADMIN)
    assert (await asked(desk, root.headers["Authorization"]))[0] == 200
    alice = await desk.person("alice")
    assert (await asked(desk, alice.headers["Authorization"]))[0] == 403
    for other in (None, "Bearer", "Bearer wrong", "Basic scrape-token", "Bearer scrape-tokeñ"):
        assert (await asked(desk, other))[0] == 401


async def test_the_scrapers_token_counts_from_this_machine_only(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """From elsewhere it is a token like any wrong one; and it opens no other call."""
    assert (await desk.anyone.get("/me", headers={"Authorization": "Bearer scrape-token"})).status == 401
    for address in ("192.0.2.7", "unknown"):
        monkeypatch.setattr(metrics, "address_of", lambda _, address=address: address)
        assert (await asked(desk, "Bearer scrape-token"))[0] == 401
