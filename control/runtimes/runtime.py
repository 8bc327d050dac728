"""What every engine can be asked: start, look, stop, signal, forget; and what it can do at all.

A call either does what was asked, or raises: ConnectionError or TimeoutError when the engine does not
answer (asking again is safe), RefusedError when it said no.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from control.domain.jobs.observed import Observed
from gateway.contract.bridge import Fault

PROBE_JOBS: Final = 20
"""Jobs in one look: an answer holds their events and has to fit one message."""

Handle = dict[str, Any]
"""What an engine needs to find a job again, as JSON. Control keeps it and never looks inside."""


class RefusedError(Exception):
    """The engine said no; `code` is its reason, `detail` is for the log only."""

    def __init__(self, code: Fault, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Order:
    """A job to start. `uid` None: as the engine's own user. `env` comes on top of what the engine sets."""

    job: str
    owner_name: str
    uid: int | None
    home: str
    work_dir: str
    command: tuple[str, ...]
    env: Mapping[str, str]
    cpus: int
    memory_bytes: int | None
    time_limit_s: int | None
    readonly: tuple[str, ...]
    log_limit_bytes: int


@dataclass(frozen=True, slots=True)
class Partition:
    """A part of a cluster and what is free in it; None is not known."""

    name: str
    nodes: int
    cpus: int
    gpus: int
    memory_bytes: int
    free_cpus: int | None = None
    free_memory_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a cluster can do. `why` says in plain words what it cannot, and why."""

    kind: str
    isolation: str
    network: str
    sftp: bool
    suspend: bool
    partitions: tuple[Partition, ...]
    limits: Mapping[str, Any] = field(default_factory=dict)
    why: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Account:
    """Who a person is on a cluster."""

    uid: int | None
    home: str


class Runtime(Protocol):
    """One cluster."""

    @property
    def name(self) -> str:
        """The cluster's name."""

    async def capabilities(self) -> Capabilities:
        """What it can do."""

    async def healthy(self) -> bool:
        """Whether it answers."""

    def account_of(self, user_id: int, user_name: str) -> Account:
        """Who this person is there."""

    def start(self, order: Order) -> AsyncIterator[Handle]:
        """Starts a job. Yields a handle after each step, to be saved before the next; may be called again."""

    async def probe(self, jobs: Sequence[str]) -> dict[str, Observed]:
        """What it says of up to PROBE_JOBS jobs; those it does not know are absent."""

    async def stop(self, handle: Handle, *, grace_s: float) -> None:
        """Ends a job: politely, and by force after `grace_s`. From any handle, any number of times."""

    async def suspend(self, handle: Handle) -> None:
        """Halts a job, whose resources stay held."""

    async def resume(self, handle: Handle) -> None:
        """Lets a halted job go on."""

    async def open_log(self, job: str) -> tuple[int, int]:
        """Two read-only descriptors, the caller's to close: output, and the index of times beside it."""
