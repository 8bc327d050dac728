"""How long a gateway takes for a whole list, and how long it stands still: a program beside the real ones.

It speaks to the product's control as one more gateway, with the parts of which a gateway is made, on uvloop. Every
turn of its loop is timed, by the clock and by the CPU time of the thread: what others do on the machine shows in the
first only.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path

import uvloop

from gateway import clock
from gateway.core.listing import Listing
from gateway.core.table import Table
from gateway.feed.disk import Disk
from gateway.feed.feed import Feed
from gateway.feed.socket import connected


class Watched(Table):
    """A table that notes how long a list took, from the order to the step in which it was taken over."""

    def __init__(self) -> None:
        super().__init__()
        self.wall_s = self.cpu_s = 0.0

    def listing(self) -> Listing:
        self._wall, self._cpu = time.perf_counter(), time.thread_time()
        return super().listing()

    def adopt(self, listing: Listing, revision: int) -> frozenset[str]:
        lost = super().adopt(listing, revision)
        self.wall_s, self.cpu_s = time.perf_counter() - self._wall, time.thread_time() - self._cpu
        return lost


class Turns:
    """The longest turn of the loop so far."""

    def __init__(self) -> None:
        self.wall_s = self.cpu_s = 0.0

    async def watch(self) -> None:
        """Looks after each turn that took longer than a millisecond, and hardly ever while nothing happens."""
        wall, cpu = time.perf_counter(), time.thread_time()
        while True:
            await asyncio.sleep(0.001)
            now, used = time.perf_counter(), time.thread_time()
            self.wall_s, self.cpu_s = max(self.wall_s, now - wall), max(self.cpu_s, used - cpu)
            wall, cpu = now, used


async def main(feed_socket: str) -> None:
    """Lists into an empty table and then, after a reconnection, into the same one; prints each as a line of JSON."""
    table = Watched()
    with tempfile.TemporaryDirectory() as folder:
        disk = Disk(Path(folder) / "copy", bytes(32), every_s=0.01)
        for what in ("first list", "list after a reconnection"):
            turns = Turns()
            feed = Feed(
                table,
                lambda: connected(feed_socket, deadline_s=10),
                name="bench",
                role="web",
                instance=what,
                edited=lambda _: disk.edited(),
                now=clock.now,
                ask_s=5,
            )
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(work) for work in (turns.watch(), feed.run(), disk.keep(table))]
                await feed.listed()
                await asyncio.sleep(10)  # for the copy on disk, and to give up the former list
                for task in tasks:
                    task.cancel()
            said = {"what": what, "records": table.size(), "applied_s": table.wall_s, "applied_cpu_s": table.cpu_s}
            print(json.dumps(said | {"turn_s": turns.wall_s, "turn_cpu_s": turns.cpu_s}), flush=True)


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1]))
