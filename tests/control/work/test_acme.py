"""Orders from the wish to the renewal, against Let's Encrypt's test authority, on both databases."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from certs.acme import dns_record
from certs.check import facts_of
from control.clock import now as real_now
from control.domain.acme import Method, Stage, stage
from control.domain.entries import EntrySpec
from control.runtimes.acme import Account, AcmeAuthority
from control.runtimes.resolver import Resolver
from control.store import acme, derive, domains, entries, feed
from control.store.acme_tables import AcmeAccount, AcmeOrder
from control.store.domain_tables import EntryDomain
from control.store.domains import Claim
from control.store.secrets import Vault
from control.store.tables import Entry, Job, Lease
from control.work.acme import Acme
from gateway.contract.routes import Level, Protocol
from tests.control.work.conftest import DOORS, Loops
from tests.pebble import Pebble, pebble

VAULT = Vault(b"k" * 32)
NAME = "lab.example.org"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pebble]:
    """A running authority; where it looks over HTTP and TLS, nobody listens."""
    with pebble(tmp_path_factory.mktemp("pebble"), http_port=9, tls_port=9) as running:
        yield running


@dataclass
class PlayedGateways:
    """Gateways that hold what they are given, at once or never."""

    holds: bool = True
    asked: list[int] = field(default_factory=list)

    def serves(self, revision: int) -> bool:
        """Whether they do."""
        self.asked.append(revision)
        return self.holds


@dataclass
class Scene:
    """The loops, an authority, and an entry whose certificate is wanted."""

    loops: Loops
    authority: Pebble
    gateways: PlayedGateways
    job: str = ""
    owner: int = 0
    entry: int = 0

    def process(self) -> Acme:
        """What a control process that just started has: nothing but the database."""
        pebble = self.authority
        adapter = AcmeAuthority(pebble.directory, "ops@example.org", pebble.bundle, "test/1")
        host, _, port = pebble.name_server.rpartition(":")
        names = Resolver([(host, int(port))])
        loops = self.loops
        return Acme(loops.db, loops.lease, adapter, self.gateways, names, VAULT, loops.clock.now)

    async def want(self, method: Method, name: str = NAME) -> None:
        """A running job's entry asks for the domain."""
        self.job = await self.loops.submit()
        async with self.loops.db.write() as session:
            job = await session.get_one(Job, self.job)
            spec = EntrySpec("w", Protocol.HTTPS, Level.OPEN, 80)
            entry = await entries.add_entry(session, job, spec, DOORS, self.now)
            row = await domains.claim(session, VAULT, entry, job, Claim(name, None, None, method), self.now)
            await acme.ask(session, VAULT, row, self.now)
            await entries.publish(session, entry, job, self.now)
            self.entry, self.owner = entry.id, job.owner_id
        await self.loops.settle(self.job)

    @property
    def now(self) -> float:
        """The time."""
        return self.loops.clock.now()

    async def advance(self, name: str = NAME, *, process: Acme | None = None) -> AcmeOrder:
        """The next steps, by a process of their own; the order after them. Time passes until it is due."""
        self.loops.clock.seconds = max(real_now(), self.loops.clock.seconds) + 3
        await (process or self.process()).advance(self.owner, name)
        return await self.order(name)

    async def until(self, wanted: Stage, name: str = NAME) -> AcmeOrder:
        """Steps until the order stands there."""
        async with asyncio.timeout(30):
            while stage((order := await self.advance(name)).facts) is not wanted:
                await asyncio.sleep(0.02)
        return order

    async def order(self, name: str = NAME) -> AcmeOrder:
        """The order as it is stored."""
        async with self.loops.db.read() as session:
            return await session.get_one(AcmeOrder, (self.owner, name))

    async def domain(self) -> EntryDomain:
        """The entry's domain as it is stored."""
        async with self.loops.db.read() as session:
            return await session.get_one(EntryDomain, self.entry)

    async def served(self, *kinds: tuple[str, object]) -> list[bool]:
        """Whether gateways have these records."""
        async with self.loops.db.read() as session:
            return [await feed.revision_of(session, kind, key) is not None for kind, key in kinds]

    def stands(self, order: AcmeOrder) -> None:
        """The person sets the record."""
        assert order.authorization is not None
        self.authority.set_record(*dns_record(order.domain, order.authorization))


@pytest.fixture
async def scene(loops: Loops, authority: Pebble) -> Scene:
    """Around now: the authority's clock is the real one."""
    loops.clock.seconds = real_now()
    assert loops.lease._held is not None
    async with loops.db.write() as session:  # the lease was taken when the clock was young
        (await session.get_one(Lease, "work")).expires_at = loops.clock.seconds + 1e7
    return Scene(loops, authority, PlayedGateways())


