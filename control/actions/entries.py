"""Access entries: added, changed and taken away by the owner of their job; what they look like to whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from control.actions.acting import Withdrawal, acting, settle
from control.actions.context import Context, Person
from control.actions.domains import claim_of, give
from control.actions.doors import doors_of
from control.actions.reserved import reserved_ports
from control.actions.rights import own_entry, own_job, passable_entry, removable_entry
from control.domain.entries import ENTRIES_PER_JOB, WEB, EntrySpec
from control.domain.errors import FieldCode, fault, invalid
from control.domain.jobs.states import State
from control.domain.limits import print_limits, read_limits
from control.domain.origins import read_origins
from control.domain.pins import PIN_FORM, read_pin
from control.store import acme, domains, entries, feed, people, shares
from control.store.acme_tables import AcmeOrder
from control.store.domain_tables import EntryDomain
from control.store.tables import Entry, Job
from gateway.contract.routes import AppProtocol, Level, Service


@dataclass(frozen=True, slots=True)
class EntrySeen:
    """An entry with what its row does not hold: its job and owner, whether it is shared and served, and who looks."""

    entry: Entry
    job: Job
    owner: str
    reader: Person
    shared: bool
    served: bool
    now: float
    domain: EntryDomain | None
    proof_text: str
    """What the TXT record of its domain has to say; empty without a domain, or for who may not know."""
    order: AcmeOrder | None
    """What an authority was asked for its domain's certificate."""


async def show(ctx: Context, who: Person, reference: str) -> EntrySeen:
    """One entry, for who may pass it. Raises ProblemError NOT_FOUND or ENTRY_FORBIDDEN."""
    async with ctx.db.read() as session:
        entry, job = await passable_entry(session, who, reference, ctx.now())
        return (await seen(session, ctx, who, [(entry, job)]))[0]


async def show_known(ctx: Context, who: Person, reference: str) -> EntrySeen:
    """One entry, for the owner of its job and for administrators. Raises ProblemError NOT_FOUND."""
    async with ctx.db.read() as session:
        entry, job = await removable_entry(session, who, reference)
        return (await seen(session, ctx, who, [(entry, job)]))[0]


async def add(ctx: Context, who: Person, job_id: str, spec: EntrySpec) -> EntrySeen:
    """Adds an entry to a live job of `who`.

    Raises ProblemError NOT_FOUND, JOB_ENDED, INVALID_INPUT, ENTRY_NAME_TAKEN, TARGET_PORT_TAKEN, DOMAIN_TAKEN or
    NO_FREE_PORT.
    """
    async with ctx.db.read() as session:
        await own_job(session, who, job_id)
    claim = await claim_of(ctx, who, spec.domain)
    async with reserved_ports(ctx, [spec]) as ports, acting(ctx, who, "entry.add", f"job:{job_id}") as act:
        job = await own_job(act.session, who, job_id)
        if len(await entries.of_job(act.session, job_id)) >= ENTRIES_PER_JOB:
            raise invalid(fault("entries", FieldCode.OUT_OF_RANGE, minimum=0, maximum=ENTRIES_PER_JOB))
        entry = await entries.add_entry(
            act.session, job, spec, doors_of(ctx.settings), act.now, random_port=ports.pop(spec.name, None)
        )
        await give(ctx, act.session, entry, job, claim, act.now)
        act.detail |= {"entry": entry.id, "level": spec.level.value, "protocol": spec.protocol.value}
    async with ctx.db.read() as session:
        return (await seen(session, ctx, who, [(entry, job)]))[0]


async def set_level(ctx: Context, who: Person, reference: str, level: Level) -> tuple[EntrySeen, Withdrawal]:
    """Changes who may pass. Visits that the new level does not admit are cut within a second.

    Raises ProblemError NOT_FOUND, JOB_ENDED, or INVALID_INPUT for a level that the entry cannot have.
    """
    async with acting(ctx, who, "entry.level", f"entry:{reference}") as act:
        entry, job = await own_entry(act.session, who, reference)
        _check_level(entry, level)
        act.detail |= {"from": entry.level.value, "to": level.value}
        revision = await entries.set_level(act.session, entry, level, act.now)
    withdrawal = await settle(ctx, revision)
    async with ctx.db.read() as session:
        return (await seen(session, ctx, who, [(entry, job)]))[0], withdrawal


