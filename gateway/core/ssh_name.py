"""Which job an SSH login name asks for: `alice`, `alice+jupyter-17`, `alice%训练`, `alice#jupyter-17.node2.app`.

People separate the user from the job by `+`, `%` or `#`, as other gateways taught them; user names
hold none of these. A job is named by its id, by the label of one of its entries, or by its name when
only one fits, and is matched whole before it is read as `JOB.NODE` or `JOB.NODE.CONTAINER`.
`home`, or `home.CLUSTER`, is the person's home without a job: no job may be named so.
What does not concern a person does not exist for them: another's private job is never found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from gateway.contract.routes import Entry, Level
from gateway.core.table import Table, Way

HOME_NAME: Final = "home"
HOME_CLUSTER: Final = "local"
"""The cluster whose home is meant when none is named."""
_SEPARATOR: Final = re.compile("[+%#]")


@dataclass(frozen=True, slots=True)
class Login:
    """A login name in its parts; `job` is None when only the user is named."""

    user: str
    job: str | None


@dataclass(frozen=True, slots=True)
class Match:
    """A job that a name fits; `below` is what followed it: empty, `NODE` or `NODE.CONTAINER`."""

    way: Way
    below: str = ""

    def entry(self) -> Entry:
        """The job's ssh entry, its target narrowed to the named node or container."""
        entry = self.way.entry
        if not self.below:
            return entry
        return replace(entry, target=replace(entry.target, subject=f"{self.way.job.id}.{self.below}"))


def split(login: str) -> Login:
    """The user and the job that a login name asks for. `alice+` names no job."""
    user, *rest = _SEPARATOR.split(login, maxsplit=1)
    return Login(user, rest[0] if rest and rest[0] else None)


def home_of(wanted: str) -> str | None:
    """The cluster whose home `wanted` asks for; None when it asks for a job."""
    name, dot, cluster = wanted.partition(".")
    if name != HOME_NAME:
        return None
    return cluster if dot else HOME_CLUSTER


def find(wanted: str, user_id: int, table: Table) -> tuple[Match, ...]:
    """The jobs that `wanted` fits for this person: none, the one meant, or several that share the name."""
    for name, below in _readings(wanted):
        if ways := _named(name, user_id, table):
            return tuple(Match(way, below) for way in ways)
    return ()


def language(environment: Mapping[str, str], chosen: str) -> str:
    """`zh` or `en`: the client's locale (LC_ALL before LC_MESSAGES before LANG), else what the person chose."""
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if value := environment.get(name):
            return value[:2] if value[:2] in {"zh", "en"} else chosen
    return chosen


def _readings(wanted: str) -> Iterator[tuple[str, str]]:
    """The whole text first, then what stands before each dot, the longest first."""
    yield wanted, ""
    dot = wanted.rfind(".")
    while dot > 0:
        name, below = wanted[:dot], wanted[dot + 1 :]
        if below:
            yield name, below
        dot = wanted.rfind(".", 0, dot)


def _named(name: str, user_id: int, table: Table) -> list[Way]:
    reachable = table.ssh_jobs_for(user_id)
    way = table.ssh_way(name) or _labelled(name, table)
    if way is not None and (way in reachable or _known_to_all(way)):
        return [way]
    mine = [way for way in reachable if way.job.name == name]
    others = (table.ssh_way(job.id) for job in table.jobs_named(name))
    return mine or [way for way in others if way is not None and _known_to_all(way)]


def _labelled(label: str, table: Table) -> Way | None:
    entry = table.entry_by_label(label)
    return table.ssh_way(entry.job_id) if entry is not None else None


def _known_to_all(way: Way) -> bool:
    return way.entry.level is not Level.PRIVATE
