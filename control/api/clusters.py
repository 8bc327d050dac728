"""Clusters and what they can do."""

from __future__ import annotations

from typing import Final

from control.actions import clusters
from control.actions.clusters import ClusterSeen
from control.api.asked import Asked
from control.api.route import Shape, route
from control.domain.errors import Sentence
from control.runtimes import runtime


class Partition(Shape):
    """A part of a cluster; what is free is null where the engine does not say."""

    name: str
    nodes: int
    cpus: int
    gpus: int
    memory_bytes: int
    free_cpus: int | None
    free_memory_bytes: int | None
    default: bool


class Abilities(Shape):
    """What can be done with jobs on the cluster; `why` says in plain words what cannot, and why."""

    isolation: bool
    suspend: bool
    logs: bool
    shell: bool
    sftp: bool
    network: str
    why: dict[str, str]


class Cluster(Shape):
    """A cluster. One that does not answer has no partitions and says so in `message`."""

    name: str
    kind: str
    healthy: bool
    message: str | None
    default: bool
    partitions: list[Partition]
    capabilities: Abilities | None


_AWAY: Final = Sentence("集群没有应答，请稍后再试。", "The cluster does not answer; try again later.")


async def list_clusters(asked: Asked) -> list[Cluster]:
    """The clusters where jobs can run, the default one first."""
    return [_print(asked, seen) for seen in await clusters.known(asked.ctx)]


def _print(asked: Asked, seen: ClusterSeen) -> Cluster:
    found = seen.abilities
    return Cluster(
        name=seen.name,
        kind="unknown" if found is None else found.kind,
        healthy=found is not None,
        message=_AWAY.say(asked.language, {}) if found is None else None,
        default=seen.is_default,
        partitions=[] if found is None else [_print_partition(each, i == 0) for i, each in enumerate(found.partitions)],
        capabilities=None if found is None else _print_abilities(found),
    )


def _print_partition(partition: runtime.Partition, is_default: bool) -> Partition:
    return Partition(
        name=partition.name,
        nodes=partition.nodes,
        cpus=partition.cpus,
        gpus=partition.gpus,
        memory_bytes=partition.memory_bytes,
        free_cpus=partition.free_cpus,
        free_memory_bytes=partition.free_memory_bytes,
        default=is_default,
    )


def _print_abilities(found: runtime.Capabilities) -> Abilities:
    return Abilities(  # noqa: S604 - `shell` is a fact about the cluster here, not a way to run a program
        isolation=found.isolation != "none",
        suspend=found.suspend,
        logs=True,
        shell=True,
        sftp=found.sftp,
        network=found.network,
        why={name: str(sentence) for name, sentence in found.why.items()},
    )


ROUTES: Final = (route("GET", "/clusters", list_clusters),)
