"""GET /healthz."""

from __future__ import annotations

from tests.control.api.desk import Desk


async def test_health_names_what_is_missing(desk: Desk) -> None:
    """200 once a job can be submitted and every gateway has a snapshot; else 503 and why."""

    async def health() -> tuple[int, object]:
        async with desk.http.get(f"{desk.base}/healthz") as answer:
            return answer.status, await answer.json()

    assert await health() == (503, {"ok": False, "missing": ["first administrator"]})
    await desk.add_user("alice")
    assert await health() == (200, {"ok": True})
    desk.gateways.absent = ("ssh",)
    desk.runtime.is_away = True
    assert await health() == (503, {"ok": False, "missing": ["cluster local", "gateway ssh"]})
