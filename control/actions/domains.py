"""Domains of entries' own: the pair is judged, the owner is found out, the entry gets the domain.

Questions to the name service are asked before the transaction, never in it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from urllib.parse import urlsplit

from sqlalchemy.ext.asyncio import AsyncSession

from certs.check import CheckFault
from certs.upload import Pair, judge
from control.actions.acme import refuse_unfit
from control.actions.acting import Withdrawal, acting, reached, settle
from control.actions.context import Context, Person
from control.actions.rights import own_entry, removable_entry
from control.config import Settings
from control.domain.domains import DomainWish, Proof, Sight, is_ours, txt_name
from control.domain.entries import EntrySpec
from control.domain.errors import Code, FieldCode, Problem, ProblemError, fault, invalid, problem
from control.domain.events import EventCode, NewEvent
from control.store import acme, domains, entries, jobs
from control.store.domain_tables import EntryDomain
from control.store.domains import Claim
from control.store.tables import Entry, Job
from gateway.contract.routes import Protocol

ASK_S: Final = 4.0
"""Seconds that a person waits for the name service; who does not hear from it is proved later, by `work`."""
_KEY_TROUBLES: Final = {"key_locked": "private_key_password", "key_password": "private_key_password"}
_DETAIL_CHARACTERS: Final = 200


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is to be said of a domain before or after an entry has it. `record` and `token` make the TXT record."""

    domain: str
    record: str
    token: str
    sight: Sight
    pair: Pair | None
    proof: Proof | None


async def verdict(ctx: Context, who: Person, domain: str, wish: DomainWish | None) -> Verdict:
    """A domain looked at for `who` before it is asked for, with the pair if one was brought.

    Raises ProblemError INVALID_INPUT (naming the field), DOMAIN_TAKEN or RATE_LIMITED.
    """
    ctx.lookups.step(who.id, ctx.now())
    _refuse_ours(ctx.settings, domain, "")
    pair = None if wish is None else _judged(ctx, wish, domain, "")
    async with ctx.db.read() as session:
        other = await domains.holder(session, domain)
    if other is not None and other.owner_id != who.id and other.proof is not None:
        raise ProblemError(Problem(Code.DOMAIN_TAKEN, {"domain": domain}, (fault("domain", FieldCode.DOMAIN_TAKEN),)))
    token = domains.token(ctx.vault, who.id, domain)
    sight = await ctx.resolver.sight(domain, ctx.settings.public_address)
    proof = Proof.CHAIN if pair is not None and pair.trusted else Proof.DNS if token in sight.texts else None
    return Verdict(domain, txt_name(domain), token, sight, pair, proof)


async def claim_of(
    ctx: Context, who: Person, wish: DomainWish | None, held: str | None = None, path: str = ""
) -> Claim | None:
    """The checked claim for a wish. `held` is the domain that the entry has; `path` stands before field names.

    Raises ProblemError INVALID_INPUT or RATE_LIMITED.
    """
    if wish is None:
        return None
    domain = wish.domain or held
    if domain is None:
        raise invalid(fault(path + "domain", FieldCode.REQUIRED))
    _refuse_ours(ctx.settings, domain, path)
    pair = None if wish.acme is not None else _judged(ctx, wish, domain, path)
    proof = Proof.CHAIN if pair is not None and pair.trusted else None
    if proof is None and domain != held and await _has_record(ctx, who, domain):
        proof = Proof.DNS
    if wish.acme is not None:
        await refuse_unfit(ctx, who, domain, wish.acme, proof, path)
    return Claim(domain, pair, proof, wish.acme)


async def claims_of(ctx: Context, who: Person, specs: tuple[EntrySpec, ...]) -> dict[str, Claim]:
    """The claims of a job's entries by entry name. Raises ProblemError INVALID_INPUT."""
    found: dict[str, Claim] = {}
    for position, spec in enumerate(specs):
        claim = await claim_of(ctx, who, spec.domain, path=f"entries[{position}].")
        if claim is not None:
            found[spec.name] = claim
    return found


