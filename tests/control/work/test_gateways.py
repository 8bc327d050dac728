"""Who serves what: an entry is active when every registered gateway acknowledged its revision."""

from __future__ import annotations

import asyncio

from control.store.engine import Hints
from control.work.gateways import TOPIC, Gateways


def both(revision: int) -> Gateways:
    """A web and an ssh gateway that hold `revision`."""
    gateways = Gateways(Hints())
    for name, role in (("web-0", "web"), ("ssh-0", "ssh")):
        gateways.registered(name, role, "i")
        gateways.acknowledged(name, revision)
    return gateways


def test_nothing_is_served_without_a_gateway_of_each_role() -> None:
    """And health says what is missing."""
    gateways = Gateways(Hints())
    assert gateways.missing() == ("web", "ssh")
    assert not gateways.serves(0)
    gateways.registered("web-0", "web", "i")
    assert gateways.missing() == ("ssh", "web-0")


def test_served_when_all_acknowledged() -> None:
    """One behind is enough to say no; a successor begins with nothing."""
    gateways = both(7)
    assert gateways.serves(7)
    assert not gateways.serves(8)
    gateways.acknowledged("web-0", 8)
    assert not gateways.serves(8)
    gateways.acknowledged("ssh-0", 8)
    assert gateways.serves(8)
    gateways.registered("ssh-0", "ssh", "another")
    assert not gateways.serves(8)


def test_lost_gateway_is_no_longer_asked_for() -> None:
    """Its lease lapsed; what it says after that counts for nothing."""
    gateways = both(7)
    gateways.registered("web-1", "web", "i")
    assert not gateways.serves(7)
    gateways.lost("web-1")
    gateways.acknowledged("web-1", 9)
    gateways.ports("web-1", {1: "busy"})
    assert gateways.serves(7)
    assert gateways.failed_ports() == set()


async def test_settled_waits_for_the_last_one() -> None:
    """At once when all have it; else until they do, or the deadline names who is behind."""
    gateways = both(7)
    assert await gateways.settled(7, 0.0) == ()
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(gateways.settled(8, 10.0))
        await asyncio.sleep(0)
        gateways.acknowledged("web-0", 8)
        await asyncio.sleep(0)
        gateways.acknowledged("ssh-0", 8)
    assert waiting.result() == ()
    assert await gateways.settled(9, 0.001) == ("ssh-0", "web-0")


def test_port_reports_are_gathered() -> None:
    """The last report of each counts, and only a change is told."""
    hints = Hints()
    gateways = Gateways(hints)
    gateways.registered("web-0", "web", "i")
    gateways.ports("web-0", {40001: "busy"})
    seen = hints.generation(TOPIC)
    gateways.ports("web-0", {40001: "busy"})
    assert hints.generation(TOPIC) == seen
    assert gateways.failed_ports() == {40001}
    gateways.ports("web-0", {})
    assert gateways.failed_ports() == set()
