"""The gateway's memory of what control says: who may pass where, found by host, port, name and hash.

State: a Table holds one snapshot, and what of it changed since its last copy on disk. It is edited in
one step without an await: by `replace` with a whole list, or by `apply` with one change. Both return the
grounds that were withdrawn, so that the caller cuts the visits which rest on them. Where two records
claim one name, the one of the lowest id is found: whatever order the changes came in, the same set of
records gives the same answers.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import Final, NamedTuple

from gateway.contract.challenges import Challenge
from gateway.contract.codec import Change, Record
from gateway.contract.people import ClientCertificate, Grant, Key, Session, Token, User
from gateway.contract.routes import Authority, Certificate, Entry, Job, JobPhase, Protocol, Secret
from gateway.core.grounds import Claim, End, claims, ends, expired
from gateway.core.index import Index, fixed_ssh
from gateway.core.listing import Listing

CHANGES_LIMIT: Final = 2000
"""Changes that are kept for the copy on disk; when there are more, all of it is written anew."""


class Way(NamedTuple):
    """A job and the fixed ssh entry that leads to it."""

    job: Job
    entry: Entry


class Table:
    """One snapshot, indexed. `revision` is control's; `confirmed_at` is when control last said it is current."""

    def __init__(self, *, max_stale_s: float = 300.0) -> None:
        """An empty table: revision 0, never confirmed. For `max_stale_s` see `stale`."""
        self.revision = 0
        self.confirmed_at = 0.0
        self._max_stale_s = max_stale_s
        self._index = Index()
        self._expiries: list[End] = []
        self._changes: list[Change] | None = None

    # Edits: none of them awaits, so that nobody ever reads half of one.

    def replace(self, records: Iterable[Record], revision: int) -> frozenset[str]:
        """Holds exactly these records from now on; returns the grounds that no longer stand."""
        listing = self.listing()
        listing.take(records)
        return self.adopt(listing, revision)

    def listing(self) -> Listing:
        """A list to be filled slice by slice and then adopted. Meanwhile the table serves on and must not be edited."""
        return Listing(self._index)

    def adopt(self, listing: Listing, revision: int) -> frozenset[str]:
        """The same as `replace` with a list that came slice by slice; its index is the table's from now on."""
        lost = listing.lost()
        if listing.differs():
            self._changes = None
        self._index, self._expiries, self.revision = listing.index, listing.ends, revision
        heapq.heapify(self._expiries)
        return lost

    def apply(self, change: Change) -> frozenset[str]:
        """Puts or takes away one record; returns the grounds that no longer stand."""
        self.revision = change.revision
        self._note(change)
        if change.record is None:
            before, after = self._index.drop(change.kind, change.key), _claims(None)
        else:
            before, after = self._index.put(change.record), claims(change.record)
            for end in ends(change.record):
                heapq.heappush(self._expiries, end)
        return frozenset(claim[0] for claim in _claims(before) if claim not in after)

    def confirm(self, now: float) -> None:
        """Control said at `now` (epoch seconds) that this revision is the newest."""
        self.confirmed_at = max(self.confirmed_at, now)

    def lapse(self, now: float) -> frozenset[str]:
        """The grounds of credentials and grants whose time ran out since the last call."""
        over: set[str] = set()
        while self._expiries and self._expiries[0][0] <= now:
            due = heapq.heappop(self._expiries)
            record = self._index.giver(due[1])
            if record is not None and due in ends(record):  # else its end was moved or it was taken away
                over.add(due[1])
        return frozenset(over)

    def stale(self, now: float) -> bool:
        """Whether control has been silent for longer than `max_stale_s`."""
        return now - self.confirmed_at > self._max_stale_s

    # For the copy on disk.

    def records(self) -> list[Record]:
        """Every record."""
        return list(self._index.all())

    def size(self) -> int:
        """How many records there are."""
        return len(self._index)

    def take_changes(self) -> list[Change] | None:
        """What changed since the last call; None when it was too much, or a list: then all records are new."""
        changes, self._changes = self._changes, []
        return changes

    def _note(self, change: Change) -> None:
        if self._changes is not None:
            self._changes.append(change)
            if len(self._changes) > CHANGES_LIMIT:
                self._changes = None

    # Entries and jobs.

    def entry(self, entry_id: int) -> Entry | None:
        """The entry of this id."""
        return self._index.get(Entry, entry_id)

    def entry_by_host(self, host: str, port: int) -> Entry | None:
        """The http, https or tcp entry that people reach by this lower-case host name on this public port."""
        return next((entry for entry in self._index.many(Entry, "name", host) if entry.port == port), None)

    def entry_by_name(self, host: str) -> Entry | None:
        """The http, https or tcp entry of this lower-case host name, whatever its port."""
        return self._index.first(Entry, "name", host)

    def entry_by_port(self, port: int) -> Entry | None:
        """The entry that has this random port."""
        return self._index.first(Entry, "port", port)

    def entry_by_label(self, label: str) -> Entry | None:
        """The entry of this label (32 hex digits)."""
        return self._index.first(Entry, "label", label)

    def random_ports(self) -> dict[int, Protocol]:
        """The random ports that entries ask for, with the protocol that each speaks."""
        ports = [self._index.first(Entry, "port", port) for port in self._index.names(Entry, "port")]
        return {entry.port: entry.protocol for entry in ports if entry is not None}

    def job(self, job_id: str) -> Job | None:
        """The job of this id."""
        return self._index.get(Job, job_id)

    def jobs_named(self, name: str) -> list[Job]:
        """Jobs of this name, whoever owns them, ended ones left out."""
        return [job for job in self._index.many(Job, "name", name) if job.phase is not JobPhase.ENDED]

    def ssh_way(self, job_id: str) -> Way | None:
        """The way into a job by ssh; None when it has no fixed ssh entry, has ended or is unknown."""
        job, entry = self.job(job_id), self._index.first(Entry, "ssh", job_id)
        return Way(job, entry) if job and entry and job.phase is not JobPhase.ENDED else None

    def ssh_jobs(self) -> list[Way]:
        """Every way into a job by ssh; who may go it is for decide() to say."""
        names = sorted(str(name) for name in self._index.names(Entry, "ssh"))
        return [way for name in names if (way := self.ssh_way(name)) is not None]

    def ssh_jobs_for(self, user_id: int) -> list[Way]:
        """What a user finds in the ssh menu: own jobs, then those that others shared by a code; each by id."""
        own = [job.id for job in self._index.many(Job, "owner", user_id)]
        granted = [self.entry(grant.entry_id) for grant in self._index.many(Grant, "user", user_id)]
        shared = {entry.job_id for entry in granted if entry is not None and fixed_ssh(entry)}
        names = own + sorted(shared.difference(own))
        return [way for name in names if (way := self.ssh_way(name)) is not None]

    # People and their credentials. Disabled people and expired credentials are found too: decide() judges.

    def user(self, user_id: int) -> User | None:
        """The person of this id."""
        return self._index.get(User, user_id)

    def user_by_name(self, name: str) -> User | None:
        """The person of this name."""
        return self._index.first(User, "name", name)

    def key(self, fingerprint: str) -> list[Key]:
        """The SSH keys of this fingerprint: several people may have named the same key."""
        return self._index.many(Key, "fingerprint", fingerprint)

    def session(self, session_id: str) -> Session | None:
        """The sign-in of this id."""
        return self._index.get(Session, session_id)

    def session_by_token_hash(self, token_hash: str) -> Session | None:
        """The sign-in whose bearer token has this hex SHA-256."""
        return self._index.first(Session, "hash", token_hash)

    def token_by_hash(self, token_hash: str) -> Token | None:
        """The API token of this hex SHA-256."""
        return self._index.first(Token, "hash", token_hash)

    def client(self, fingerprint: str) -> ClientCertificate | None:
        """The client certificate of this hex SHA-256."""
        return self._index.first(ClientCertificate, "fingerprint", fingerprint)

    def grant(self, entry_id: int, user_id: int) -> Grant | None:
        """What a share code of this entry gave this user."""
        return self._index.first(Grant, "pair", (entry_id, user_id))

    def stands(self, ground: str, now: float) -> bool:
        """Whether a record gives this ground and its time is not over."""
        record = self._index.giver(ground)
        return record is not None and not expired(record, now)

    # What the gateways themselves need.

    def certificates(self) -> list[Certificate]:
        """Every certificate with its key."""
        return self._index.whole(Certificate)

    def certificate_named(self, name: str) -> Certificate | None:
        """The certificate that has this lower-case DNS name, or this wildcard."""
        return self._index.first(Certificate, "name", name)

    def default_certificate(self) -> Certificate | None:
        """The certificate for names that no other has."""
        return self._index.first(Certificate, "default", True)

    def authorities(self) -> list[Authority]:
        """Those whose client certificates are looked at."""
        return self._index.whole(Authority)

    def challenge(self, domain: str) -> Challenge | None:
        """What a certificate authority that looks at this lower-case domain is to be shown."""
        return self._index.get(Challenge, domain)

    def secrets(self, use: str) -> list[Secret]:
        """The secrets for a use (`ticket`, `ssh-host`), the one that signs first."""
        mine = [secret for secret in self._index.whole(Secret) if secret.use == use]
        return sorted(mine, key=lambda secret: secret.generation, reverse=True)


def _claims(record: Record | None) -> tuple[Claim, ...]:
    return () if record is None else claims(record)
