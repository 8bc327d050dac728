"""Clusters: which there are, whether they answer, what they can do and have free."""

from __future__ import annotations

from dataclasses import dataclass

from control.actions.context import Context
from control.domain.errors import Code, problem
from control.runtimes.runtime import Capabilities, RefusedError


@dataclass(frozen=True, slots=True)
class ClusterSeen:
    """A cluster; `abilities` is None while it does not answer."""

    name: str
    is_default: bool
    abilities: Capabilities | None


async def known(ctx: Context) -> list[ClusterSeen]:
    """All clusters, the default one first. One that does not answer is shown as such."""
    return [
        ClusterSeen(name, position == 0, await _abilities_or_none(ctx, name))
        for position, name in enumerate(ctx.runtimes)
    ]


async def abilities_of(ctx: Context, name: str) -> Capabilities:
    """What a cluster can do. Raises ProblemError CLUSTER_UNHEALTHY when it does not answer."""
    abilities = await _abilities_or_none(ctx, name)
    if abilities is None:
        raise problem(Code.CLUSTER_UNHEALTHY, name=name)
    return abilities


async def _abilities_or_none(ctx: Context, name: str) -> Capabilities | None:
    try:
        return await ctx.runtimes[name].capabilities()
    except (RefusedError, OSError, TimeoutError):
        return None