async def test_a_record_set_by_hand_gives_a_certificate_that_proves_the_domain(scene: Scene) -> None:
    """Told once which record; the loop sees it by itself; entry and certificate reach the gateways; keys lie sealed."""
    await scene.want(Method.DNS)
    order = await scene.until(Stage.BY_HAND)
    assert await scene.served(("entry", scene.entry), ("challenge", NAME)) == [False, False]
    await scene.advance()
    scene.stands(order)
    scene.loops.clock.seconds += 60
    done = await scene.until(Stage.ISSUED)
    row = await scene.domain()
    assert (row.proof, facts_of(row.chain_pem).names) == ("acme", (NAME,))
    assert done.chain_pem == row.chain_pem
    assert await scene.served(("entry", scene.entry), ("certificate", f"entry-{scene.entry}")) == [True, True]
    assert "PRIVATE" not in f"{row.key_sealed} {done.pair_key_sealed}"
    assert (done.order_url, done.key_sealed, done.authorization, done.failures) == (None, None, None, 0)
    words = await scene.loops.events(scene.job)
    assert [words.count(word) for word in ("RecordWanted", "CertificateIssued", "DomainProved")] == [1, 1, 1]
    async with scene.loops.db.read() as session:
        account = await session.get_one(AcmeAccount, scene.authority.directory)
    assert account.url is not None
    assert "PRIVATE" not in account.key_sealed


async def test_killed_after_every_question_the_next_start_goes_on(scene: Scene) -> None:
    """A process that dies right after the authority heard it has written nothing since: one order, one certificate."""
    await scene.want(Method.DNS)
    opened: set[str] = set()

    class DeadError(BaseException):
        """kill -9."""

    def deadly(process: Acme, verb: str) -> Acme:
        adapter = process._authority
        real = getattr(adapter, verb)

        async def once(*arguments: object) -> object:
            await real(*arguments)
            raise DeadError

        setattr(adapter, verb, once)
        return process

    for verb in ("register", "order", "look", "answer", "finalize", "fetch"):
        for _ in range(200):
            try:
                order = await scene.advance(process=deadly(scene.process(), verb))
            except DeadError:
                break
            if stage(order.facts) is Stage.BY_HAND:
                scene.stands(order)
                scene.loops.clock.seconds += 60
            await asyncio.sleep(0.02)
        else:
            pytest.fail(f"{verb} was never asked")
        opened.add((await scene.order()).order_url or "")
        if stage((await scene.order()).facts) is Stage.BY_HAND:
            scene.stands(await scene.order())
            scene.loops.clock.seconds += 60
    await scene.until(Stage.ISSUED)
    assert len(opened - {""}) == 1
    assert (await scene.loops.events(scene.job)).count("CertificateIssued") == 1


@pytest.mark.slow
async def test_a_refusal_is_told_and_tried_again_later(scene: Scene) -> None:
    """In the authority's own words, once; the order is let go, and the next one is another."""
    await scene.want(Method.HTTP, "dead.example.org")
    order = await scene.until(Stage.FAILED, "dead.example.org")
    assert order.complaint is not None
    assert order.complaint["kind"] == "connection"
    assert "dead.example.org" in order.complaint["detail"]
    assert order.due_at - scene.now > 250
    assert await scene.served(("challenge", "dead.example.org")) == [False]
    async with scene.loops.db.write() as session:
        (await session.get_one(AcmeOrder, (scene.owner, "dead.example.org"))).due_at = scene.now
    again = await scene.until(Stage.FAILED, "dead.example.org")
    while again.failures < 2:
        again = await scene.advance("dead.example.org")
    assert (await scene.loops.events(scene.job)).count("CertificateRefused") == 1


async def test_the_authority_looks_once_all_gateways_hold_the_challenge(scene: Scene) -> None:
    """Not before: a look in vain counts as a failure. What control derives at a start holds it too."""
    scene.gateways.holds = False
    await scene.want(Method.HTTP)
    while (await scene.advance()).token is None:
        pass
    for _ in range(3):
        assert (await scene.advance()).answered_at is None
    assert scene.gateways.asked
    await derive.derive_all(scene.loops.db, DOORS, scene.now)
    assert await scene.served(("challenge", NAME)) == [True]
    scene.gateways.holds = True
    assert (await scene.advance()).answered_at is not None


