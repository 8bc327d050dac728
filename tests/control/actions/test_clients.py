"""Client certificates: who gets one, who sees and withdraws which, and what signs them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from cryptography import x509

from certs.local_ca import issue, make_authority
from control.actions import clients, entries, jobs, shares
from control.actions.context import Context, Person
from control.actions.submission import Wish
from control.clock import utcnow
from control.domain.entries import EntrySpec
from control.domain.errors import Code
from control.store import clients as store
from control.store import secrets
from gateway.contract.routes import Level, PortKind, Protocol
from tests.control.actions.refused import refused
from tests.control.api.desk import Desk


async def tcp_entry(ctx: Context, who: Person, level: Level = Level.PRIVATE) -> str:
    """The id of a tcp entry of a job of theirs."""
    spec = EntrySpec("db", Protocol.TCP, level, 5432)
    seen, _ = await jobs.submit(ctx, who, Wish(command=("true",), entries=(spec,)))
    return str(seen.entries[0].entry.id)


async def test_who_may_pass_gets_a_certificate(ctx: Context, alice: Person, bob: Person) -> None:
    """The owner at once; a guest once the share code is redeemed. It names person and entry, and lasts 30 days."""
    entry = await tcp_entry(ctx, alice)
    made = await clients.issue(ctx, alice, entry)
    read = x509.load_pem_x509_certificate(made.certificate.encode())
    assert read.subject.rfc4514_string() == "CN=alice"
    assert made.entry.label in str(read.extensions.get_extension_for_class(x509.SubjectAlternativeName).value)
    assert made.seen.row.expires_at == ctx.now() + timedelta(days=30).total_seconds()
    assert "PRIVATE" in made.key
    assert made.key not in repr(made)
    with refused(Code.ENTRY_FORBIDDEN):
        await clients.issue(ctx, bob, entry)
    code = (await shares.share(ctx, alice, entry, shares.Wish())).code
    await shares.redeem(ctx, bob, code, None)
    assert (await clients.issue(ctx, bob, entry)).seen.user == "bob"


@pytest.mark.parametrize(
    "spec",
    [
        EntrySpec("web", Protocol.HTTPS, Level.PRIVATE, 8000),
        EntrySpec("db", Protocol.TCP, Level.OPEN, 5432),
        EntrySpec("db", Protocol.TCP, Level.OPEN, 5432, PortKind.RANDOM),
    ],
)
async def test_an_entry_that_asks_for_none_gives_none(ctx: Context, alice: Person, spec: EntrySpec) -> None:
    """A browser has its cookie, and an open entry asks nobody."""
    seen, _ = await jobs.submit(ctx, alice, Wish(command=("true",), entries=(spec,)))
    with refused(Code.NO_CLIENT_CERTIFICATE):
        await clients.issue(ctx, alice, str(seen.entries[0].entry.id))


async def test_the_owner_sees_all_and_a_guest_their_own(ctx: Context, alice: Person, bob: Person) -> None:
    """Each withdraws what they see, and nothing else."""
    entry = await tcp_entry(ctx, alice, Level.LOGIN)
    hers, his = await clients.issue(ctx, alice, entry), await clients.issue(ctx, bob, entry)
    assert [seen.user for seen in await clients.of_entry(ctx, alice, entry)] == ["alice", "bob"]
    assert [seen.user for seen in await clients.of_entry(ctx, bob, entry)] == ["bob"]
    with refused(Code.NOT_FOUND):
        await clients.withdraw(ctx, bob, hers.seen.row.id)
    assert (await clients.withdraw(ctx, alice, his.seen.row.id)).pending == ()
    await clients.withdraw(ctx, alice, hers.seen.row.id)
    assert await clients.of_entry(ctx, alice, entry) == []
    with refused(Code.NOT_FOUND):
        await clients.withdraw(ctx, alice, hers.seen.row.id)


async def test_a_person_holds_a_bounded_number(
    ctx: Context, alice: Person, bob: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody else's do not count; a withdrawn one makes room."""
    monkeypatch.setattr(clients, "PER_PERSON", 2)
    entry = await tcp_entry(ctx, alice, Level.LOGIN)
    await clients.issue(ctx, bob, entry)
    first = await clients.issue(ctx, alice, entry)
    await clients.issue(ctx, alice, entry)
    with refused(Code.CLIENT_CERTIFICATES_FULL):
        await clients.issue(ctx, alice, entry)
    await clients.withdraw(ctx, alice, first.seen.row.id)
    await clients.issue(ctx, alice, entry)


async def test_one_authority_signs_until_it_nears_its_end(desk: Desk, ctx: Context, alice: Person) -> None:
    """Made with the first certificate, sealed; another takes over in time."""
    entry = await tcp_entry(ctx, alice)
    for _ in range(2):
        await clients.issue(ctx, alice, entry)
    async with ctx.db.read() as session:
        first = await store.authority(session, ctx.vault)
    desk.clock.at += timedelta(days=3640).total_seconds()
    made = await clients.issue(ctx, alice, entry)
    async with ctx.db.read() as session:
        second = await store.authority(session, ctx.vault)
    assert first is not None
    assert second is not None
    assert first != second
    signer = x509.load_pem_x509_certificate(second.certificate_pem.encode())
    x509.load_pem_x509_certificate(made.certificate.encode()).verify_directly_issued_by(signer)


async def test_a_removed_entry_takes_its_certificates_along(ctx: Context, alice: Person) -> None:
    """Nothing of them stands afterwards."""
    entry = await tcp_entry(ctx, alice)
    made = await clients.issue(ctx, alice, entry)
    await entries.remove(ctx, alice, entry)
    with refused(Code.NOT_FOUND):
        await clients.withdraw(ctx, alice, made.seen.row.id)


async def test_the_gateways_own_authority_comes_along(ctx: Context, alice: Person) -> None:
    """The last certificate of the base domain's chain, for clients to trust; before there is one, none."""
    assert await clients.server_authority(ctx) is None
    authority = make_authority(["proxy.localhost"], now=utcnow())
    made = issue(authority, ["proxy.localhost"], now=utcnow())
    async with ctx.db.write() as session:
        await secrets.put_certificate(
            session,
            ctx.vault,
            "base",
            names=made.names,
            chain_pem=made.chain_pem,
            key_pem=made.key_pem,
            not_after=made.not_after.timestamp(),
            is_default=True,
            now=ctx.now(),
        )
    assert await clients.server_authority(ctx) == authority.certificate_pem
    assert (await clients.issue(ctx, alice, await tcp_entry(ctx, alice))).authority == authority.certificate_pem
