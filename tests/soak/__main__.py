"""`make soak`: half an hour of connections on the whole product; afterwards it holds no more than before.

`make soak ARGS="--minutes 5"` for a shorter one. One of the two web processes is killed again and again, and in the
first half control, the bridge and the ssh process as well; the rest lives from beginning to end, so that no start
hides anything. Exits with 1, and says why, when a byte was wrong, somebody was refused who should not have been, a
withdrawal did not cut, or a process holds more descriptors, tasks or memory than after the first, untold, minute.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.soak import census
from tests.soak.kinds import KINDS
from tests.soak.place import End, Place, settle
from tests.soak.upsets import Upsets
from tests.system.product import Product

AT_ONCE = 24
WARM_UP_S = 40.0
PATIENCE_S = 60.0
"""Seconds for one connection's whole life."""
TOLD_EVERY_S = 60.0
TOLD_FAULTS = 20
ALWAYS_KILLED = ("web-1",)
KILLED_AT_FIRST = ("control", "bridge-local", "ssh-0")


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    asked = parser.parse_args()
    random.seed(asked.seed)
    print(f"seed {asked.seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        product = Product(Path(folder) / "var", extra={"STARLIGHT_GATEWAY_PROCESSES": "2"})
        product.start()
        try:
            return soak(settle(product, Path(folder)), asked.minutes * 60)
        finally:
            product.stop()


def soak(place: Place, for_s: float) -> int:
    """Warms up, counts, soaks, counts again."""
    faults: list[str] = []
    asyncio.run(connect(place, WARM_UP_S, faults, upset=False))
    before = census.settled(place.product)
    lived = asyncio.run(connect(place, for_s, faults, upset=True))
    place.tidy()
    after = census.settled(place.product, before)
    more = census.excess(before, after)
    print(census.table(before, after))
    print("connections:", ", ".join(f"{count} {name}" for name, count in lived.most_common()))
    print(*faults[:TOLD_FAULTS], *more, sep="\n")
    print(f"{len(faults)} faults, {len(more)} leaks")
    return 1 if faults or more else 0


async def connect(place: Place, for_s: float, faults: list[str], *, upset: bool) -> Counter[str]:
    """Connections of every kind for that long; how many of each there were."""
    began, lived = time.monotonic(), Counter[str]()
    upsets = Upsets(place)

    def killed() -> list[str]:
        early = time.monotonic() - began < for_s / 2
        return [*ALWAYS_KILLED, *(KILLED_AT_FIRST if early else ())]

    async with asyncio.TaskGroup() as group:
        going = [group.create_task(keep(place, upsets, lived, faults)) for _ in range(AT_ONCE)]
        if upset:
            going += [group.create_task(upsets.kill(killed)), group.create_task(upsets.disturb(faults))]
        while (left_s := began + for_s - time.monotonic()) > 0:
            await asyncio.sleep(min(left_s, TOLD_EVERY_S))
            held = (await asyncio.to_thread(census.take, place.product)).get("web-0")
            told = f"{time.monotonic() - began:5.0f} s, {lived.total()} connections, {len(faults)} faults"
            print(told, held and f"web-0: {held.tasks} tasks, {held.memory_bytes / 2**20:.1f} MiB", flush=True)
        for task in going:
            task.cancel()
    lived["kills"], lived["upsets"] = len(upsets.kills), upsets.done
    return lived


async def keep(place: Place, upsets: Upsets, lived: Counter[str], faults: list[str]) -> None:
    """One connection after the other, of any kind with any end."""
    while True:
        (kind,), end = random.choices(list(KINDS), weights=list(KINDS.values())), random.choice(list(End))
        began = time.monotonic()
        try:
            async with asyncio.timeout(PATIENCE_S):
                await kind(place, end)
            lived[kind.__name__] += 1
        except Exception as fault:  # whatever a client's library makes of it
            if (isinstance(fault, AssertionError) and "bytes" in str(fault)) or not upsets.excuses(began):
                faults.append(f"{kind.__name__}, ended by {end.value}: {fault!r}")


if __name__ == "__main__":
    sys.exit(main())
