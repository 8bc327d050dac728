"""The one decision: may this visitor pass this entry now?

`decide` is the only maker of an Admission; dial and the bridge take nothing else, and the Admission
carries its Target, so that no one looks twice and could find something different (law 1). The
strongest right that a visitor has is taken, because a visit ends with the right it rests on: an
owner's visit must not end when a share is cancelled.
"""

from __future__ import annotations

from dataclasses import InitVar, dataclass, replace
from typing import Final

from gateway.contract.bridge import home_subject
from gateway.contract.people import User
from gateway.contract.routes import Entry, Job, JobPhase, Level, PortKind, Protocol, Target
from gateway.core.grounds import entry_ground, grant_ground, job_ground, open_to_anyone, open_to_users, user_ground
from gateway.core.refusals import Code, Refusal
from gateway.core.ssh_name import HOME_NAME
from gateway.core.table import Table
from gateway.core.tickets import Visitor

_PROOF: Final = object()
"""Known to this module alone: whoever holds it may make an Admission."""
_HOMES: Final = {"local": "local"}
"""The clusters on which people have homes, and the engine whose bridge leads there."""
_UNFIT: Final = {
    JobPhase.STARTING: Code.JOB_STARTING,
    JobPhase.SUSPENDED: Code.JOB_SUSPENDED,
    JobPhase.UNREACHABLE: Code.UNREACHABLE,
    JobPhase.ENDED: Code.JOB_ENDED,
}


@dataclass(frozen=True, slots=True)
class Admission:
    """The permission for one visit: who, through which entry, to which target, and the grounds it rests on."""

    visitor: Visitor
    entry: Entry
    target: Target
    grounds: tuple[str, ...]
    proof: InitVar[object]

    def __post_init__(self, proof: object) -> None:
        """Raises TypeError for anybody but decide(); dataclasses.replace() cannot copy the proof either."""
        if proof is not _PROOF:
            raise TypeError("only decide() makes an Admission")


@dataclass(frozen=True, slots=True)
class Ask:
    """The entry is for people whom we know, and this visitor must sign in first."""

    entry: Entry


Decision = Admission | Ask | Refusal


def decide(entry: Entry, visitor: Visitor, table: Table, now: float) -> Decision:
    """Whether the visitor may pass the entry at `now`, epoch seconds.

    The table's own record of the entry is judged, because the caller's may be older; of the caller's
    only the subject counts, which may name a node or container of the job. Who has no right learns
    nothing about the job; who has one is told when it has ended or is not up. A credential that is
    over counts as none. Nothing here awaits: the answer holds until the caller lets the loop turn,
    so that a visit must be opened before the next await.
    """
    held = table.entry(entry.id)
    if held is None or not _is_in(entry.target.subject, held.job_id):
        return Refusal(Code.UNKNOWN_HOST)
    right = _right(held, visitor, table, now)
    if not isinstance(right, tuple):
        return right
    unfit = _unfit(table.job(held.job_id))
    if unfit is not None:
        return Refusal(unfit, held.job_id, held.name)
    if table.stale(now) and entry_ground(held.id, "open") not in right:
        return Refusal(Code.STALE, held.job_id, held.name)
    return Admission(visitor, held, _target(held, entry), right, _PROOF)


def decide_home(cluster: str, visitor: Visitor, table: Table, now: float) -> Admission | Refusal:
    """Whether the visitor may enter their own home on a cluster, where there is no job.

    Nobody enters another's. A key that lies in a home opens that person's jobs and nothing else: not
    the home either. The entry that the Admission names stands in no table: it is this door.
    """
    user = _known(visitor, table, now)
    if user is None:
        return Refusal(Code.WITHDRAWN)
    engine = _HOMES.get(cluster)
    if engine is None or visitor.cluster is not None:
        return Refusal(Code.NO_SUCH_HOME)
    if table.stale(now):
        return Refusal(Code.STALE)
    target = Target(engine, home_subject(user.name, cluster))
    entry = Entry(
        -user.id, "", HOME_NAME, Protocol.SSH, Level.PRIVATE, PortKind.FIXED, 0, "", HOME_NAME, user.id, target
    )
    return Admission(visitor, entry, target, (user_ground(user.id), *visitor.grounds), _PROOF)


def _right(entry: Entry, visitor: Visitor, table: Table, now: float) -> tuple[str, ...] | Ask | Refusal:
    """The grounds of the strongest right, or why there is none."""
    place = (entry_ground(entry.id), job_ground(entry.job_id))
    user = _known(visitor, table, now)
    if user is not None and (personal := _personal(entry, user, visitor.cluster, table, now)) is not None:
        return (*place, user_ground(user.id), *visitor.grounds, *personal)
    if open_to_anyone(entry):
        return (*place, entry_ground(entry.id, "open"))
    if user is not None:
        code = Code.OPEN_NEEDS_SSHD if entry.level is Level.OPEN else Code.FORBIDDEN
        return Refusal(code, entry_name=entry.name)
    return _unknown(entry, visitor, table)


def _known(visitor: Visitor, table: Table, now: float) -> User | None:
    """The person, when they are not disabled and their credential is not over."""
    user = None if visitor.user_id is None else table.user(visitor.user_id)
    if user is None:
        return None
    return user if all(table.stands(ground, now) for ground in (user_ground(user.id), *visitor.grounds)) else None


def _personal(entry: Entry, user: User, cluster: str | None, table: Table, now: float) -> tuple[str, ...] | None:
    """The further grounds of a right that this person has by name; None when they have none."""
    if cluster is not None:
        return () if entry.owner_id == user.id and _runs_on(cluster, entry, table) else None
    if entry.owner_id == user.id:
        return ()
    grant = table.grant(entry.id, user.id)
    if grant is not None and table.stands(grant_ground(grant.id), now):
        return (grant_ground(grant.id),)
    return (entry_ground(entry.id, "login"),) if open_to_users(entry) else None


def _runs_on(cluster: str, entry: Entry, table: Table) -> bool:
    job = table.job(entry.job_id)
    return job is not None and job.cluster == cluster


def _unknown(entry: Entry, visitor: Visitor, table: Table) -> Ask | Refusal:
    user = None if visitor.user_id is None else table.user(visitor.user_id)
    return Refusal(Code.USER_DISABLED) if user is not None and user.disabled else Ask(entry)


def _is_in(subject: str, job_id: str) -> bool:
    """Whether the subject is the job, or a node or container of it."""
    return subject == job_id or subject.startswith(f"{job_id}.")


def _target(held: Entry, asked: Entry) -> Target:
    if asked.target.subject == held.target.subject:
        return held.target
    return replace(held.target, subject=asked.target.subject)


def _unfit(job: Job | None) -> Code | None:
    """Why a job cannot be dialled; None when it can."""
    if job is None:
        return Code.JOB_ENDED
    return None if job.phase is JobPhase.RUNNING else _UNFIT[job.phase]
