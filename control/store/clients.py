"""Client certificates: who may pass which entry by one, and the authorities that sign them.

Every change also writes what gateways hold of it, so that withdrawing a certificate cuts its visits.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from certs.client_ca import IssuedClient
from certs.local_ca import Authority
from control.store import feed, records
from control.store.client_tables import ClientAuthority, ClientCertificate
from control.store.engine import first
from control.store.secrets import Vault
from control.store.tables import Entry, User


async def authority(session: AsyncSession, vault: Vault) -> Authority | None:
    """The newest authority, with its key opened; None before the first certificate is wanted."""
    row = await first(session, select(ClientAuthority).order_by(ClientAuthority.generation.desc()).limit(1))
    return None if row is None else Authority(row.certificate_pem, vault.open(_purpose(row.id), row.key_sealed))


async def add_authority(session: AsyncSession, vault: Vault, new: Authority, now: float) -> None:
    """An authority that signs from now on. What older ones signed stays good until its own end."""
    generation = (await session.scalar(select(func.max(ClientAuthority.generation))) or 0) + 1
    name = f"clients-{generation}"
    row = ClientAuthority(
        id=name,
        generation=generation,
        certificate_pem=new.certificate_pem,
        key_sealed=vault.seal(_purpose(name), new.key_pem),
        created_at=now,
    )
    session.add(row)
    await session.flush()
    await feed.put(session, records.authority(row), now)


async def add(session: AsyncSession, user: User, entry: Entry, issued: IssuedClient, now: float) -> ClientCertificate:
    """Lets a person pass an entry by a certificate."""
    row = ClientCertificate(
        user_id=user.id,
        entry_id=entry.id,
        serial=issued.serial,
        fingerprint=issued.fingerprint,
        created_at=now,
        expires_at=issued.not_after.timestamp(),
    )
    session.add(row)
    await session.flush()
    await feed.put(session, records.client(row), now)
    return row


async def client(session: AsyncSession, client_id: int) -> ClientCertificate | None:
    """The certificate with this id."""
    return await session.get(ClientCertificate, client_id)


async def of_entry(session: AsyncSession, entry_id: int) -> Sequence[tuple[ClientCertificate, User]]:
    """An entry's certificates and who holds them, oldest first."""
    rows = await session.execute(
        select(ClientCertificate, User)
        .join(User, User.id == ClientCertificate.user_id)
        .where(ClientCertificate.entry_id == entry_id)
        .order_by(ClientCertificate.id)
    )
    return [(row, user) for row, user in rows]


async def drop(session: AsyncSession, row: ClientCertificate, now: float) -> int:
    """Withdraws a certificate and returns the revision at which gateways know."""
    await session.delete(row)
    return await feed.drop(session, "client", row.id, now)


async def drop_of_entry(session: AsyncSession, entry_id: int, now: float) -> None:
    """Withdraws all certificates of an entry that goes."""
    for row in (await session.scalars(select(ClientCertificate).where(ClientCertificate.entry_id == entry_id))).all():
        await drop(session, row, now)


async def drop_of_user(session: AsyncSession, user_id: int, now: float) -> None:
    """Withdraws all certificates of a person who goes."""
    for row in (await session.scalars(select(ClientCertificate).where(ClientCertificate.user_id == user_id))).all():
        await drop(session, row, now)


async def drop_expired(session: AsyncSession, now: float) -> None:
    """Clears certificates whose time is over; gateways heed that themselves."""
    for row in (await session.scalars(select(ClientCertificate).where(ClientCertificate.expires_at <= now))).all():
        await drop(session, row, now)


def _purpose(name: str) -> str:
    return f"authority:{name}"
