"""Access entries of jobs: add, show, change, remove, and a token that passes one."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from control.actions import domains, entries, tokens
from control.actions.acting import Withdrawal
from control.api.asked import Asked
from control.api.route import Body, route
from control.api.shapes.acme import ChallengeWord
from control.api.shapes.entries import (
    ChangedEntry,
    Entry,
    EntrySpec,
    LevelWord,
    Limits,
    print_entry,
    read_spec,
)
from control.api.shapes.people import MadeToken, print_made_token
from control.api.values import Line, Pem, Secret, When, Withdrawn, print_withdrawn
from control.domain.domains import read_wish
from control.domain.errors import FieldCode, fault, invalid
from control.domain.origins import ORIGINS_LIMIT
from gateway.contract.routes import Level


class EntryChange(Body):
    """What to change of an entry: who may pass, whose pages may call it, limits, its own domain, or what serves that.

    Certificate and key come together, or `acme` has an authority asked for them, looking as `acme_challenge` says
    (http-01 when it says nothing); the old pair is served until the new one is good. `limits` replace those that are
    set; `{}` takes all away. `app_pin` null: whichever certificate the https app shows.
    """

    level: LevelWord | None = None
    cors_origins: Annotated[list[Line], Field(max_length=ORIGINS_LIMIT)] | None = None
    limits: Limits | None = None
    app_pin: Line | None = None
    domain: Line | None = None
    certificate: Pem | None = None
    private_key: Pem | None = Field(default=None, repr=False)
    private_key_password: Secret | None = Field(default=None, repr=False)
    acme: bool | None = None
    acme_challenge: ChallengeWord | None = None


class EntryToken(Body):
    """A token for one entry; it lives seven days unless said otherwise."""

    name: Line | None = None
    expires_at: When | None = None


async def add_entry(asked: Asked, job: str, body: EntrySpec) -> Entry:
    """Adds an entry to a live job. A name or target port that is taken is refused, naming the other entry."""
    seen = await entries.add(asked.ctx, asked.who, job, read_spec(body, ""))
    return print_entry(seen, asked.language, asked.ctx.settings)


async def show_entry(asked: Asked, entry: str) -> Entry:
    """One entry, by id or label, for who may pass it."""
    seen = await entries.show(asked.ctx, asked.who, entry)
    return print_entry(seen, asked.language, asked.ctx.settings)


async def change_entry(asked: Asked, entry: str, body: EntryChange) -> ChangedEntry:
    """Changes who may pass, or domain and certificate. Visits that are no longer admitted are cut within a second."""
    wish, faults = read_wish(body.model_dump(exclude_none=True), "", has_domain=body.domain is None)
    if faults:
        raise invalid(*faults)
    repins = "app_pin" in body.model_fields_set
    changes = (body.level, wish, body.cors_origins, body.limits)
    if not repins and all(change is None for change in changes):
        raise invalid(fault("level", FieldCode.REQUIRED))
    withdrawal = Withdrawal((), None)
    if wish is not None:
        withdrawal = await domains.replace(asked.ctx, asked.who, entry, wish)
    if body.cors_origins is not None:
        withdrawal = await entries.set_origins(asked.ctx, asked.who, entry, body.cors_origins)
    if repins:
        withdrawal = await entries.set_pin(asked.ctx, asked.who, entry, body.app_pin)
    if body.limits is not None:
        plain = body.limits.model_dump()
        withdrawal = await entries.set_limits(asked.ctx, asked.who, entry, plain)
    if body.level is not None:
        _, withdrawal = await entries.set_level(asked.ctx, asked.who, entry, Level(body.level))
    seen = await entries.show_known(asked.ctx, asked.who, entry)
    shown = print_entry(seen, asked.language, asked.ctx.settings)
    return ChangedEntry(**dict(shown), pending=list(withdrawal.pending), stops_by=withdrawal.stops_by)


async def remove_entry(asked: Asked, entry: str) -> Withdrawn:
    """Removes an entry; its visits are cut within a second."""
    return print_withdrawn(await entries.remove(asked.ctx, asked.who, entry))


async def make_entry_token(asked: Asked, entry: str, body: EntryToken) -> MadeToken:
    """A token that can do nothing but pass this entry, for the request header X-Starlight-Token."""
    made = await tokens.make_for_entry(asked.ctx, asked.who, entry, body.name, body.expires_at)
    return print_made_token(made)


ROUTES: Final = (
    route("POST", "/jobs/{job}/entries", add_entry, status=201),
    route("GET", "/entries/{entry}", show_entry),
    route("PATCH", "/entries/{entry}", change_entry),
    route("DELETE", "/entries/{entry}", remove_entry),
    route("POST", "/entries/{entry}/token", make_entry_token, status=201),
)
