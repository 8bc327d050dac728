"""The loop that gets certificates by ACME: opens orders, has gateways answer challenges, takes what is given, renews.

Holds no state but its queue: every step starts from the row and from what the authority says of the order, and writes
what follows before the next. Killed at any moment, the next start goes on where the order stands. Orders are looked
at side by side, each with deadlines of its own, so that one domain's trouble is no other's.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final, Protocol

from sqlalchemy.ext.asyncio import AsyncSession

from certs.acme import dns_record, new_key, received, request_pem
from certs.check import CheckFault
from control.domain.acme import HOUR_S, Complaint, Method, wait_s
from control.domain.events import EventCode, EventKind, NewEvent
from control.domain.instants import rfc3339
from control.runtimes.acme import Account, AcmeAuthority, Offer, OrderSeen, RefusedError
from control.runtimes.resolver import Resolver
from control.store import acme, feed, jobs
from control.store.acme_tables import AcmeOrder
from control.store.engine import Database
from control.store.secrets import Vault
from control.store.tables import Entry, Job
from control.work.lease import WorkLease
from control.work.loop import steadily
from control.work.queue import WorkQueue

log = logging.getLogger(__name__)

EVERY_S: Final = 1.0
AT_ONCE: Final = 4
_BATCH: Final = 100
_STEPS: Final = 12
"""Steps that follow each other at once; an order that takes more waits for its next turn."""
_POLL_S: Final = 1.0
_LONGEST_POLL_S: Final = 15.0
_ACKNOWLEDGE_S: Final = 0.2
"""Until gateways are asked again whether they hold the challenge."""
_RECORD_S: Final = 60.0
"""Until the name service is asked again for a record that a person is to set."""
_ENDS: Final = frozenset({"invalid", "expired", "deactivated", "revoked"})


class Gateways(Protocol):
    """What is asked of the gateways."""

    def serves(self, revision: int) -> bool:
        """Whether every one of them acknowledged `revision`."""


class Acme:
    """Looks after the orders of one authority."""

    def __init__(
        self,
        db: Database,
        lease: WorkLease,
        authority: AcmeAuthority,
        gateways: Gateways,
        resolver: Resolver,
        vault: Vault,
        now: Callable[[], float],
    ) -> None:
        self._db = db
        self._lease = lease
        self._authority = authority
        self._gateways = gateways
        self._resolver = resolver
        self._vault = vault
        self._now = now
        self._queue = WorkQueue()

    async def run(self) -> None:
        """Until cancelled, and no longer than the authority is needed."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._queue.run(self._work, at_once=AT_ONCE))
                group.create_task(steadily("looking for certificates to ask for", self.look, every_s=EVERY_S))
        finally:
            self._authority.close()

    async def look(self) -> None:
        """Puts what is due into the queue, and ends what nobody waits for any more."""
        now = self._now()
        async with self._db.read() as session:
            rows = await acme.due(session, now, _BATCH)
            is_idle = await acme.is_idle(session)
        for row in rows:
            self._queue.put(f"{row.owner_id} {row.domain}")
        if not is_idle:
            async with self._lease.write() as session:
                await acme.let_go(session, now)

    async def _work(self, item: str) -> None:
        owner_id, _, domain = item.partition(" ")
        await self.advance(int(owner_id), domain)

    async def advance(self, owner_id: int, domain: str) -> None:
        """Takes the steps that an order is due for. What is refused is written down, and tried again later."""
        for _ in range(_STEPS):
            async with self._db.read() as session:
                row = await acme.order(session, owner_id, domain)
                wanted = await acme.holder(session, owner_id, domain) is not None
            if row is None or not wanted or row.due_at > self._now():
                return
            try:
                await self._step(row)
            except RefusedError as refusal:
                await self._refused(row, refusal)
            except CheckFault as fault:
                why = Complaint("badCertificate", f"what the authority sent cannot be served: {fault.detail}")
                await self._refused(row, RefusedError(why))

    async def _step(self, row: AcmeOrder) -> None:
        account = await self._account()
        if row.order_url is None:
            await self._begin(row, account)
            return
        seen = await self._authority.look(account, row.order_url)
        match seen.status:
            case "pending":
                await self._challenged(row, account, seen)
            case "ready":
                await self._finalize(row, account, seen)
            case "valid" if seen.certificate is not None:
                chain_pem = await self._authority.fetch(account, seen.certificate)
                moment = datetime.fromtimestamp(self._now(), UTC)
                pair = received(chain_pem, acme.open_key(self._vault, row), row.domain, now=moment)
                async with self._lease.write() as session:
                    if (fresh := await self._same(session, row)) is not None:
                        await acme.given(session, self._vault, fresh, pair, self._now())
                log.info("%s has a certificate until %s", row.domain, pair.facts.not_after)
            case "invalid":
                raise RefusedError(_why(seen, row.method))
            case _:
                await self._wait(row, min(seen.again_s, HOUR_S))

    async def _account(self) -> Account:
        """Our account, registered when it is not yet. Its key lies in the database before the authority hears of it."""
        directory = self._authority.directory_url
        async with self._db.read() as session:
            row = await acme.account(session, directory)
        if row is None:
            async with self._lease.write() as session:
                row = await acme.account(session, directory)
                row = row or await acme.add_account(session, self._vault, directory, new_key(), self._now())
        key_pem = acme.account_key(self._vault, row)
        if row.url is not None:
            return Account(key_pem, row.url)
        url = await self._authority.register(key_pem)
        async with self._lease.write() as session:
            if (fresh := await acme.account(session, directory)) is not None:
                fresh.url = url
        return Account(key_pem, url)

    async def _begin(self, row: AcmeOrder, account: Account) -> None:
        """Opens an order, unless the certificate that there is has time; then the authority is asked how much."""
        now = self._now()
        if row.chain_pem is not None and row.renew_at is not None and now < row.renew_at:
            wanted, again = await self._renewal(row.chain_pem)
            async with self._lease.write() as session:
                if (fresh := await self._same(session, row)) is not None:
                    fresh.renew_at = row.renew_at if wanted is None else min(wanted, row.renew_at)
                    fresh.due_at = min(max(again, now + _RECORD_S), max(fresh.renew_at, now))
            return
        url = await self._authority.order(account, row.domain)
        async with self._lease.write() as session:
            if (fresh := await self._same(session, row)) is not None:
                await acme.opened(session, fresh, url, now)

    async def _renewal(self, chain_pem: str) -> tuple[float | None, float]:
        try:
            return await self._authority.renewal(chain_pem)
        except RefusedError as refusal:  # only advice: without it the certificate is renewed by its age
            log.info("no word on when to renew: %s", refusal)
            return None, float("inf")

    async def _challenged(self, row: AcmeOrder, account: Account, seen: OrderSeen) -> None:
        offer = seen.offers.get(row.method)
        if offer is None:
            offered = ", ".join(sorted(seen.offers)) or "-"
            raise RefusedError(Complaint("notOffered", f"the authority offers {offered}, not {row.method}"))
        if offer.status in _ENDS:
            raise RefusedError(offer.complaint or _why(seen, row.method))
        if offer.status != "pending" or row.answered_at is not None:
            waited_s = self._now() - (row.answered_at or self._now())
            await self._wait(row, min(max(_POLL_S, waited_s / 3), _LONGEST_POLL_S))
        elif row.token != offer.token:
            await self._show(row, offer)
        elif await self._stands(row, offer):
            await self._authority.answer(account, offer.url)
            async with self._lease.write() as session:
                if (fresh := await self._same(session, row)) is not None:
                    fresh.answered_at, fresh.due_at = self._now(), self._now() + _ACKNOWLEDGE_S

    async def _show(self, row: AcmeOrder, offer: Offer) -> None:
        """Has gateways answer, or tells the person which record to set."""
        now = self._now()
        async with self._lease.write() as session:
            fresh = await self._same(session, row)
            if fresh is None:
                return
            fresh.token, fresh.authorization = offer.token, offer.authorization
            await acme.show(session, fresh, now)
            if fresh.method is Method.DNS:
                record, value = dns_record(fresh.domain, offer.authorization)
                params = {"domain": fresh.domain, "record": record, "value": value}
                await self._tell(session, fresh, NewEvent(EventCode.RECORD_WANTED, params, EventKind.WARNING))

    async def _stands(self, row: AcmeOrder, offer: Offer) -> bool:
        """Whether the authority would find what it looks for; else it is looked at again soon."""
        if row.method is Method.DNS:
            if row.goes_on or await self._has_record(row, offer):
                return True
            await self._wait(row, _RECORD_S)
            return False
        async with self._db.read() as session:
            revision = await feed.revision_of(session, "challenge", row.domain)
        if revision is not None and self._gateways.serves(revision):
            return True
        await self._wait(row, _ACKNOWLEDGE_S)
        return False

    async def _has_record(self, row: AcmeOrder, offer: Offer) -> bool:
        record, value = dns_record(row.domain, offer.authorization)
        try:
            return value in await self._resolver.texts(record)
        except TimeoutError:
            return False

    async def _finalize(self, row: AcmeOrder, account: Account, seen: OrderSeen) -> None:
        """Hands in the request. Its key is kept first: what is given for it must never be without one."""
        if row.key_sealed is None:
            async with self._lease.write() as session:
                if (fresh := await self._same(session, row)) is not None:
                    fresh.key_sealed = acme.seal_key(self._vault, row, new_key())
            return
        request = request_pem(acme.open_key(self._vault, row), row.domain)
        await self._authority.finalize(account, seen.finalize, request)

    async def _wait(self, row: AcmeOrder, delay_s: float) -> None:
        async with self._lease.write() as session:
            if (fresh := await self._same(session, row)) is not None:
                fresh.due_at = self._now() + delay_s

    async def _refused(self, row: AcmeOrder, refusal: RefusedError) -> None:
        complaint, now = refusal.complaint, self._now()
        log.warning("no certificate for %s: %s", row.domain, refusal)
        async with self._lease.write() as session:
            forgotten = complaint.kind == "accountDoesNotExist"
            account = await acme.account(session, self._authority.directory_url)
            if forgotten and account is not None:
                account.url = None  # registered anew with the next try
            fresh = await self._same(session, row)
            if fresh is None:
                return
            fresh.failures += 1
            # Not a matter of security: it only keeps many from asking in the same second.
            away = replace(complaint, away=complaint.away or forgotten)
            wait = wait_s(away, fresh.failures, refusal.retry_after_s, random.random())  # noqa: S311
            known = fresh.complaint is not None and fresh.complaint["kind"] == complaint.kind
            fresh.due_at, fresh.complaint = now + wait, complaint.plain(now)
            if not complaint.away:
                await acme.reset(session, fresh, now)
            if not known:
                params = {"domain": fresh.domain, "kind": complaint.kind, "detail": complaint.detail}
                params["next"] = rfc3339(fresh.due_at) or ""
                await self._tell(session, fresh, NewEvent(EventCode.CERTIFICATE_REFUSED, params, EventKind.WARNING))

    async def _tell(self, session: AsyncSession, row: AcmeOrder, event: NewEvent) -> None:
        held = await acme.holder(session, row.owner_id, row.domain)
        if held is not None:
            entry = await session.get_one(Entry, held.entry_id)
            await jobs.add_event(session, await session.get_one(Job, entry.job_id), event, self._now())

    async def _same(self, session: AsyncSession, seen: AcmeOrder) -> AcmeOrder | None:
        """The order as it is now, unless a person changed what it is about meanwhile."""
        row = await acme.order(session, seen.owner_id, seen.domain)
        if row is None or (row.method, row.order_url) != (seen.method, seen.order_url):
            return None
        return row


def _why(seen: OrderSeen, method: Method) -> Complaint:
    """Why an order is over: what was said of the challenge is more exact than what is said of the order."""
    offer = seen.offers.get(method)
    said = (offer.complaint if offer is not None else None) or seen.complaint
    return said or Complaint("invalid", "the authority ended the order without a word")
