"""Certificates by ACME in the store: what was asked, how far it is, what was given. Keys lie sealed.

What gateways are to show the authority is a record of theirs for as long as the challenge is open. Every step that
must not be made twice is written down before it is made.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import ColumnElement, delete, exists, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from certs.check import facts_of
from certs.upload import Pair
from control.domain.acme import DAY_S, TRIES_PER_HOUR, Method, renew_at, wait_for_try_s
from control.domain.domains import Proof
from control.domain.events import EventCode, NewEvent
from control.domain.instants import rfc3339
from control.store import domains, entries, feed, jobs
from control.store.acme_tables import AcmeAccount, AcmeOrder
from control.store.domain_tables import EntryDomain
from control.store.engine import first
from control.store.secrets import Vault
from control.store.tables import Entry, Job
from gateway.contract.challenges import Challenge, ChallengeKind

_SHOWN = {Method.HTTP: ChallengeKind.HTTP, Method.TLS: ChallengeKind.TLS}
_KEPT_S = 7 * DAY_S


async def account(session: AsyncSession, directory: str) -> AcmeAccount | None:
    """Our account at the authority of this directory."""
    return await session.get(AcmeAccount, directory)


async def add_account(session: AsyncSession, vault: Vault, directory: str, key_pem: str, now: float) -> AcmeAccount:
    """An account that is about to be registered: its key lies here first."""
    sealed = vault.seal(f"acme-account:{directory}", key_pem)
    row = AcmeAccount(directory=directory, key_sealed=sealed, url=None, created_at=now)
    session.add(row)
    await session.flush()
    return row


def account_key(vault: Vault, row: AcmeAccount) -> str:
    """The account's key, PEM."""
    return vault.open(f"acme-account:{row.directory}", row.key_sealed)


async def order(session: AsyncSession, owner_id: int, domain: str) -> AcmeOrder | None:
    """What a person asked the authority for with this domain."""
    return await session.get(AcmeOrder, (owner_id, domain))


async def orders(session: AsyncSession, rows: Sequence[EntryDomain]) -> dict[int, AcmeOrder]:
    """The orders behind several domains by their entries' ids; without those whose owner brings certificates."""
    wanted = {(row.owner_id, row.domain): row.entry_id for row in rows if row.acme is not None}
    if not wanted:
        return {}
    found = await session.scalars(select(AcmeOrder).where(AcmeOrder.domain.in_({domain for _, domain in wanted})))
    return {wanted[row.owner_id, row.domain]: row for row in found.all() if (row.owner_id, row.domain) in wanted}


async def holder(session: AsyncSession, owner_id: int, domain: str) -> EntryDomain | None:
    """The domain of the entry that an order is for now; None when none wants it."""
    rows = select(EntryDomain).where(EntryDomain.held == domain, EntryDomain.owner_id == owner_id)
    return await first(session, rows.where(EntryDomain.acme.is_not(None)))


async def new_domains(session: AsyncSession, owner_id: int, since: float) -> int:
    """For how many domains a person asked for the first time since an instant."""
    rows = select(func.count()).select_from(AcmeOrder)
    return await session.scalar(rows.where(AcmeOrder.owner_id == owner_id, AcmeOrder.created_at >= since)) or 0


async def ask(session: AsyncSession, vault: Vault, row: EntryDomain, now: float) -> None:
    """Has the authority asked for the certificate of a domain that says so (`acme`).

    A pair that it gave this person before and that is good for a while is served at once.
    """
    assert row.acme is not None, "who brings a certificate asks for none"
    found = await order(session, row.owner_id, row.domain)
    if found is None:
        found = AcmeOrder(
            owner_id=row.owner_id, domain=row.domain, method=row.acme, created_at=now, due_at=now, tries=[]
        )
        session.add(found)
    elif found.method is not row.acme:
        found.method = row.acme
        await reset(session, found, now)
    kept = _kept(vault, found, now)
    if kept is not None:
        found.due_at = min(found.due_at, found.renew_at or now)
        await _serve(session, vault, row, kept, now)
    else:
        found.due_at = now + wait_for_try_s(found.tries, now)
    await session.flush()


async def due(session: AsyncSession, now: float, limit: int) -> Sequence[AcmeOrder]:
    """Orders that an entry waits for and that are to be looked at, the longest due first."""
    rows = select(AcmeOrder).join(EntryDomain, _wanted()).where(AcmeOrder.due_at <= now)
    return (await session.scalars(rows.order_by(AcmeOrder.due_at).limit(limit))).all()


