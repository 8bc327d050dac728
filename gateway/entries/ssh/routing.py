"""Which job, or home, the channels of one connection lead to, and whether they may: always decided anew.

State: the job that a nameless connection entered first. Its later channels, such as the file browser
beside a shell, lead to the same job.
"""

from __future__ import annotations

from dataclasses import dataclass

from gateway.contract.routes import Entry, Job, JobPhase
from gateway.core.decide import Admission, Ask
from gateway.core.refusals import Code, Refusal
from gateway.core.ssh_name import find, home_of
from gateway.core.table import Way
from gateway.core.tickets import Visitor
from gateway.wire.gate import Gate


@dataclass(frozen=True, slots=True)
class Several:
    """The visitor may enter each of these jobs and named none of them, or a name that fits them all."""

    why: Refusal
    ways: tuple[Way, ...]


class Routing:
    """One connection's routes."""

    def __init__(self, gate: Gate, visitor: Visitor, wanted: str | None, entry_port: int | None) -> None:
        """`wanted` is the job in the login name; `entry_port` is set on the random port of one entry."""
        self._gate, self.visitor = gate, visitor
        self._wanted, self._entry_port = wanted, entry_port
        self._entered: Entry | None = None

    def admit(self) -> Admission | Several | Refusal:
        """Where a channel goes that says nothing else. Open its visit before the next await."""
        if self._entry_port is not None:
            return self._by_port(self._entry_port)
        if self._wanted is not None:
            return self.by_name(self._wanted)
        if self._entered is not None:
            return self.decide(self._entered)
        return self._only()

    def by_name(self, wanted: str) -> Admission | Several | Refusal:
        """The job of this id or name, or the person's home."""
        if (cluster := home_of(wanted)) is not None:
            return self._gate.decide_home(cluster, self.visitor)
        matches = find(wanted, self._user_id, self._gate.table)
        if len(matches) == 1:
            return self.decide(matches[0].entry())
        if matches:
            return Several(Refusal(Code.AMBIGUOUS_JOB), tuple(match.way for match in matches))
        return Refusal(self._why_not(self._gate.table.job(wanted)))

    def jumps_to(self, host: str) -> bool:
        """Whether ssh's port of this host means a job: by its name, or because there is no job to look from."""
        named = self._wanted is not None or self._entry_port is not None
        return not named or home_of(host) is not None or bool(find(host, self._user_id, self._gate.table))

    def ways(self) -> tuple[Way, ...]:
        """The jobs that the visitor may enter now without naming one: own and shared, in the menu's order."""
        ways = self._gate.table.ssh_jobs_for(self._user_id)
        return tuple(way for way in ways if isinstance(self.decide(way.entry), Admission))

    def menu_wanted(self) -> bool:
        """Whether a terminal on this connection gets to choose: nothing was named, and there is a choice."""
        return self._wanted is None and self._entry_port is None and len(self.ways()) > 1

    def decide(self, entry: Entry) -> Admission | Refusal:
        """Whether the visitor may pass this entry now. Who may not hears the same as of a job that is not there."""
        decision = self._gate.decide(entry, self.visitor)
        if isinstance(decision, Ask):
            return Refusal(Code.WITHDRAWN)  # they had signed in: their credential is gone
        if isinstance(decision, Refusal) and decision.code is Code.FORBIDDEN:
            return Refusal(Code.NO_SUCH_JOB)
        return decision

    def entered(self, admission: Admission) -> None:
        """A channel went in: a nameless connection stays with this job."""
        self._entered = admission.entry

    def _only(self) -> Admission | Several | Refusal:
        ways = self._gate.table.ssh_jobs_for(self._user_id)
        decisions = [(way, self.decide(way.entry)) for way in ways]
        admissions = [decision for _, decision in decisions if isinstance(decision, Admission)]
        if len(admissions) == 1:
            return admissions[0]
        if admissions:
            open_ways = tuple(way for way, decision in decisions if isinstance(decision, Admission))
            return Several(Refusal(Code.SEVERAL_JOBS), open_ways)
        refusals = {decision.code: decision for _, decision in decisions if isinstance(decision, Refusal)}
        refusals.pop(Code.NO_SUCH_JOB, None)  # nobody named it: what is not for this credential is not there
        return next(iter(refusals.values())) if len(refusals) == 1 else Refusal(Code.NO_JOBS)

    def _by_port(self, port: int) -> Admission | Refusal:
        entry = self._gate.table.entry_by_port(port)
        job = self._gate.table.job(entry.job_id) if entry is not None else None
        if entry is None or job is None:
            return Refusal(Code.UNKNOWN_HOST)
        if self._wanted is not None and self._wanted not in (job.id, job.name):
            return Refusal(Code.NO_SUCH_JOB)
        return self.decide(entry)

    def _why_not(self, job: Job | None) -> Code:
        own = job is not None and job.owner_id == self.visitor.user_id
        return Code.JOB_ENDED if own and job is not None and job.phase is JobPhase.ENDED else Code.NO_SUCH_JOB

    @property
    def _user_id(self) -> int:
        assert self.visitor.user_id is not None  # nobody is let in to ssh without a name
        return self.visitor.user_id
