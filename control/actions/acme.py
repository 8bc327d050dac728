"""Certificates that an authority gives over ACME: who may ask for one, and the person's own part in getting it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

from sqlalchemy.ext.asyncio import AsyncSession

from certs.acme import dns_record
from control.actions.acting import acting
from control.actions.context import Context, Person
from control.actions.rights import own_entry
from control.config import Settings
from control.domain.acme import DAY_S, DOMAINS_PER_DAY, HOUR_S, Method, Stage, landing, stage, wait_for_try_s
from control.domain.domains import Proof
from control.domain.errors import Code, FieldCode, fault, invalid, problem
from control.store import acme, domains, jobs
from control.store.acme_tables import AcmeOrder
from control.store.tables import Entry

ASK_S: Final = 4.0
"""Seconds that a person waits for the name service; when it is silent, the authority looks for itself."""
_FOUND_SHOWN: Final = 3


@dataclass(frozen=True, slots=True)
class Landing:
    """What has to be so for the authority to look: its port (None: it calls none) has to lead to ours."""

    method: Method
    world_port: int | None
    our_port: int | None

    @property
    def is_direct(self) -> bool:
        """Whether the authority's port is ours, without anything between."""
        return self.world_port == self.our_port


def landings(settings: Settings) -> tuple[Landing, ...]:
    """The ways of looking that are offered; none when no authority is set."""
    if not settings.acme_directory:
        return ()
    ports = {
        Method.HTTP: (settings.acme_http_port, settings.http_port),
        Method.TLS: (settings.acme_tls_port, settings.https_port),
        Method.DNS: (None, 0),
    }
    found = []
    for method in Method:
        pair = landing(method, *ports[method])
        found.append(Landing(method, *(pair or (None, None))))
    return tuple(found)


async def refuse_unfit(ctx: Context, who: Person, domain: str, method: Method, proof: Proof | None, path: str) -> None:
    """Returns when `who` may have the authority asked. Raises ProblemError INVALID_INPUT or RATE_LIMITED.

    A domain that leads here may do so because somebody else had it here before: then leading here proves nothing.
    """
    if not ctx.settings.acme_directory:
        raise invalid(fault(path + "acme", FieldCode.ACME_OFF))
    now = ctx.now()
    async with ctx.db.read() as session:
        if proof is None and method is not Method.DNS and await domains.proved_by_another(session, who.id, domain):
            raise invalid(fault(path + "acme_challenge", FieldCode.ACME_NOT_YOURS))
        if await acme.order(session, who.id, domain) is not None:
            return
        if await acme.new_domains(session, who.id, now - DAY_S) >= DOMAINS_PER_DAY:
            raise problem(Code.RATE_LIMITED, retry_after_s=int(HOUR_S))


async def go_on(ctx: Context, who: Person, reference: str) -> None:
    """The record stands, or what was in the way is mended: have the authority look now.

    Raises ProblemError NOT_FOUND, NO_DOMAIN, NO_ORDER, JOB_ENDED, RECORD_MISSING, or RATE_LIMITED when the authority
    was asked too often already.
    """
    async with ctx.db.read() as session:
        entry, _ = await own_entry(session, who, reference)
        seen = await _order_of(session, entry)
    if stage(seen.facts) is Stage.BY_HAND:
        await _refuse_missing(ctx, seen)
    async with acting(ctx, who, "domain.go_on", f"entry:{reference}") as act:
        entry, job = await own_entry(act.session, who, reference)
        jobs.refuse_ended(job)
        order = await _order_of(act.session, entry)
        act.detail |= {"domain": order.domain}
        match stage(order.facts):
            case Stage.BY_HAND if order.authorization == seen.authorization:
                order.goes_on, order.due_at = True, act.now
            case Stage.FAILED:
                wait = wait_for_try_s(order.tries, act.now)
                if wait:
                    raise problem(Code.RATE_LIMITED, retry_after_s=wait)
                order.due_at = act.now
            case _:
                return  # it is under way, or there


async def _refuse_missing(ctx: Context, order: AcmeOrder) -> None:
    """An authority that looks in vain counts it as a failure: so we look first."""
    if order.authorization is None:
        raise problem(Code.NO_ORDER, name=order.domain)
    record, value = dns_record(order.domain, order.authorization)
    ctx.lookups.step(order.owner_id, ctx.now())
    try:
        async with asyncio.timeout(ASK_S):
            found = await ctx.resolver.texts(record)
    except TimeoutError:
        return
    if value not in found:
        shown = ", ".join(sorted(found)[:_FOUND_SHOWN]) or "-"
        raise problem(Code.RECORD_MISSING, record=record, value=value, found=shown)


async def _order_of(session: AsyncSession, entry: Entry) -> AcmeOrder:
    row = await domains.of_entry(session, entry.id)
    if row is None:
        raise problem(Code.NO_DOMAIN, name=entry.name)
    order = None if row.acme is None else await acme.order(session, row.owner_id, row.domain)
    if order is None:
        raise problem(Code.NO_ORDER, name=entry.name)
    return order
