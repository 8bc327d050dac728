"""What every action is given: the platform's parts (Context) and who asks (Person)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from cryptography.x509 import Certificate

from control.actions.pace import Pace
from control.config import Settings
from control.domain.apps import App, AppState
from control.domain.errors import Language
from control.domain.people import Role
from control.domain.visits import OpenVisit
from control.runtimes.ports import Ports
from control.runtimes.resolver import Resolver
from control.runtimes.runtime import Runtime
from control.store.engine import Database
from control.store.secrets import Vault
from control.store.signin import SignIn

LOOKUPS_PER_MINUTE: Final = 40
"""The dialog asks as a person types, with pauses; a script that asks about thousands of domains has to wait."""


class Gateways(Protocol):
    """The gateway processes as the feed knows them; `control.work` holds the real one."""

    async def settled(self, revision: int, deadline_s: float) -> tuple[str, ...]:
        """Waits until every live gateway acknowledged `revision`; the names of those that had not at the deadline."""

    def serves(self, revision: int) -> bool:
        """Whether every registered gateway acknowledged `revision`."""

    def missing(self) -> tuple[str, ...]:
        """Gateways that hold no snapshot yet, and the roles that have none registered."""


class Visits(Protocol):
    """The live connections as the gateways report them; `control.work` holds the real one."""

    def of_user(self, user_id: int | None) -> list[OpenVisit]:
        """A person's, or everybody's."""

    def of_entry(self, entry_id: int) -> list[OpenVisit]:
        """The open visits of an entry, the oldest first."""

    def find(self, visit_id: str) -> OpenVisit | None:
        """An open visit by its id."""

    async def cut(self, visit_id: str, deadline_s: float) -> bool:
        """Has a visit cut; whether it was gone by the deadline."""


class Metrics(Protocol):
    """The platform's counts; `control.work` holds the real one."""

    token: str
    """Lets a scraper on this machine read them."""

    def text(self) -> str:
        """All of them, in Prometheus's text format."""


class Apps(Protocol):
    """The apps that can be submitted by name. What one needs is installed by its first job, or before."""

    def known(self) -> tuple[App, ...]:
        """All of them, in the order in which they are offered."""

    def state(self, name: str) -> AppState:
        """How far the installation of one is. Raises KeyError for an unknown name."""

    async def install(self, name: str) -> None:
        """Begins the installation, or joins the one under way; returns at once."""


@dataclass(frozen=True, slots=True)
class Context:
    """The platform's parts, put together once in `control/app.py`. `now` gives seconds since the epoch, UTC."""

    db: Database
    now: Callable[[], float]
    settings: Settings
    runtimes: Mapping[str, Runtime]
    ports: Ports
    apps: Apps
    gateways: Gateways
    visits: Visits
    metrics: Metrics
    signin: SignIn
    vault: Vault
    resolver: Resolver
    roots: Sequence[Certificate]
    """The authorities that this machine trusts: a chain to one of them proves whose a domain is."""
    silent_loops: Callable[[], tuple[str, ...]] = tuple
    """The loops of this process that have not come round in their time."""
    lookups: Pace = field(default_factory=lambda: Pace(LOOKUPS_PER_MINUTE))
    """Questions to the name service, which others keep, by person."""


@dataclass(frozen=True, slots=True)
class Person:
    """Who asks: a signed-in person or their token, and from which address.

    `session_id` is set when they came by a console sign-in. `scope` of a token is always `api`: others do not
    get as far as an action.
    """

    id: int
    name: str
    role: Role
    language: Language
    address: str
    session_id: str | None = None

    @property
    def is_admin(self) -> bool:
        """Whether this person keeps the platform."""
        return self.role is Role.ADMIN