@pytest.mark.slow
async def test_an_authority_that_is_away_costs_nothing_but_time(scene: Scene, authority: Pebble) -> None:
    """The order stands. One that has forgotten everything, the account too, is asked anew."""
    await scene.want(Method.DNS)
    order = await scene.until(Stage.BY_HAND)
    authority.stop()
    async with scene.loops.db.write() as session:
        (await session.get_one(AcmeOrder, (scene.owner, NAME))).due_at = scene.now
    try:
        away = await scene.advance()
        assert (away.order_url, away.failures) == (order.order_url, 1)
        assert away.due_at - scene.now <= 40
    finally:
        authority.start()
    scene.loops.clock.seconds += 60
    forgotten = await scene.advance()
    assert (forgotten.order_url, forgotten.failures) == (None, 2)
    scene.loops.clock.seconds += 120
    scene.stands(await scene.until(Stage.BY_HAND))
    scene.loops.clock.seconds += 60
    await scene.until(Stage.ISSUED)


@pytest.mark.slow
async def test_a_certificate_is_renewed_while_the_old_one_serves(scene: Scene) -> None:
    """Before it is due nothing is asked; a renewal that fails changes nothing; one that succeeds replaces the pair."""
    await scene.want(Method.DNS)
    scene.stands(await scene.until(Stage.BY_HAND))
    scene.loops.clock.seconds += 60
    first = await scene.until(Stage.ISSUED)
    assert (await scene.advance()).order_url is None
    async with scene.loops.db.write() as session:
        row = await session.get_one(AcmeOrder, (scene.owner, NAME))
        row.renew_at = row.due_at = scene.now
    renewing = await scene.until(Stage.BY_HAND)
    assert renewing.authorization != first.authorization
    assert (await scene.domain()).chain_pem == first.chain_pem
    scene.stands(renewing)
    scene.loops.clock.seconds += 60
    while (renewed := await scene.advance()).chain_pem == first.chain_pem:
        await asyncio.sleep(0.02)
    row = await scene.domain()
    assert row.chain_pem == renewed.chain_pem
    assert VAULT.open(f"certificate:entry-{scene.entry}", row.key_sealed).startswith("-----BEGIN PRIVATE KEY")
    assert (await scene.loops.events(scene.job)).count("CertificateIssued") == 2


@pytest.mark.slow
async def test_the_next_job_takes_the_pair_that_was_given(scene: Scene) -> None:
    """Without a question: authorities give few for one domain in a week. What nobody waits for is not asked for."""
    await scene.want(Method.DNS)
    scene.stands(await scene.until(Stage.BY_HAND))
    scene.loops.clock.seconds += 60
    first = await scene.until(Stage.ISSUED)
    async with scene.loops.db.write() as session:
        await entries.remove_entry(session, await session.get_one(Entry, scene.entry), scene.now)
    await scene.want(Method.HTTP)
    row, order = await scene.domain(), await scene.order()
    assert (row.chain_pem, row.proof, row.serves) == (first.chain_pem, "acme", True)
    assert (order.order_url, order.method, order.due_at > scene.now) == (None, Method.HTTP, True)


async def test_a_challenge_ends_with_the_entry_that_wanted_it(scene: Scene) -> None:
    """Gateways answer for nobody any more; the queue is fed with what is due only."""
    scene.gateways.holds = False
    await scene.want(Method.TLS)
    while (await scene.advance()).token is None:
        pass
    assert await scene.served(("challenge", NAME)) == [True]
    async with scene.loops.db.write() as session:
        await entries.remove_entry(session, await session.get_one(Entry, scene.entry), scene.now)
    process = scene.process()
    await process.look()
    assert await scene.served(("challenge", NAME)) == [False]
    assert (await scene.order()).order_url is None
    assert process._queue._due == {}


@pytest.mark.slow
async def test_domains_do_not_wait_for_each_other(scene: Scene) -> None:
    """One for which the authority never answers holds up no other."""
    await scene.want(Method.DNS, "slow.example.org")
    await scene.want(Method.DNS)
    process = scene.process()
    real = process._authority.order

    async def order(account: Account, domain: str) -> str:
        if domain == "slow.example.org":
            await asyncio.get_running_loop().create_future()
        return await real(account, domain)

    process._authority.order = order  # type: ignore[method-assign] # the one question that hangs
    scene.loops.clock.seconds += 3
    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        running = group.create_task(process.run())
        while (await scene.order()).order_url is None:
            await asyncio.sleep(0.05)
        running.cancel()
    assert (await scene.order("slow.example.org")).order_url is None
