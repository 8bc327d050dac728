"""Domains of entries: asked for, proved, served, let go. One domain serves one entry at a time.

Every change also writes what gateways hold: the certificate, and the entry itself, which they do not
know before its domain is proved. Keys lie sealed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from certs.upload import Pair
from control.domain.domains import Proof, Sight
from control.domain.errors import Code, FieldCode, Problem, ProblemError, fault
from control.domain.events import EventCode, EventKind, NewEvent
from control.domain.instants import rfc3339
from control.domain.jobs.states import LIVE
from control.store import feed, jobs, records
from control.store.domain_tables import EntryDomain
from control.store.engine import first
from control.store.secrets import Vault
from control.store.tables import Entry, Job


@dataclass(frozen=True, slots=True)
class Claim:
    """A domain that an entry is to have, with a pair that was found good for it, and how its owner is known so far."""

    domain: str
    pair: Pair
    proof: Proof | None


def token(vault: Vault, owner_id: int, domain: str) -> str:
    """What a person's TXT record says: the same each time, so that it can stand before the entry is there."""
    return "starlight=" + vault.hmac("domain", f"{owner_id}:{domain}")[:40]


async def of_entry(session: AsyncSession, entry_id: int) -> EntryDomain | None:
    """The domain of an entry."""
    return await session.get(EntryDomain, entry_id)


async def of_entries(session: AsyncSession, entry_ids: Sequence[int]) -> dict[int, EntryDomain]:
    """The domains of several entries; those without one are left out."""
    rows = await session.scalars(select(EntryDomain).where(EntryDomain.entry_id.in_(entry_ids)))
    return {row.entry_id: row for row in rows}


async def holder(session: AsyncSession, domain: str) -> EntryDomain | None:
    """Who has a domain now."""
    return await first(session, select(EntryDomain).where(EntryDomain.held == domain))


async def claim(session: AsyncSession, vault: Vault, entry: Entry, job: Job, wish: Claim, now: float) -> EntryDomain:
    """Gives an entry a domain, or another pair for the one that it has.

    Its record is the caller's to publish. Raises ProblemError DOMAIN_TAKEN.
    """
    row = await of_entry(session, entry.id)
    await _make_room(session, entry, wish, now)
    proof = wish.proof or (row.proof if row is not None and row.held == wish.domain else None)
    if row is None:
        row = EntryDomain(entry_id=entry.id, owner_id=job.owner_id, created_at=now, addresses=[])
        session.add(row)
    elif row.held == wish.domain:
        params = {"entry": entry.name, "until": rfc3339(wish.pair.facts.not_after.timestamp())}
        await jobs.add_event(session, job, NewEvent(EventCode.CERTIFICATE_REPLACED, params), now)
    row.domain, row.held, row.proof, row.warned_days, row.looked_at = wish.domain, wish.domain, proof, None, None
    row.chain_pem = wish.pair.chain_pem
    row.key_sealed = vault.seal(f"certificate:entry-{entry.id}", wish.pair.key_pem)
    row.subject, row.issuer = wish.pair.facts.subject, wish.pair.facts.issuer
    row.sans, row.not_after = list(wish.pair.facts.names), wish.pair.facts.not_after.timestamp()
    entry.host = wish.domain
    await session.flush()
    await publish(session, row, now)
    return row


async def prove(session: AsyncSession, row: EntryDomain, entry: Entry, job: Job, proof: Proof, now: float) -> None:
    """From now on the domain is known to be the owner's. Its entry is the caller's to publish."""
    row.proof = proof
    entry.ready_at = None
    await session.flush()
    params = {"domain": row.domain, "entry": entry.name}
    await jobs.add_event(session, job, NewEvent(EventCode.DOMAIN_PROVED, params), now)
    await publish(session, row, now)


async def publish(session: AsyncSession, row: EntryDomain, now: float) -> None:
    """Brings the gateways' record of the certificate up to date."""
    if row.serves:
        await feed.put(session, records.own_certificate(row), now)
    else:
        await feed.drop(session, "certificate", row.certificate_id, now)


async def see(
    session: AsyncSession, vault: Vault, row: EntryDomain, entry: Entry, job: Job, sight: Sight, now: float
) -> bool:
    """Writes down what the name service said; True when that proves the domain, and its entry is to be published."""
    changed = row.pointing is not sight.pointing or row.addresses != list(sight.addresses)
    row.pointing, row.addresses, row.looked_at = sight.pointing, list(sight.addresses), now
    if row.proof is None and row.held is not None and token(vault, row.owner_id, row.domain) in sight.texts:
        await prove(session, row, entry, job, Proof.DNS, now)
        return True
    if changed:
        await jobs.touch(session, job)
    return False


async def drop_of_entry(session: AsyncSession, entry_id: int, now: float) -> None:
    """Takes the domain away with its entry."""
    row = await of_entry(session, entry_id)
    if row is not None:
        await feed.drop(session, "certificate", row.certificate_id, now)
        await session.delete(row)
        await session.flush()  # before the entry itself goes, which would take the row along


async def waiting(session: AsyncSession, looked_before: float, limit: int) -> Sequence[EntryDomain]:
    """Domains of live jobs about which the name service was not asked since `looked_before`, the longest ago first."""
    rows = (
        select(EntryDomain)
        .join(Entry, Entry.id == EntryDomain.entry_id)
        .join(Job, Job.id == Entry.job_id)
        .where(EntryDomain.held.is_not(None), Job.state.in_(LIVE))
        .where(EntryDomain.looked_at.is_(None) | (EntryDomain.looked_at < looked_before))
        .order_by(EntryDomain.looked_at.is_not(None), EntryDomain.looked_at)
        .limit(limit)
    )
    return (await session.scalars(rows)).all()


async def ending(session: AsyncSession, before: float) -> Sequence[EntryDomain]:
    """Held domains whose certificate ends before an instant."""
    rows = select(EntryDomain).where(EntryDomain.held.is_not(None), EntryDomain.not_after <= before)
    return (await session.scalars(rows)).all()


async def _make_room(session: AsyncSession, entry: Entry, wish: Claim, now: float) -> None:
    """A domain that somebody waits for without proof is given to who has one; a proved one to nobody else."""
    other = await holder(session, wish.domain)
    if other is None or other.entry_id == entry.id:
        return
    if other.proof is not None or wish.proof is None:
        taken = Problem(Code.DOMAIN_TAKEN, {"domain": wish.domain}, (fault("domain", FieldCode.DOMAIN_TAKEN),))
        raise ProblemError(taken)
    other.held = None
    loser = await session.get_one(Entry, other.entry_id)
    params = {"domain": wish.domain, "entry": loser.name}
    event = NewEvent(EventCode.DOMAIN_LOST, params, EventKind.WARNING)
    await jobs.add_event(session, await session.get_one(Job, loser.job_id), event, now)
    await session.flush()