async def set_origins(ctx: Context, who: Person, reference: str, plain: list[str]) -> Withdrawal:
    """Changes which other sites' pages may call a web entry from a browser.

    Raises ProblemError NOT_FOUND, JOB_ENDED, or INVALID_INPUT.
    """
    origins, why = read_origins(plain)
    if why is not None:
        raise invalid(fault("cors_origins", FieldCode.INVALID, why=why))
    async with acting(ctx, who, "entry.origins", f"entry:{reference}") as act:
        entry, _ = await own_entry(act.session, who, reference)
        if origins and entry.protocol not in WEB:
            raise invalid(fault("cors_origins", FieldCode.NOT_ALLOWED))
        act.detail |= {"origins": list(origins)}
        revision = await entries.set_origins(act.session, entry, origins, act.now)
    return await settle(ctx, revision)


async def set_limits(ctx: Context, who: Person, reference: str, plain: dict[str, Any]) -> Withdrawal:
    """Changes what the owner allows at most; connections that are open go on.

    Raises ProblemError NOT_FOUND, JOB_ENDED, or INVALID_INPUT.
    """
    async with acting(ctx, who, "entry.limits", f"entry:{reference}") as act:
        entry, _ = await own_entry(act.session, who, reference)
        limits, faults = read_limits(plain, "", is_web=entry.protocol in WEB)
        if faults:
            raise invalid(*faults)
        act.detail |= {"from": dict(entry.limits), "to": print_limits(limits)}
        revision = await entries.set_limits(act.session, entry, limits, act.now)
    return await settle(ctx, revision)


async def set_pin(ctx: Context, who: Person, reference: str, plain: str | None) -> Withdrawal:
    """Changes the certificate that an https app must show; None: whichever. Open visits are cut: they met another.

    Raises ProblemError NOT_FOUND, JOB_ENDED, or INVALID_INPUT.
    """
    pin = None if plain is None else read_pin(plain)
    if plain is not None and pin is None:
        raise invalid(fault("app_pin", FieldCode.INVALID, why=PIN_FORM))
    async with acting(ctx, who, "entry.pin", f"entry:{reference}") as act:
        entry, _ = await own_entry(act.session, who, reference)
        if pin is not None and entry.app_protocol is not AppProtocol.HTTPS:
            raise invalid(fault("app_pin", FieldCode.NOT_ALLOWED))
        act.detail |= {"from": entry.app_pin, "to": pin}
        revision = await entries.set_pin(act.session, entry, pin, act.now)
    return await settle(ctx, revision)


async def remove(ctx: Context, who: Person, reference: str) -> Withdrawal:
    """Takes an entry away; its visits are cut within a second. Raises ProblemError NOT_FOUND."""
    async with acting(ctx, who, "entry.remove", f"entry:{reference}") as act:
        entry, job = await removable_entry(act.session, who, reference)
        act.detail |= {"job": job.id, "name": entry.name}
        revision = await entries.remove_entry(act.session, entry, act.now)
    withdrawal = await settle(ctx, revision)
    if entry.held_port is not None:
        await ctx.ports.release(entry.held_port)
    return withdrawal


async def seen(session: AsyncSession, ctx: Context, who: Person, rows: Sequence[tuple[Entry, Job]]) -> list[EntrySeen]:
    """Entries as `who` sees them, with three questions to the database however many they are."""
    ids = [entry.id for entry, _ in rows]
    names = await people.names_of(session, {job.owner_id for _, job in rows})
    shared = await shares.shared_among(session, ids)
    revisions = await feed.revisions_of(session, "entry", [str(entry_id) for entry_id in ids])
    own = await domains.of_entries(session, ids)
    asked = await acme.orders(session, list(own.values()))
    return [
        EntrySeen(
            entry,
            job,
            names.get(job.owner_id, ""),
            who,
            shared=entry.id in shared and job.owner_id == who.id,
            served=_served(ctx, job, revisions.get(str(entry.id))),
            now=ctx.now(),
            domain=own.get(entry.id),
            proof_text=_proof_text(ctx, who, job, own.get(entry.id)),
            order=asked.get(entry.id),
        )
        for entry, job in rows
    ]


def _served(ctx: Context, job: Job, revision: int | None) -> bool:
    return job.state is State.RUNNING and revision is not None and ctx.gateways.serves(revision)


def _proof_text(ctx: Context, who: Person, job: Job, domain: EntryDomain | None) -> str:
    if domain is None or not (job.owner_id == who.id or who.is_admin):
        return ""
    return domains.token(ctx.vault, domain.owner_id, domain.domain)


def _check_level(entry: Entry, level: Level) -> None:
    if entry.service is Service.TERMINAL and level is Level.OPEN:
        raise invalid(fault("level", FieldCode.TERMINAL_OPEN))
