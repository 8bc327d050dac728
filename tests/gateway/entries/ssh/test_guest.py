"""What the channels of a connection share."""

import asyncio
import logging
from typing import cast

import pytest

from gateway.contract.people import Key, User
from gateway.core.table import Table
from gateway.core.tickets import Visitor, by_key
from gateway.entries.ssh.guest import Guest
from gateway.entries.ssh.protocol import Connection
from gateway.entries.ssh.routing import Routing
from gateway.wire.gate import Gate
from tests.gateway.core.ssh_world import ALICE, NOW, table


class Holder:
    """A gate that holds a table."""

    def __init__(self, held: Table) -> None:
        self.table = held

    def now(self) -> float:
        """The tests' now."""
        return NOW


def guest(held: Table, visitor: Visitor, tasks: asyncio.TaskGroup) -> Guest:
    """Alice, signed in."""
    gate = cast("Gate", Holder(held))
    return Guest(gate, cast("Connection", None), visitor, Routing(gate, visitor, None, None), "::1", tasks)


async def test_what_one_channel_raises_is_logged_and_ends_no_other(caplog: pytest.LogCaptureFixture) -> None:
    """The group of the connection's tasks goes on."""
    held = table(Key(9, ALICE.id, "SHA256:x"))
    visitor = by_key("SHA256:x", "alice", held)
    assert visitor is not None

    async def fail() -> None:
        raise KeyError("broken")

    async def last() -> None:
        await asyncio.sleep(3600)

    with caplog.at_level(logging.ERROR):
        async with asyncio.TaskGroup() as tasks:
            made = guest(held, visitor, tasks)
            waiting = made.spawn(last())
            await made.spawn(fail())
            assert not waiting.done()
            made.leave()
    assert waiting.cancelled()
    assert "a channel of alice from ::1 failed" in caplog.text


async def test_a_person_is_known_while_account_and_key_stand() -> None:
    """Disabled, or without the key they came with, they are not; their language is the one they chose."""
    held = table(Key(9, ALICE.id, "SHA256:x"))
    visitor = by_key("SHA256:x", "alice", held)
    assert visitor is not None
    async with asyncio.TaskGroup() as tasks:
        assert guest(held, visitor, tasks).known()
        assert not guest(table(), visitor, tasks).known()
        disabled = Table()
        disabled.replace([User(1, "alice", "user", disabled=True), Key(9, ALICE.id, "SHA256:x")], 1)
        assert not guest(disabled, visitor, tasks).known()
        assert guest(held, visitor, tasks).language == "zh"
        assert guest(Table(), visitor, tasks).language == "en"
