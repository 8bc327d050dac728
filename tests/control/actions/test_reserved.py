"""Random ports: reserved before the transaction, given back unless an entry keeps them."""

from __future__ import annotations

import dataclasses

import pytest

from control.actions.reserved import reserved_ports
from control.domain.entries import EntrySpec
from gateway.contract.routes import Level, PortKind, Protocol
from tests.control.api.desk import Desk

FIXED = EntrySpec("web", Protocol.HTTP, Level.PRIVATE, 8000)
RANDOM = EntrySpec("db", Protocol.TCP, Level.OPEN, 5432, PortKind.RANDOM)


async def test_only_random_entries_get_a_port(desk: Desk) -> None:
    """One each, and one that was taken stays taken."""
    async with reserved_ports(desk.ctx, [FIXED, RANDOM]) as ports:
        assert ports == {"db": 40_001}
        ports.pop("db")
    assert desk.ports.released == []


async def test_a_port_that_nobody_took_goes_back(desk: Desk) -> None:
    """The job was there already."""
    async with reserved_ports(desk.ctx, [RANDOM]):
        pass
    assert desk.ports.released == [40_001]


async def test_all_ports_go_back_when_the_block_fails(desk: Desk) -> None:
    """Nothing was written, so that nothing holds them, taken or not."""
    two = dataclasses.replace(RANDOM, name="db2")

    async def fail() -> None:
        async with reserved_ports(desk.ctx, [RANDOM, two]) as ports:
            ports.pop("db")
            raise KeyError("broken")

    with pytest.raises(KeyError):
        await fail()
    assert sorted(desk.ports.released) == [40_001, 40_002]
