"""Domains of entries: asked for, proved, served, let go. One domain serves one entry at a time.

Every change also writes what gateways hold: the certificate, and the entry itself, which they do not
know before its domain is proved. Keys lie sealed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import exists, select
from sqlalchemy.ext.asyncio import AsyncSession

from certs.upload import Pair
from control.domain.acme import DAY_S, Method
from control.domain.domains import Proof, Sight, lineage
from control.domain.errors import Code, FieldCode, Problem, ProblemError, fault
from control.domain.events import EventCode, EventKind, NewEvent
from control.domain.instants import rfc3339
from control.domain.jobs.states import LIVE
from control.store import feed, jobs, records
from control.store.acme_tables import AcmeOrder
from control.store.domain_tables import EntryDomain, ProvedDomain
from control.store.engine import first
from control.store.secrets import Vault
from control.store.tables import Entry, Job


@dataclass(frozen=True, slots=True)
class Claim:
    """A domain that an entry is to have, with a pair that was found good for it, and how its owner is known so far.

    `pair` None: an authority is asked for one, `acme` tells how. What is served now is served until it is there.
    """

    domain: str
    pair: Pair | None
    proof: Proof | None
    acme: Method | None = None


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
    same = row is not None and row.held == wish.domain
    if row is None:
        row = EntryDomain(entry_id=entry.id, owner_id=job.owner_id, created_at=now, addresses=[])
        session.add(row)
    elif same and wish.pair is not None:
        params = {"entry": entry.name, "until": rfc3339(wish.pair.facts.not_after.timestamp())}
        await jobs.add_event(session, job, NewEvent(EventCode.CERTIFICATE_REPLACED, params), now)
    row.proof = wish.proof or (row.proof if same else None)
    row.domain, row.held, row.acme, row.looked_at = wish.domain, wish.domain, wish.acme, None
    if wish.pair is not None:
        set_pair(vault, row, wish.pair)
    elif not same:
        _no_pair(row)
    entry.host = wish.domain
    await session.flush()
    if wish.proof is not None:
        await _remember(session, row, now)
    await publish(session, row, now)
    return row


def set_pair(vault: Vault, row: EntryDomain, pair: Pair) -> None:
    """Puts a pair in place of the one that was there. Its record is the caller's to publish."""
    row.chain_pem, row.key_sealed = pair.chain_pem, vault.seal(f"certificate:{row.certificate_id}", pair.key_pem)
    row.subject, row.issuer = pair.facts.subject, pair.facts.issuer
    row.sans, row.not_after, row.warned_days = list(pair.facts.names), pair.facts.not_after.timestamp(), None


def _no_pair(row: EntryDomain) -> None:
    row.chain_pem = row.key_sealed = row.subject = row.issuer = ""
    row.sans, row.not_after, row.warned_days = [], 0.0, None


async def prove(session: AsyncSession, row: EntryDomain, entry: Entry, job: Job, proof: Proof, now: float) -> None:
    """From now on the domain is known to be the owner's. Its entry is the caller's to publish."""
    row.proof = proof
    entry.ready_at = None
    await session.flush()
    await _remember(session, row, now)
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


async def ending(session: AsyncSession, before: float, now: float) -> Sequence[EntryDomain]:
    """Held domains whose certificate ends before an instant, but those whose next one comes by itself."""
    has_pair = EntryDomain.chain_pem != ""
    rows = select(EntryDomain).where(EntryDomain.held.is_not(None), has_pair, EntryDomain.not_after <= before)
    mine = (AcmeOrder.owner_id == EntryDomain.owner_id) & (AcmeOrder.domain == EntryDomain.domain)
    renewing = exists().where(mine, AcmeOrder.failures == 0, AcmeOrder.renew_at > now - DAY_S)
    rows = rows.where(EntryDomain.acme.is_(None) | ~renewing)
    return (await session.scalars(rows)).all()


async def proved_by_another(session: AsyncSession, owner_id: int, domain: str) -> bool:
    """Whether somebody else proved the domain last, or else the nearest name above it.

    It may still lead here without being theirs who ask now. Names above count, as a wildcard record leads
    everything below them here, too.
    """
    names = lineage(domain)
    rows = await session.scalars(select(ProvedDomain).where(ProvedDomain.domain.in_(names)))
    nearest = max(rows, key=lambda row: len(row.domain), default=None)
    return nearest is not None and nearest.owner_id != owner_id


async def _remember(session: AsyncSession, row: EntryDomain, now: float) -> None:
    await session.merge(ProvedDomain(domain=row.domain, owner_id=row.owner_id, proved_at=now))


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
