"""The application: how a call goes through it, and what stands beside the API."""

from __future__ import annotations

from tests.control.api.desk import Caller, Desk


async def test_the_page_is_served_beside_the_api(desk: Desk) -> None:
    """Everything that is not the API's is the console's."""
    async with desk.http.get(f"{desk.base}/jobs/jupyter-17") as page:
        assert (page.status, await page.text()) == (200, "<title>console</title>")
    async with desk.http.get(f"{desk.base}/api/v2/jobs") as nothing:
        assert (nothing.status, nothing.content_type) == (404, "application/problem+json")


async def test_credentials_are_looked_at_before_the_body(desk: Desk) -> None:
    """A stranger learns nothing about shapes, and makes nobody read a large body."""
    refused = await desk.anyone.post("/jobs", {"no": "shape"})
    assert (refused.status, refused.code) == (401, "sign_in_required")


async def test_an_answer_says_its_kind_and_is_not_kept(alice: Caller) -> None:
    """JSON in UTF-8; caches keep none of it."""
    answer = await alice.get("/me")
    assert answer.raw.headers["Content-Type"] == "application/json; charset=utf-8"
    assert answer.raw.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.raw.headers["Cache-Control"] == "no-store"


async def test_administrators_calls_are_theirs_alone(alice: Caller) -> None:
    """Whatever stands in the path."""
    assert (await alice.get("/users/nobody")).code == "admin_only"
