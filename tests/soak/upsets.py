"""What happens meanwhile: processes are killed, rights withdrawn, entries and jobs come and go."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from tests.soak.place import Place, line

KILL_EVERY_S = 10.0
CUT_WITHIN_S = 2.0
"""A second, as promised, and one for a machine on which everything else happens at the same time."""
UPGRADE = ("Connection: Upgrade", "Upgrade: echo")


@dataclass(slots=True)
class Upsets:
    """Does one thing after the other. `kills` are the times of those; `done` counts what was done."""

    place: Place
    kills: list[float] = field(default_factory=list)
    done: int = 0

    def excuses(self, since: float) -> bool:
        """Whether what was begun then and failed now may have been hit by a kill."""
        return any(since - KILL_EVERY_S / 2 < at for at in self.kills)

    async def kill(self, names: Callable[[], list[str]]) -> None:
        """kill -9 of one process after the other, of those that `names` lists at the time."""
        while True:
            await asyncio.sleep(KILL_EVERY_S)
            name = random.choice(names())
            self.kills.append(time.monotonic())
            old = await asyncio.to_thread(self.place.product.kill, name)
            while self.place.product.pid(name) in (0, old):
                await asyncio.sleep(0.05)
            self.done += 1

    async def disturb(self, faults: list[str]) -> None:
        """Withdraws and gives, again and again; what should have been cut and was not is a fault."""
        while True:
            await asyncio.sleep(random.uniform(0.2, 1.0))
            act: Callable[[], Awaitable[None]] = random.choice(
                [self.unshare, self.raise_level, self.come_and_go, self.work]
            )
            began = time.monotonic()
            try:
                async with asyncio.timeout(60):
                    await act()
                self.done += 1
            except (OSError, AssertionError, EOFError, TimeoutError) as fault:
                if not self.excuses(began):
                    faults.append(f"{act.__name__}: {fault!r}")

    async def unshare(self) -> None:
        """A guest's tunnel ends when the share is cancelled, and the owner's stays."""
        entry = self.place.entries["web"]["id"]
        share = await self.call("PUT", f"/entries/{entry}/share", {})
        await asyncio.to_thread(self.place.guest.call, "POST", "/shares/redeem", {"code": share["code"]})
        async with line(self.place.port("web")) as guest, line(self.place.port("web")) as owner:
            for peer, token in ((guest, self.place.guest.token), (owner, self.place.owner.token)):
                await peer.say(self.place.head("web", "GET /", *UPGRADE, token=token))
                assert (await peer.head()).startswith(b"HTTP/1.1 101"), "no tunnel"
            await self.call("DELETE", f"/entries/{entry}/share")
            async with asyncio.timeout(CUT_WITHIN_S):
                assert await guest.over(), "a byte after the withdrawal"
            await owner.say(b"still here")
            assert await owner.hear(10) == b"still here"

    async def raise_level(self) -> None:
        """A stranger's tunnel ends when the entry is no longer open."""
        entry = self.place.entries["fickle"]["id"]
        await self.call("PATCH", f"/entries/{entry}", {"level": "open"})
        async with line(self.place.port("fickle")) as peer:
            await peer.say(self.place.head("fickle", "GET /", *UPGRADE, token="none"))
            assert (await peer.head()).startswith(b"HTTP/1.1 101"), "no tunnel"
            await self.call("PATCH", f"/entries/{entry}", {"level": "private"})
            async with asyncio.timeout(CUT_WITHIN_S):
                assert await peer.over(), "a byte after the withdrawal"

    async def come_and_go(self) -> None:
        """An entry on a port of its own is made, used and removed under its visitor."""
        target = self.place.entries["raw-open"]["target_port"]
        job = await self.call("GET", f"/jobs/{self.place.job['id']}")
        if any(entry["name"] == "brief" for entry in job["entries"]):  # a kill kept the last one from being removed
            await self.call("DELETE", f"/entries/{next(e['id'] for e in job['entries'] if e['name'] == 'brief')}")
        spec = {"name": "brief", "protocol": "tcp", "level": "open", "target_port": target + 1, "port": "random"}
        made = await self.call("POST", f"/jobs/{self.place.job['id']}/entries", spec)
        try:
            await self.active(made["id"])
            with suppress(ConnectionResetError):  # nothing listens at that target: the end may come at once
                async with line(made["port"]) as peer:
                    await peer.over()
        finally:
            await self.call("DELETE", f"/entries/{made['id']}")

    async def work(self) -> None:
        """A job runs and ends, or is closed by its owner."""
        job = await self.call("POST", "/jobs", {"command": random.choice([["true"], ["sleep", "600"]])})
        if job["name"] == "sleep":
            await asyncio.to_thread(self.place.owner.wait, job["id"], "running")
        else:
            await asyncio.to_thread(self.place.owner.wait, job["id"], "finished")
        await self.call("POST", f"/jobs/{job['id']}/close")

    async def active(self, entry: int) -> None:
        """Waits until every gateway serves the entry."""
        while True:
            job = await self.call("GET", f"/jobs/{self.place.job['id']}")
            if next(each["active"] for each in job["entries"] if each["id"] == entry):
                return
            await asyncio.sleep(0.05)

    async def call(self, method: str, path: str, payload: Any = None) -> Any:
        """The API, as the owner."""
        return await asyncio.to_thread(self.place.owner.call, method, path, payload)
