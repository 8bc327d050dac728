"""All records derived anew from the rows: what gateways hold is a level, and this is the level.

Run at each start of control. It mends what a change of settings (another base domain, other ports) or
of the contract made stale, and takes away records whose rows are gone. What is right already keeps its
revision.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from control.domain.entries import Doors
from control.store import acme, client_tables, domain_tables, feed, records, tables
from control.store.engine import Database
from gateway.contract import codec
from gateway.contract.routes import PortKind


async def derive_all(db: Database, doors: Doors, now: float) -> None:
    """Brings every record up to date."""
    async with db.write() as session:
        await _move_entries(session, doors)
        alive: set[tuple[str, str]] = set()
        async for record in _records(session):
            await feed.put(session, record, now)
            alive.add((codec.kind_of(record), codec.key_of(record)))
        for kind, key in await feed.keys(session) - alive:
            await feed.drop(session, kind, key, now)


async def _move_entries(session: AsyncSession, doors: Doors) -> None:
    """Entries follow the settings: the base domain, and the fixed port of their protocol."""
    own = {row.entry_id: row.domain for row in await session.scalars(select(domain_tables.EntryDomain))}
    for entry in await session.scalars(select(tables.Entry)):
        entry.host = own.get(entry.id) or doors.host_of(entry.label)
        if entry.port_kind is PortKind.FIXED:
            entry.port = doors.fixed[entry.protocol]


async def _records(session: AsyncSession) -> AsyncIterator[codec.Record]:
    for user in await session.scalars(select(tables.User).where(tables.User.removed_at.is_(None))):
        yield records.user(user)
    for key in await session.scalars(select(tables.SshKey)):
        yield records.key(key)
    for sign_in in await session.scalars(select(tables.Session)):
        yield records.session(sign_in)
    for token in await session.scalars(select(tables.Token)):
        yield records.token(token)
    for grant in await session.scalars(select(tables.Grant)):
        yield records.grant(grant)
    for client in await session.scalars(select(client_tables.ClientCertificate)):
        yield records.client(client)
    for authority in await session.scalars(select(client_tables.ClientAuthority)):
        yield records.authority(authority)
    for certificate in await session.scalars(select(tables.CertificateRow)):
        yield records.certificate(certificate)
    for domain in await session.scalars(select(domain_tables.EntryDomain)):
        if domain.serves:
            yield records.own_certificate(domain)
    for challenge in await acme.open_challenges(session):
        yield challenge
    for secret in await session.scalars(select(tables.SecretRow)):
        yield records.secret(secret)
    async for record in _routes(session):
        yield record


async def _routes(session: AsyncSession) -> AsyncIterator[codec.Record]:
    """Jobs and entries. A random port or a domain of an ended job serves others by now."""
    domains = await session.scalars(select(domain_tables.EntryDomain))
    unserved = {row.entry_id for row in domains if not row.serves}
    rows = select(tables.Job, tables.User.name).join(tables.User, tables.User.id == tables.Job.owner_id)
    jobs: dict[str, tables.Job] = {}
    for job, owner_name in await session.execute(rows.where(tables.Job.forgotten.is_(False))):
        jobs[job.id] = job
        yield records.job(job, owner_name)
    for entry in await session.scalars(select(tables.Entry)):
        holds_port = entry.port_kind is PortKind.FIXED or entry.held_port is not None
        if entry.job_id in jobs and holds_port and entry.id not in unserved:
            yield records.entry(entry, jobs[entry.job_id])