async def replace(ctx: Context, who: Person, reference: str, wish: DomainWish) -> Withdrawal:
    """Another domain, or another pair for the one that an entry has; what was served is served until this is good.

    Raises ProblemError NOT_FOUND, JOB_ENDED, INVALID_INPUT or DOMAIN_TAKEN.
    """
    async with ctx.db.read() as session:
        entry, _ = await own_entry(session, who, reference)
        row = await domains.of_entry(session, entry.id)
    if entry.protocol is not Protocol.HTTPS:
        raise invalid(fault("domain", FieldCode.HTTPS_ONLY))
    claim = await claim_of(ctx, who, wish, None if row is None else row.domain)
    assert claim is not None, "a wish gives a claim"
    async with acting(ctx, who, "entry.certificate", f"entry:{reference}") as act:
        entry, job = await own_entry(act.session, who, reference)
        jobs.refuse_ended(job)
        await _take(ctx, act.session, entry, job, claim, act.now)
        await jobs.add_event(act.session, job, NewEvent(EventCode.ENTRY_CHANGED, {"entry": entry.name}), act.now)
        await entries.publish(act.session, entry, job, act.now)
        act.detail |= {"domain": claim.domain, "proof": claim.proof}
        revision = await reached(act)
    return await settle(ctx, revision)


async def look(ctx: Context, who: Person, reference: str) -> None:
    """Asks the name service about an entry's domain now. Raises ProblemError NOT_FOUND, NO_DOMAIN or RATE_LIMITED."""
    async with ctx.db.read() as session:
        entry, _ = await own_entry(session, who, reference)
        row = await _domain_of(session, entry)
    ctx.lookups.step(who.id, ctx.now())
    sight = await ctx.resolver.sight(row.domain, ctx.settings.public_address)
    async with acting(ctx, who, "domain.look", f"entry:{reference}") as act:
        entry, job = await own_entry(act.session, who, reference)
        row = await _domain_of(act.session, entry)
        if await domains.see(act.session, ctx.vault, row, entry, job, sight, act.now):
            await entries.publish(act.session, entry, job, act.now)


async def approve(ctx: Context, who: Person, reference: str) -> None:
    """An administrator's word that a domain is its entry's owner's. Raises ProblemError NOT_FOUND, NO_DOMAIN."""
    async with acting(ctx, who, "domain.approve", f"entry:{reference}") as act:
        entry, job = await removable_entry(act.session, who, reference)
        row = await _domain_of(act.session, entry)
        jobs.refuse_ended(job)
        act.detail |= {"domain": row.domain}
        if row.proof is None:
            if row.held is None:
                raise problem(Code.DOMAIN_TAKEN, domain=row.domain)
            await domains.prove(act.session, row, entry, job, Proof.ADMIN, act.now)
            await entries.publish(act.session, entry, job, act.now)


async def give(ctx: Context, session: AsyncSession, entry: Entry, job: Job, claim: Claim | None, now: float) -> None:
    """Gives a new entry the domain that was claimed for it. Raises ProblemError DOMAIN_TAKEN."""
    if claim is not None:
        await _take(ctx, session, entry, job, claim, now)
        await entries.publish(session, entry, job, now)


def own_names(settings: Settings) -> tuple[str, ...]:
    """The platform's own names: nobody else's, nor what lies below them."""
    console = urlsplit(settings.console_url).hostname or ""
    return (settings.base_domain, settings.console_name, console, settings.public_address.lower())


async def _take(ctx: Context, session: AsyncSession, entry: Entry, job: Job, claim: Claim, now: float) -> None:
    row = await domains.claim(session, ctx.vault, entry, job, claim, now)
    if row.acme is not None:
        await acme.ask(session, ctx.vault, row, now)


async def _domain_of(session: AsyncSession, entry: Entry) -> EntryDomain:
    row = await domains.of_entry(session, entry.id)
    if row is None:
        raise problem(Code.NO_DOMAIN, name=entry.name)
    return row


def _refuse_ours(settings: Settings, domain: str, path: str) -> None:
    if is_ours(domain, own_names(settings)):
        raise invalid(fault(path + "domain", FieldCode.DOMAIN_OURS))


def _judged(ctx: Context, wish: DomainWish, domain: str, path: str) -> Pair:
    now = datetime.fromtimestamp(ctx.now(), UTC)
    try:
        return judge(wish.certificate, wish.private_key, password=wish.password, name=domain, now=now, roots=ctx.roots)
    except CheckFault as found:
        word = found.trouble.value
        field = _KEY_TROUBLES.get(word, "private_key" if word.startswith("key_") else "certificate")
        detail = found.detail[:_DETAIL_CHARACTERS]
        code = FieldCode(f"pair_{word}")
        raise invalid(fault(path + field, code, detail=detail, domain=domain)) from found


async def _has_record(ctx: Context, who: Person, domain: str) -> bool:
    try:
        async with asyncio.timeout(ASK_S):
            return domains.token(ctx.vault, who.id, domain) in await ctx.resolver.texts(txt_name(domain))
    except TimeoutError:
        return False
