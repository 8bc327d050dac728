"""The actions on live connections, where the API's own tests do not reach."""

from __future__ import annotations

from control.actions import visits
from control.actions.context import Person
from control.domain.errors import Code
from control.domain.people import Role
from gateway.contract.visits import LiveVisit, VisitsReport
from tests.control.actions.refused import refused
from tests.control.api.desk import Desk


async def test_a_visit_of_an_entry_that_is_gone_is_nobodys(desk: Desk) -> None:
    """The list may be a moment behind the database."""
    visit = LiveVisit("web-0-ab-1", 999, None, "", "192.0.2.8", "http", 1.0, 0, 0)
    desk.visits.report("web-0", VisitsReport(everything=True, opened=(visit,)))
    root = Person(1, "root", Role.ADMIN, "en", "127.0.0.1")
    with refused(Code.NOT_FOUND):
        await visits.cut(desk.ctx, root, "web-0-ab-1")
    with refused(Code.NOT_FOUND):
        await visits.of_entry(desk.ctx, root, "999")
