"""Jobs, entries and tables for the tests of ssh names and menus."""

from gateway.contract.people import Grant, Key, User
from gateway.contract.routes import Entry, Job, JobPhase, Level, PortKind, Protocol, Target
from gateway.core.table import Table, Way

NOW = 1_800_000_000.0
SINCE = "2027-01-15T07:00:00Z"
"""One hour before NOW."""
ALICE, BOB = User(1, "alice", "user", disabled=False), User(2, "bob", "user", disabled=False, language="en")


def job(
    job_id: str,
    *,
    name: str = "",
    owner: User = ALICE,
    phase: JobPhase = JobPhase.RUNNING,
    node: str = "node1",
    since: str = SINCE,
) -> Job:
    """A job; it is named after its id unless told otherwise."""
    return Job(job_id, name or job_id, owner.id, owner.name, "local", phase, phase.value, node, since, "local")


def ssh_entry(
    number: int,
    made_for: Job,
    *,
    level: Level = Level.PRIVATE,
    port_kind: PortKind = PortKind.FIXED,
    port: int = 8022,
) -> Entry:
    """An ssh entry of a job."""
    label, target = f"{number:032x}", Target("local", made_for.id, port=22)
    return Entry(
        number,
        label,
        "ssh-default",
        Protocol.SSH,
        level,
        port_kind,
        port,
        "gate",
        made_for.id,
        made_for.owner_id,
        target,
    )


def way(
    job_id: str, *, name: str = "", owner: User = ALICE, number: int = 1, node: str = "node1", since: str = SINCE
) -> Way:
    """A job with its fixed ssh entry."""
    made = job(job_id, name=name, owner=owner, node=node, since=since)
    return Way(made, ssh_entry(number, made))


def table(*records: User | Key | Grant | Job | Entry) -> Table:
    """A table that holds Alice, Bob and these records, just confirmed."""
    made = Table()
    made.replace([ALICE, BOB, *records], 1)
    made.confirm(NOW)
    return made
