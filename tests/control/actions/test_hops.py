"""The hop, as an action."""

from __future__ import annotations

import dataclasses

import pytest

from control.actions import hops, jobs
from control.actions.context import Context, Person
from control.actions.sessions import person_of_token, sign_in
from control.actions.submission import Wish
from control.domain.entries import EntrySpec
from control.domain.errors import Code
from gateway.contract.routes import Level, Protocol
from tests.control.actions.refused import refused
from tests.control.api.desk import PASSWORD

CHALLENGE = "A" * 43


async def signed_in(ctx: Context, who: Person) -> Person:
    """The same person by a console sign-in."""
    return await person_of_token(ctx, (await sign_in(ctx, who.name, PASSWORD, who.address, "zh")).token, who.address)


@pytest.mark.parametrize(
    ("protocol", "origin"), [(Protocol.HTTP, "http://{}:8888/"), (Protocol.HTTPS, "https://{}:8443/")]
)
async def test_a_hop_leads_to_the_entrys_own_origin(
    ctx: Context, alice: Person, protocol: Protocol, origin: str
) -> None:
    """Whatever the request said."""
    spec = EntrySpec("web", protocol, Level.PRIVATE, 8000)
    seen, _ = await jobs.submit(ctx, alice, Wish(command=("true",), entries=(spec,)))
    entry = seen.entries[0].entry
    url = await hops.hop(ctx, await signed_in(ctx, alice), entry.label, "state", CHALLENGE)
    assert url.startswith(origin.format(entry.host) + ".starlight/callback#state=state&code=")


async def test_an_entry_that_is_no_page_has_no_hop(ctx: Context, alice: Person) -> None:
    """Nobody signs in to ssh by a browser."""
    seen, _ = await jobs.submit(ctx, alice, Wish(command=("true",)))
    with refused(Code.NOT_FOUND):
        await hops.hop(ctx, await signed_in(ctx, alice), seen.entries[0].entry.label, "state", CHALLENGE)


async def test_a_hop_needs_a_console_sign_in(ctx: Context, alice: Person) -> None:
    """Ending it ends the visit; a token has no such end."""
    with refused(Code.SIGN_IN):
        await hops.hop(ctx, dataclasses.replace(alice, session_id=None), "0" * 32, "state", CHALLENGE)
    with refused(Code.INVALID_INPUT):
        await hops.hop(ctx, alice, "0" * 32, "st ate", "short")
