"""Apps and how far their installation is."""

from __future__ import annotations

from control.actions import apps
from control.actions.context import Person
from control.domain.apps import AppState, Installed
from control.domain.errors import Code
from tests.control.actions.refused import refused
from tests.control.api.desk import LAB, Desk


async def test_each_app_comes_with_its_state(desk: Desk) -> None:
    """As it is now, not as it was at the start."""
    assert [(seen.app, seen.state.state) for seen in apps.known(desk.ctx)] == [(LAB, Installed.READY)]
    desk.apps.now = AppState(Installed.INSTALLING, 0.5)
    assert apps.known(desk.ctx)[0].state.progress == 0.5


async def test_an_installation_is_begun_for_a_known_app_only(desk: Desk, admin: Person) -> None:
    """A misspelt name begins nothing."""
    assert (await apps.install(desk.ctx, admin, "jupyterlab")).app == LAB
    with refused(Code.NOT_FOUND):
        await apps.install(desk.ctx, admin, "doom")
    assert desk.apps.installs == ["jupyterlab"]
