"""Share codes: an owner hands one out, another person redeems it, the owner takes it back."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from control.actions import shares
from control.actions.entries import EntrySeen
from control.api.asked import Asked
from control.api.route import Body, Query, Shape, route
from control.api.shapes.entries import Entry, print_entry
from control.api.values import Instant, Listed, Reference, Secret, When, Withdrawn, print_withdrawn, whole


class NewShare(Body):
    """How to share. Without `code` one is generated; a chosen one has at least 8 characters."""

    code: Secret | None = None
    expires_at: When | None = None
    max_uses: int | None = Field(default=None, ge=1, le=1_000_000)


class Share(Shape):
    """A share code. `link` opens the console's redeem page with code and entry filled in."""

    code: str
    generated: bool
    link: str
    expires_at: Instant | None
    max_uses: int | None
    uses: int
    created_at: Instant


class EntriesQuery(Query):
    """Which entries: those that others shared with the reader."""

    view: Literal["shared"] = "shared"


class Guest(Shape):
    """Who redeemed a code."""

    id: int
    username: str


class Grant(Shape):
    """A redeemed code: a person who may pass until the owner cancels or it ends."""

    id: int
    user: Guest
    created_at: Instant
    expires_at: Instant | None


class Redemption(Body):
    """A code to redeem. `entry` (its id or label) is needed when the owner chose the code; the link carries it."""

    code: Secret
    entry: Reference | None = None


class JobOfEntry(Shape):
    """The job behind an entry, as a guest sees it."""

    id: str
    name: str
    owner: str
    state: str


class Redeemed(Shape):
    """What a code opened."""

    entry: Entry
    job: JobOfEntry


class SharedEntry(Redeemed):
    """An entry that somebody shared with the reader."""

    granted_at: Instant
    expires_at: Instant | None


async def set_share(asked: Asked, entry: str, body: NewShare) -> Share:
    """Shares a private entry by a code, or changes how it is shared. Who redeemed before keeps the right."""
    wish = shares.Wish(code=body.code, expires_at=body.expires_at, max_uses=body.max_uses)
    return _print_share(await shares.share(asked.ctx, asked.who, entry, wish))


async def show_share(asked: Asked, entry: str) -> Share:
    """The code again, for the owner to copy."""
    return _print_share(await shares.show(asked.ctx, asked.who, entry))


async def cancel_share(asked: Asked, entry: str) -> Withdrawn:
    """Cancels sharing: the code is void, and everyone who redeemed it is cut within a second."""
    return print_withdrawn(await shares.cancel(asked.ctx, asked.who, entry))


async def list_grants(asked: Asked, entry: str) -> Listed[Grant]:
    """Who redeemed the code."""
    return whole([_print_grant(grant) for grant in await shares.grants(asked.ctx, asked.who, entry)])


async def remove_grant(asked: Asked, entry: str, grant: int) -> Withdrawn:
    """Takes the right of one person away and cuts them within a second."""
    return print_withdrawn(await shares.remove_grant(asked.ctx, asked.who, entry, grant))


async def redeem_share(asked: Asked, body: Redemption) -> Redeemed:
    """Redeems a share code. Wrong codes are counted; 429 says how long to wait."""
    seen = await shares.redeem(asked.ctx, asked.who, body.code, body.entry)
    return Redeemed(entry=_entry(asked, seen), job=_job(seen))


async def list_shared_entries(asked: Asked, query: EntriesQuery) -> Listed[SharedEntry]:  # noqa: ARG001 - one view so far
    """Entries that others shared with the reader, the newest first."""
    return whole(
        [
            SharedEntry(
                entry=_entry(asked, held.seen),
                job=_job(held.seen),
                granted_at=held.granted_at,
                expires_at=held.expires_at,
            )
            for held in await shares.shared_with(asked.ctx, asked.who)
        ]
    )


def _entry(asked: Asked, seen: EntrySeen) -> Entry:
    return print_entry(seen, asked.language, asked.ctx.settings)


def _job(seen: EntrySeen) -> JobOfEntry:
    return JobOfEntry(id=seen.job.id, name=seen.job.name, owner=seen.owner, state=seen.job.state.value)


def _print_share(held: shares.ShareSeen) -> Share:
    row = held.row
    return Share(
        code=held.code,
        generated=not row.chosen,
        link=held.link,
        expires_at=row.expires_at,
        max_uses=row.max_uses,
        uses=row.uses,
        created_at=row.created_at,
    )


def _print_grant(grant: shares.GrantSeen) -> Grant:
    return Grant(
        id=grant.row.id,
        user=Guest(id=grant.row.user_id, username=grant.username),
        created_at=grant.row.redeemed_at,
        expires_at=grant.row.expires_at,
    )


ROUTES: Final = (
    route("PUT", "/entries/{entry}/share", set_share),
    route("GET", "/entries/{entry}/share", show_share),
    route("DELETE", "/entries/{entry}/share", cancel_share),
    route("GET", "/entries/{entry}/share/grants", list_grants),
    route("DELETE", "/entries/{entry}/share/grants/{grant}", remove_grant),
    route("POST", "/shares/redeem", redeem_share),
    route("GET", "/entries", list_shared_entries),
)
