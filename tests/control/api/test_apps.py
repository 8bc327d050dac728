"""Apps over the API."""

from __future__ import annotations

from control.domain.apps import AppState, Installed
from control.domain.errors import Sentence
from tests.control.api.desk import Caller, Desk


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


async def test_an_administrator_has_an_app_installed_ahead(desk: Desk, admin: Caller) -> None:
    """So that the first person need not wait."""
    begun = await admin.post("/apps/jupyterlab/install")
    assert (begun.status, begun.body["name"], desk.apps.installs) == (202, "jupyterlab", ["jupyterlab"])
    assert (await admin.post("/apps/doom/install")).code == "not_found"
