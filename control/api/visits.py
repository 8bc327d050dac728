"""Live connections of an entry or a person: who, from where, since when, how many bytes; and cutting one."""

from __future__ import annotations

from typing import Final

from control.actions import visits
from control.api.asked import Asked
from control.api.route import Query, Shape, route
from control.api.values import Instant, Line, Listed, Withdrawn, print_withdrawn, whole
from control.domain.visits import OpenVisit


class Caller(Shape):
    """Who is connected."""

    id: int
    username: str


class Visit(Shape):
    """A live connection. `user` is null for somebody who did not sign in; bytes go to the job (in) or come from it.

    `entry_id` is below zero for a connection into somebody's home, which has no entry.
    """

    id: str
    entry_id: int
    user: Caller | None
    address: str
    protocol: str
    since: Instant
    bytes_in: int
    bytes_out: int
    gateway: str


class VisitsQuery(Query):
    """Whose: one's own, or for administrators those of a user name, or `*` for everyone's."""

    user: Line | None = None


async def list_my_visits(asked: Asked, query: VisitsQuery) -> Listed[Visit]:
    """A person's connections now, through whatever entries and into their home, the oldest first."""
    found = await visits.of_person(asked.ctx, asked.who, query.user)
    return whole([_print(each) for each in found])


async def list_visits(asked: Asked, entry: str) -> Listed[Visit]:
    """Who is connected through an entry now, the oldest first; for its owner and administrators."""
    found = await visits.of_entry(asked.ctx, asked.who, entry)
    return whole([_print(each) for each in found])


async def cut_visit(asked: Asked, visit: str) -> Withdrawn:
    """Ends one connection. It keeps nobody out: who still has the right may come again."""
    return print_withdrawn(await visits.cut(asked.ctx, asked.who, visit))


def _print(found: OpenVisit) -> Visit:
    told = found.visit
    return Visit(
        id=told.id,
        entry_id=told.entry_id,
        user=None if told.user_id is None else Caller(id=told.user_id, username=told.user_name),
        address=told.address,
        protocol=told.protocol,
        since=told.since,
        bytes_in=told.inward,
        bytes_out=told.outward,
        gateway=found.gateway,
    )


ROUTES: Final = (
    route("GET", "/visits", list_my_visits),
    route("GET", "/entries/{entry}/visits", list_visits),
    route("DELETE", "/visits/{visit}", cut_visit),
)
