"""Client certificates: issued to who may pass a tcp entry, shown to them and the owner, withdrawn by either.

The certificate is signed here, its key handed out once and kept nowhere; gateways hold the fingerprint.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from sqlalchemy.ext.asyncio import AsyncSession

from certs.client_ca import issue_client, make_client_authority, outlasts
from certs.local_ca import Authority
from control.actions.acting import Act, Withdrawal, acting, reached, settle
from control.actions.context import Context, Person
from control.actions.rights import passable_entry, removable_entry
from control.domain.errors import Code, problem
from control.store import clients, secrets
from control.store.client_tables import ClientCertificate
from control.store.tables import Entry, User
from gateway.contract.routes import Level, Protocol

PER_PERSON: Final = 16
"""Certificates that a person may hold for one entry at once."""


@dataclass(frozen=True, slots=True)
class ClientSeen:
    """A certificate and who holds it."""

    row: ClientCertificate
    user: str


@dataclass(frozen=True, slots=True)
class MadeClient:
    """A certificate just issued, PEM, with its key, which is shown this once, and the gateway's own authority."""

    seen: ClientSeen
    entry: Entry
    certificate: str
    key: str = field(repr=False)
    authority: str


async def issue(ctx: Context, who: Person, reference: str) -> MadeClient:
    """A certificate by which `who` passes a tcp entry of level private or login.

    Raises ProblemError NOT_FOUND, ENTRY_FORBIDDEN, NO_CLIENT_CERTIFICATE or CLIENT_CERTIFICATES_FULL.
    """
    async with acting(ctx, who, "client.issue", f"entry:{reference}") as act:
        entry, _ = await passable_entry(act.session, who, reference, act.now)
        if entry.protocol is not Protocol.TCP or entry.level is Level.OPEN:
            raise problem(Code.NO_CLIENT_CERTIFICATE)
        held = [user for _, user in await clients.of_entry(act.session, entry.id) if user.id == who.id]
        if len(held) >= PER_PERSON:
            raise problem(Code.CLIENT_CERTIFICATES_FULL, limit=PER_PERSON)
        moment = datetime.fromtimestamp(act.now, UTC)
        issued = issue_client(await _authority(ctx, act, moment), user=who.name, entry=entry.label, now=moment)
        row = await clients.add(act.session, await act.session.get_one(User, who.id), entry, issued, act.now)
        act.subject = f"client:{row.id}"
        act.detail |= {"entry": entry.id, "serial": issued.serial}
        revision = await reached(act)
    await settle(ctx, revision)
    authority = await server_authority(ctx) or ""
    return MadeClient(ClientSeen(row, who.name), entry, issued.certificate_pem, issued.key_pem, authority)


async def of_entry(ctx: Context, who: Person, reference: str) -> list[ClientSeen]:
    """The certificates of an entry: all of them for its owner, for others their own.

    Raises ProblemError NOT_FOUND or ENTRY_FORBIDDEN.
    """
    async with ctx.db.read() as session:
        entry, job = await passable_entry(session, who, reference, ctx.now())
        rows = await clients.of_entry(session, entry.id)
    return [ClientSeen(row, user.name) for row, user in rows if who.id in (user.id, job.owner_id)]


async def withdraw(ctx: Context, who: Person, client_id: int) -> Withdrawal:
    """Withdraws a certificate: one's own, or one for one's entry; its visits are cut within a second.

    Raises ProblemError NOT_FOUND.
    """
    async with acting(ctx, who, "client.withdraw", f"client:{client_id}") as act:
        row = await _withdrawable(act.session, who, client_id)
        act.detail |= {"entry": row.entry_id, "serial": row.serial, "user": row.user_id}
        revision = await clients.drop(act.session, row, act.now)
    return await settle(ctx, revision)


async def server_authority(ctx: Context) -> str | None:
    """The certificate of the authority that vouches for the base domain, PEM; None before there is one."""
    async with ctx.db.read() as session:
        row = await secrets.default_certificate(session)
    return None if row is None else _last_of(row.chain_pem)


async def _authority(ctx: Context, act: Act, moment: datetime) -> Authority:
    """The authority that signs; made when there is none, or it would end before what it signs."""
    kept = await clients.authority(act.session, ctx.vault)
    if kept is not None and outlasts(kept.certificate_pem, now=moment):
        return kept
    made = make_client_authority(now=moment)
    await clients.add_authority(act.session, ctx.vault, made, act.now)
    return made


async def _withdrawable(session: AsyncSession, who: Person, client_id: int) -> ClientCertificate:
    row = await clients.client(session, client_id)
    if row is None:
        raise problem(Code.NOT_FOUND, what=f"#{client_id}")
    if row.user_id != who.id:
        await removable_entry(session, who, str(row.entry_id))
    return row


def _last_of(chain_pem: str) -> str:
    begin = "-----BEGIN CERTIFICATE-----"
    return begin + chain_pem.rpartition(begin)[2]