async def open_challenges(session: AsyncSession) -> list[Challenge]:
    """What gateways are to show the authority."""
    rows = select(AcmeOrder).join(EntryDomain, _wanted()).where(AcmeOrder.token.is_not(None))
    return [shown for row in await session.scalars(rows) if (shown := _challenge(row)) is not None]


async def show(session: AsyncSession, row: AcmeOrder, now: float) -> None:
    """Has gateways answer the challenge that is open."""
    shown = _challenge(row)
    if shown is not None:
        await feed.put(session, shown, now)


async def reset(session: AsyncSession, row: AcmeOrder, now: float) -> None:
    """Lets an order go: the next look opens another."""
    row.order_url = row.token = row.authorization = row.key_sealed = None
    row.answered_at, row.goes_on = None, False
    await feed.drop(session, "challenge", row.domain, now)
    await session.flush()


async def opened(session: AsyncSession, row: AcmeOrder, url: str, now: float) -> None:
    """Writes down an order that the authority opened."""
    row.order_url, row.tries, row.due_at = url, [*row.tries, now][-2 * TRIES_PER_HOUR :], now
    await session.flush()


async def given(session: AsyncSession, vault: Vault, row: AcmeOrder, pair: Pair, now: float) -> None:
    """The authority gave a pair: it is kept, and served by the entry that has the domain now."""
    row.chain_pem, row.pair_key_sealed = pair.chain_pem, vault.seal(_purpose(row), pair.key_pem)
    row.not_after = pair.facts.not_after.timestamp()
    row.renew_at = row.due_at = renew_at(pair.facts.not_before.timestamp(), row.not_after)
    row.failures, row.complaint = 0, None
    await reset(session, row, now)
    held = await holder(session, row.owner_id, row.domain)
    if held is not None:
        await _serve(session, vault, held, pair, now)


async def let_go(session: AsyncSession, now: float) -> None:
    """Ends challenges that no entry waits for any more, and forgets orders that gave nothing that still counts."""
    unwanted = ~exists().where(_wanted())
    for row in (await session.scalars(select(AcmeOrder).where(AcmeOrder.order_url.is_not(None), unwanted))).all():
        await reset(session, row, now)
    over = (AcmeOrder.not_after.is_(None)) | (AcmeOrder.not_after < now)
    await session.execute(delete(AcmeOrder).where(over, AcmeOrder.due_at < now - _KEPT_S, unwanted))


async def is_idle(session: AsyncSession) -> bool:
    """Whether `let_go` would find nothing to end."""
    unwanted = ~exists().where(_wanted())
    return await first(session, select(AcmeOrder).where(AcmeOrder.order_url.is_not(None), unwanted)) is None


def seal_key(vault: Vault, row: AcmeOrder, key_pem: str) -> str:
    """The key of a certificate that is being asked for, sealed."""
    return vault.seal(_purpose(row), key_pem)


def open_key(vault: Vault, row: AcmeOrder) -> str:
    """That key, PEM."""
    return vault.open(_purpose(row), row.key_sealed or "")


async def _serve(session: AsyncSession, vault: Vault, row: EntryDomain, pair: Pair, now: float) -> None:
    entry = await session.get_one(Entry, row.entry_id)
    job = await session.get_one(Job, entry.job_id)
    domains.set_pair(vault, row, pair)
    until, issuer = rfc3339(pair.facts.not_after.timestamp()), pair.facts.issuer
    params = {"entry": entry.name, "domain": row.domain, "issuer": issuer, "until": until}
    await jobs.add_event(session, job, NewEvent(EventCode.CERTIFICATE_ISSUED, params), now)
    if row.proof is None:
        await domains.prove(session, row, entry, job, Proof.ACME, now)
    else:
        await domains.publish(session, row, now)
    await entries.publish(session, entry, job, now)


def _kept(vault: Vault, row: AcmeOrder, now: float) -> Pair | None:
    if row.chain_pem is None or row.pair_key_sealed is None or (row.renew_at or 0.0) <= now:
        return None
    return Pair(row.chain_pem, vault.open(_purpose(row), row.pair_key_sealed), facts_of(row.chain_pem), trusted=False)


def _challenge(row: AcmeOrder) -> Challenge | None:
    kind = _SHOWN.get(row.method)
    if kind is None or row.token is None or row.authorization is None:
        return None
    return Challenge(row.domain, kind, row.token, row.authorization)


def _wanted() -> ColumnElement[bool]:
    return (
        (EntryDomain.held == AcmeOrder.domain)
        & (EntryDomain.owner_id == AcmeOrder.owner_id)
        & EntryDomain.acme.is_not(None)
    )


def _purpose(row: AcmeOrder) -> str:
    return f"acme:{row.owner_id}:{row.domain}"
