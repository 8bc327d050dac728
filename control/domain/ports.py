"""Which random public port to try next."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

TRIES: Final = 64
"""Ports tried before giving up: each may be busy on this machine for reasons of others."""

Sample = Callable[[Sequence[int], int], list[int]]
"""`random.sample`, handed in."""


def candidates(allowed: range, outgoing: range, held: set[int], sample: Sample) -> Iterator[int]:
    """Up to TRIES ports of `allowed` that are not `held`, in random order.

    Those outside `outgoing`, where the kernel takes ports for outgoing connections, come first: one
    inside may be lost at a restart to a connection that happens to leave from it.
    """
    safe = [port for port in allowed if port not in outgoing and port not in held]
    risky = [port for port in allowed if port in outgoing and port not in held]
    chosen = sample(safe, min(TRIES, len(safe)))
    yield from chosen
    yield from sample(risky, min(TRIES - len(chosen), len(risky)))
