"""What there is: clusters, apps, the platform itself, and its health."""

from __future__ import annotations

from control.domain.apps import AppState, Installed
from control.domain.errors import Sentence
from tests.control.api.desk import GIB, Caller, Desk


async def test_clusters_say_what_they_can_do(alice: Caller) -> None:
    """The default one first, with its default partition."""
    [cluster] = (await alice.get("/clusters")).body
    assert (cluster["name"], cluster["kind"], cluster["healthy"], cluster["default"]) == ("local", "local", True, True)
    [partition] = cluster["partitions"]
    assert (partition["cpus"], partition["memory_bytes"], partition["default"]) == (8, 16 * GIB, True)
    assert cluster["capabilities"]["isolation"] is True
    assert cluster["capabilities"]["suspend"] is True


async def test_apps_are_offered_in_the_readers_language(alice: Caller) -> None:
    """With entries that can be sent back as they are."""
    [app] = (await alice.get("/apps")).body
    assert (app["name"], app["title"], app["description"]) == ("jupyterlab", "JupyterLab", "Notebooks")
    assert app["install"] == {"state": "ready", "progress": None, "message": None}
    made = await alice.post("/jobs", {"command": ["x"], "entries": app["entries"]})
    assert made.status == 201
    [chinese] = (await alice.get("/apps", headers={"Accept-Language": "zh-CN"})).body
    assert chinese["description"] == "笔记本"


async def test_an_apps_installation_is_told(desk: Desk, alice: Caller) -> None:
    """How far it is, and why it failed."""
    desk.apps.now = AppState(Installed.INSTALLING, 0.25, Sentence("安装中", "installing"))
    [app] = (await alice.get("/apps")).body
    assert app["install"] == {"state": "installing", "progress": 0.25, "message": "installing"}


async def test_the_platform_says_where_it_is_reached(desk: Desk) -> None:
    """To anyone: a sign-in page shows it, and ssh needs it."""
    shown = await desk.anyone.get("/platform")
    assert shown.status == 200
    assert shown.body["ports"] == {"http": 8888, "https": 8443, "ssh": 8022, "tcp": 8999}
    assert shown.body["ssh_host"] == "127.0.0.1"
    assert shown.body["random_ports"] == {"first": 32768, "last": 65535}


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


async def test_the_page_is_served_beside_the_api(desk: Desk) -> None:
    """Everything that is not the API's is the console's."""
    async with desk.http.get(f"{desk.base}/jobs/jupyter-17") as page:
        assert (page.status, await page.text()) == (200, "<title>console</title>")
    async with desk.http.get(f"{desk.base}/api/v2/jobs") as nothing:
        assert (nothing.status, nothing.content_type) == (404, "application/problem+json")
