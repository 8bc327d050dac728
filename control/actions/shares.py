"""Share codes: set, shown again, cancelled by the owner; redeemed by another person.

A generated code has more than 80 random bits and redeems alone. A code that the owner chose may be
anyone's guess, so it redeems only together with its entry, and wrong tries are counted.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlencode

from sqlalchemy.ext.asyncio import AsyncSession

from control.actions.acting import Withdrawal, acting, reached, settle
from control.actions.context import Context, Person
from control.actions.entries import EntrySeen, seen
from control.actions.rights import entry_named, own_entry
from control.domain.errors import Code, FieldCode, ProblemError, fault, invalid, problem
from control.store import shares, signin
from control.store.tables import Entry, Grant, Job, Share, User
from gateway.contract.routes import Level

_PURPOSE: Final = "share"
_ALPHABET: Final = "23456789abcdefghjkmnpqrstuvwxyz"
"""No character that reads like another: codes are read out and typed in. 31 of them, 4.95 bits each."""
_GROUPS, _GROUP_CHARACTERS = 5, 4
"""20 characters: 99 bits."""
CHOSEN_CHARACTERS: Final = (8, 128)


@dataclass(frozen=True, slots=True)
class Wish:
    """How to share; without a code one is generated."""

    code: str | None = field(default=None, repr=False)
    expires_at: float | None = None
    max_uses: int | None = None


@dataclass(frozen=True, slots=True)
class ShareSeen:
    """A share as its owner sees it, the code readable."""

    row: Share
    code: str = field(repr=False)
    link: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class GrantSeen:
    """Who redeemed a code."""

    row: Grant
    username: str


@dataclass(frozen=True, slots=True)
class Held:
    """An entry that somebody shared with the reader."""

    seen: EntrySeen
    granted_at: float
    expires_at: float | None


async def share(ctx: Context, who: Person, reference: str, wish: Wish) -> ShareSeen:
    """Shares a private entry of `who`. Who redeemed an earlier code keeps the right.

    Raises ProblemError NOT_FOUND, INVALID_INPUT, ENTRY_NOT_SHAREABLE or SHARE_CODE_TAKEN.
    """
    _check(wish, ctx.now())
    code = wish.code if wish.code is not None else _generate()
    new = shares.NewShare(
        code_hmac=ctx.vault.hmac(_PURPOSE, normal(code)),
        code_sealed=ctx.vault.seal(_PURPOSE, code),
        chosen=wish.code is not None,
        expires_at=wish.expires_at,
        max_uses=wish.max_uses,
    )
    async with acting(ctx, who, "share.set", f"entry:{reference}") as act:
        entry, _ = await own_entry(act.session, who, reference)
        if entry.level is not Level.PRIVATE:
            raise problem(Code.ENTRY_NOT_SHAREABLE, level=entry.level.value)
        row = await shares.set_share(act.session, entry, new, act.now)
        act.detail |= {"chosen": new.chosen, "expires_at": new.expires_at, "max_uses": new.max_uses}
    return ShareSeen(row, code, _link(ctx, code, entry))


async def show(ctx: Context, who: Person, reference: str) -> ShareSeen:
    """The share of an entry of `who`, for copying the code. Raises ProblemError NOT_FOUND or NOT_SHARED."""
    async with ctx.db.read() as session:
        entry, _ = await own_entry(session, who, reference)
        row = await shares.share_of(session, entry.id)
    if row is None:
        raise problem(Code.NOT_SHARED, name=entry.name)
    code = ctx.vault.open(_PURPOSE, row.code_sealed)
    return ShareSeen(row, code, _link(ctx, code, entry))


async def cancel(ctx: Context, who: Person, reference: str) -> Withdrawal:
    """Cancels sharing; every guest is cut within a second. Cancelling what is not shared changes nothing."""
    async with acting(ctx, who, "share.cancel", f"entry:{reference}") as act:
        entry, _ = await own_entry(act.session, who, reference)
        revision = await shares.cancel_share(act.session, entry, act.now)
    return await settle(ctx, revision)


async def grants(ctx: Context, who: Person, reference: str) -> Sequence[GrantSeen]:
    """Who redeemed the code of an entry of `who`."""
    async with ctx.db.read() as session:
        entry, _ = await own_entry(session, who, reference)
        return [GrantSeen(grant, user.name) for grant, user in await shares.grants(session, entry.id)]


async def remove_grant(ctx: Context, who: Person, reference: str, grant_id: int) -> Withdrawal:
    """Takes the right of one guest away and cuts them within a second."""
    async with acting(ctx, who, "share.remove_grant", f"grant:{grant_id}") as act:
        entry, _ = await own_entry(act.session, who, reference)
        grant = await act.session.get(Grant, grant_id)
        if grant is None or grant.entry_id != entry.id:
            raise problem(Code.NOT_FOUND, what=f"#{grant_id}")
        revision = await shares.drop_grant(act.session, grant, act.now)
    return await settle(ctx, revision)


async def redeem(ctx: Context, who: Person, code: str, reference: str | None) -> EntrySeen:
    """Lets `who` pass the entry behind the code. An owner's own code opens their own entry and uses nothing up.

    Raises ProblemError SHARE_CODE_WRONG, SHARE_EXPIRED, SHARE_USED_UP, or RATE_LIMITED after too many wrong codes.
    """
    async with ctx.signin.turn(signin.REDEEM, who.name, who.address):
        await _refuse_guessing(ctx, who)
        try:
            entry, job, revision = await _redeem(ctx, who, code, reference)
        except ProblemError as refusal:
            if refusal.problem.code is Code.SHARE_CODE_WRONG:
                await _count_wrong(ctx, who)
            raise
    await settle(ctx, revision)
    async with ctx.db.read() as session:
        return (await seen(session, ctx, who, [(entry, job)]))[0]


async def shared_with(ctx: Context, who: Person) -> Sequence[Held]:
    """Entries that others shared with `who`, the newest first."""
    async with ctx.db.read() as session:
        rows = await shares.grants_of(session, who.id, ctx.now())
        looks = await seen(session, ctx, who, [(entry, job) for _, entry, job in rows])
    return [Held(look, grant.redeemed_at, grant.expires_at) for look, (grant, _, _) in zip(looks, rows, strict=True)]


def normal(code: str) -> str:
    """A code as it is compared: spaces around it and the case of what was typed do not count."""
    return code.strip().casefold()


def _generate() -> str:
    groups = ("".join(secrets.choice(_ALPHABET) for _ in range(_GROUP_CHARACTERS)) for _ in range(_GROUPS))
    return "-".join(groups)


def _check(wish: Wish, now: float) -> None:
    faults = []
    shortest, longest = CHOSEN_CHARACTERS
    if wish.code is not None and len(normal(wish.code)) < shortest:
        faults.append(fault("code", FieldCode.TOO_SHORT, minimum=shortest))
    if wish.code is not None and len(wish.code) > longest:
        faults.append(fault("code", FieldCode.TOO_LONG, maximum=longest))
    if wish.code is not None and not wish.code.isprintable():
        faults.append(fault("code", FieldCode.CONTROL_CHARACTERS))
    if wish.expires_at is not None and wish.expires_at <= now:
        faults.append(fault("expires_at", FieldCode.IN_THE_PAST))
    if faults:
        raise invalid(*faults)


def _link(ctx: Context, code: str, entry: Entry) -> str:
    # In the fragment, so that neither a proxy's log nor a Referer ever holds the code.
    return f"{ctx.settings.console_url}/redeem#{urlencode({'code': code, 'entry': entry.label})}"


async def _redeem(ctx: Context, who: Person, code: str, reference: str | None) -> tuple[Entry, Job, int]:
    async with acting(ctx, who, "share.redeem", f"user:{who.id}") as act:
        share = await _find(act.session, ctx.vault.hmac(_PURPOSE, normal(code)), reference)
        act.subject = f"entry:{share.entry_id}"
        entry = await act.session.get_one(Entry, share.entry_id)
        job = await act.session.get_one(Job, entry.job_id)
        if job.owner_id != who.id:
            await shares.redeem(act.session, share, await act.session.get_one(User, who.id), act.now)
        return entry, job, await reached(act)


async def _find(session: AsyncSession, code_hmac: str, reference: str | None) -> Share:
    entry = None if reference is None else await entry_named(session, reference)
    found = None
    if reference is None or entry is not None:
        found = await shares.share_by_code(session, code_hmac, None if entry is None else entry.id)
    if found is None:
        raise problem(Code.SHARE_CODE_WRONG)
    return found


async def _refuse_guessing(ctx: Context, who: Person) -> None:
    async with ctx.db.read() as session:
        wait_s = await signin.wait_s_before(session, signin.REDEEM, who.name, who.address, ctx.now())
    if wait_s:
        raise problem(Code.RATE_LIMITED, retry_after_s=wait_s)


async def _count_wrong(ctx: Context, who: Person) -> None:
    async with ctx.db.write() as session:
        await signin.add_failure(session, signin.REDEEM, who.name, who.address, ctx.now())
