"""What store tests share: people and jobs to begin with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from sqlalchemy.ext.asyncio import AsyncSession

from control.domain.entries import Doors
from control.domain.jobs.spec import JobSpec
from control.domain.people import Role
from control.store import jobs, people
from control.store.tables import Job, User
from gateway.contract.routes import Protocol

DOORS = Doors(
    "proxy.localhost",
    {Protocol.HTTP: 8888, Protocol.HTTPS: 8443, Protocol.SSH: 8022, Protocol.TCP: 8999},
    range(40000, 40100),
)

AddUser = Callable[..., Awaitable[User]]
AddJob = Callable[..., Awaitable[Job]]


@pytest.fixture
def add_user() -> AddUser:
    """Adds a person."""

    async def add(session: AsyncSession, name: str = "alice", role: Role = Role.USER) -> User:
        return await people.add_user(session, name, "hash", role, 1.0)

    return add


@pytest.fixture
def add_job() -> AddJob:
    """Submits a job."""

    async def add(session: AsyncSession, owner: User, now: float = 10.0, **asked: Any) -> Job:
        spec = {"name": "web", "app": None, "cluster": "local", "partition": "local", "command": ("true",)}
        return await jobs.add_job(session, owner, JobSpec(**(spec | {"home": "/homes/alice"} | asked)), now)

    return add
