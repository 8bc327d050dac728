"""Domains are proved, seen and warned about by the loop, once each."""

from __future__ import annotations

from datetime import UTC, datetime

from certs.upload import judge
from control.domain.domains import Pointing, Sight
from control.domain.entries import EntrySpec
from control.domain.events import EventCode, NewEvent
from control.domain.jobs.states import State
from control.runtimes.resolver import Resolver
from control.store import domains, entries, feed, jobs
from control.store.domain_tables import EntryDomain
from control.store.domains import Claim
from control.store.secrets import Vault
from control.store.tables import Entry, Job
from control.work.domains import AGAIN_S, Domains
from gateway.contract.routes import Level, Protocol
from tests.certs.authority import Authority
from tests.control.work.conftest import DOORS, Loops

VAULT = Vault(b"k" * 32)
NAME = "lab.example.org"
DAY = 24 * 3600.0


class PlayedNames(Resolver):
    """Says what the test wrote down, and counts the questions."""

    def __init__(self) -> None:
        super().__init__([])
        self.says = Sight(frozenset(), (), Pointing.UNKNOWN)
        self.asked: list[str] = []

    async def sight(self, domain: str, public_address: str) -> Sight:
        """What was written down."""
        assert public_address == "203.0.113.7"
        self.asked.append(domain)
        return self.says


async def entry_of(loops: Loops) -> tuple[str, int]:
    """A running job with an entry that waits for its domain to be proved; the ids of both."""
    ca = Authority(datetime.fromtimestamp(loops.clock.now(), UTC))
    leaf = ca.leaf(NAME, days=90)
    made = judge(
        leaf.pem + ca.intermediate.pem + ca.root.pem, leaf.key_pem(), password=None, name=NAME, now=ca.now, roots=()
    )
    name = await loops.submit()
    async with loops.db.write() as session:
        job = await session.get_one(Job, name)
        entry = await entries.add_entry(session, job, EntrySpec("w", Protocol.HTTPS, Level.OPEN, 80), DOORS, 1.0)
        await domains.claim(session, VAULT, entry, job, Claim(NAME, made, None), 1.0)
        await entries.publish(session, entry, job, 1.0)
    await loops.settle(name)
    return name, entry.id


def domains_on(loops: Loops, names: Resolver) -> Domains:
    """The loop."""
    return Domains(loops.db, loops.lease, names, VAULT, "203.0.113.7", loops.clock.now)


async def stored(loops: Loops, entry_id: int) -> EntryDomain:
    """The domain as it is stored now."""
    async with loops.db.read() as session:
        return await session.get_one(EntryDomain, entry_id)


async def served(loops: Loops, entry_id: int) -> list[bool]:
    """Whether gateways have the entry, and the certificate."""
    async with loops.db.read() as session:
        entry = await feed.revision_of(session, "entry", entry_id)
        return [entry is not None, await feed.revision_of(session, "certificate", f"entry-{entry_id}") is not None]


async def test_a_record_that_appears_proves_the_domain(loops: Loops) -> None:
    """Gateways get entry and certificate from that moment; it is told once, and asked once a minute."""
    name, entry_id = await entry_of(loops)
    names = PlayedNames()
    loop = domains_on(loops, names)
    await loop.look()
    await loop.look()
    assert (names.asked, await served(loops, entry_id)) == ([NAME], [False, False])
    loops.clock.seconds += AGAIN_S + 1
    async with loops.db.read() as session:
        owner = (await session.get_one(Job, name)).owner_id
    names.says = Sight(frozenset({domains.token(VAULT, owner, NAME)}), ("203.0.113.7",), Pointing.YES)
    await loop.look()
    row = await stored(loops, entry_id)
    assert (row.proof, row.pointing, row.addresses) == ("dns", Pointing.YES, ["203.0.113.7"])
    assert await served(loops, entry_id) == [True, True]
    assert (await loops.events(name)).count("DomainProved") == 1
    async with loops.db.read() as session:
        assert (await session.get_one(Entry, entry_id)).ready_at is None


async def test_what_has_ended_is_not_asked_about(loops: Loops) -> None:
    """Its domain is free; gateways forget entry and certificate."""
    name, entry_id = await entry_of(loops)
    async with loops.db.write() as session:
        job, row = await session.get_one(Job, name), await session.get_one(EntryDomain, entry_id)
        entry = await session.get_one(Entry, entry_id)
        await domains.see(session, VAULT, row, entry, job, proving(row), 2.0)
        await entries.publish(session, entry, job, 2.0)
    assert await served(loops, entry_id) == [True, True]
    async with loops.db.write() as session:
        job = await session.get_one(Job, name)
        await jobs.transition(session, job, State.FINISHED, NewEvent(EventCode.FINISHED), 3.0)
    names = PlayedNames()
    await domains_on(loops, names).look()
    assert (names.asked, await served(loops, entry_id)) == ([], [False, False])
    assert (await stored(loops, entry_id)).held is None


async def test_each_warning_is_given_once(loops: Loops) -> None:
    """At 30, 14, 7 and 1 days, and at the end; a look that comes late gives the nearest only."""
    name, entry_id = await entry_of(loops)
    loop = domains_on(loops, PlayedNames())
    told = []
    for days in (40, 30, 29, 13, 12, 3, 0.5, -1, -2):
        async with loops.db.write() as session:  # nearer to its end, without the lease's own time running out
            (await session.get_one(EntryDomain, entry_id)).not_after = loops.clock.now() + days * DAY
        await loop.look()
        told.append((await stored(loops, entry_id)).warned_days)
    assert told == [None, 30, 30, 14, 14, 7, 1, 0, 0]
    words = await loops.events(name)
    assert (words.count("CertificateExpiring"), words.count("CertificateExpired")) == (4, 1)


def proving(row: EntryDomain) -> Sight:
    """A name service that has the record."""
    return Sight(frozenset({domains.token(VAULT, row.owner_id, row.domain)}), (), Pointing.UNKNOWN)
