"""What a person asks for when submitting a job, turned into a complete, checked JobSpec with all defaults filled in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from control.actions.clusters import abilities_of
from control.actions.context import Context, Person
from control.domain.apps import App
from control.domain.entries import ENTRIES_PER_JOB, EntrySpec, Taken, clash, ssh_default, wants_ssh_default
from control.domain.errors import Code, FieldCode, FieldFault, ProblemError, fault, invalid, problem
from control.domain.jobs.names import default_name, job_name_fault
from control.domain.jobs.spec import CLIENT_KEY_CHARACTERS, JobSpec, command_faults, env_faults
from control.runtimes.runtime import Capabilities, Partition

_LEAST_MEMORY_BYTES: Final = 16 * 1024 * 1024
_LONGEST_S: Final = 365 * 24 * 3600


@dataclass(frozen=True, slots=True)
class Wish:
    """A job as it was asked for; None and empty mean "the default". `command` or `app` is given."""

    name: str | None = None
    app: str | None = None
    cluster: str | None = None
    partition: str | None = None
    image: str | None = None
    command: tuple[str, ...] | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    nodes: int = 1
    cpus: int = 1
    gpus: int = 0
    memory_bytes: int | None = None
    time_limit_s: int | None = None
    entries: tuple[EntrySpec, ...] = ()
    ssh_default: bool = True
    client_key: str | None = None


async def resolve(ctx: Context, who: Person, wish: Wish) -> JobSpec:
    """The complete spec.

    Raises ProblemError INVALID_INPUT (naming every faulty field), APP_UNKNOWN, CLUSTER_UNKNOWN, CLUSTER_UNHEALTHY,
    UNSUPPORTED, ISOLATION, ENTRY_NAME_TAKEN or TARGET_PORT_TAKEN.
    """
    app = _app(ctx, wish.app)
    cluster = _cluster(ctx, wish.cluster)
    abilities = await abilities_of(ctx, cluster)
    partition = _partition(abilities, wish.partition)
    command = wish.command if wish.command is not None else () if app is None else app.command
    name = wish.name if wish.name is not None else default_name(wish.app, list(command))
    faults = [*_field_faults(wish, name, command), *_resource_faults(wish, partition)]
    if faults:
        raise invalid(*faults)
    _refuse_unable(ctx, who, cluster, abilities, wish)
    return JobSpec(
        name=name,
        app=wish.app,
        cluster=cluster,
        partition=partition.name,
        command=command,
        home=ctx.runtimes[cluster].account_of(who.id, who.name).home,
        env={**({} if app is None else app.env), **wish.env},
        image=wish.image,
        nodes=wish.nodes,
        cpus=wish.cpus,
        gpus=wish.gpus,
        memory_bytes=wish.memory_bytes,
        time_limit_s=wish.time_limit_s,
        readonly=() if app is None else app.readonly,
        entries=_entries(wish, app),
        client_key=wish.client_key,
    )


def _app(ctx: Context, name: str | None) -> App | None:
    if name is None:
        return None
    known = {app.name: app for app in ctx.apps.known()}
    if name not in known:
        raise problem(Code.APP_UNKNOWN, name=name, known=", ".join(known))
    return known[name]


def _cluster(ctx: Context, name: str | None) -> str:
    if name is None:
        return next(iter(ctx.runtimes))
    if name not in ctx.runtimes:
        raise problem(Code.CLUSTER_UNKNOWN, name=name, known=", ".join(ctx.runtimes))
    return name


def _partition(abilities: Capabilities, name: str | None) -> Partition:
    known = {partition.name: partition for partition in abilities.partitions}
    if name is None:
        return abilities.partitions[0]
    if name not in known:
        raise problem(Code.CLUSTER_UNKNOWN, name=name, known=", ".join(known))
    return known[name]


def _field_faults(wish: Wish, name: str, command: tuple[str, ...]) -> list[FieldFault]:
    faults = [*command_faults(command), *env_faults(dict(wish.env))]
    if (wrong := job_name_fault(name)) is not None:
        faults.append(wrong)
    if wish.client_key is not None and not 0 < len(wish.client_key) <= CLIENT_KEY_CHARACTERS:
        faults.append(fault("client_key", FieldCode.TOO_LONG, maximum=CLIENT_KEY_CHARACTERS))
    return faults


def _resource_faults(wish: Wish, partition: Partition) -> list[FieldFault]:
    asked = {
        "nodes": (wish.nodes, 1, partition.nodes),
        "cpus": (wish.cpus, 1, partition.cpus),
        "gpus": (wish.gpus, 0, partition.gpus),
        "memory_bytes": (wish.memory_bytes, _LEAST_MEMORY_BYTES, partition.memory_bytes),
        "time_limit_s": (wish.time_limit_s, 1, _LONGEST_S),
    }
    return [
        fault(name, FieldCode.OUT_OF_RANGE, minimum=least, maximum=most)
        for name, (value, least, most) in asked.items()
        if value is not None and not least <= value <= most
    ]


def _refuse_unable(ctx: Context, who: Person, cluster: str, abilities: Capabilities, wish: Wish) -> None:
    if wish.image is not None and abilities.kind == "local":
        raise problem(Code.UNSUPPORTED, cluster=cluster, what="image")
    if not (abilities.isolation != "none" or who.is_admin or ctx.settings.allow_unisolated):
        raise problem(Code.ISOLATION)


def _entries(wish: Wish, app: App | None) -> tuple[EntrySpec, ...]:
    """The asked entries, with those of the app that none of them replaces, and `ssh-default` unless unwanted."""
    asked = {spec.name for spec in wish.entries}
    kept = () if app is None else tuple(spec for spec in app.entries if spec.name not in asked)
    specs = (*wish.entries, *kept)
    if wish.ssh_default and wants_ssh_default(specs):
        specs = (*specs, ssh_default())
    _refuse_clashes(specs)
    return specs


def _refuse_clashes(specs: tuple[EntrySpec, ...]) -> None:
    if len(specs) > ENTRIES_PER_JOB:
        raise invalid(fault("entries", FieldCode.OUT_OF_RANGE, minimum=0, maximum=ENTRIES_PER_JOB))
    taken: list[Taken] = []
    for spec in specs:
        if (found := clash(spec, taken)) is not None:
            raise ProblemError(found)
        taken.append(Taken(spec.name, spec.target_port))
