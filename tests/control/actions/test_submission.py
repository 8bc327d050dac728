"""A wish for a job, made complete and checked."""

from __future__ import annotations

import dataclasses

import pytest

from control.actions.context import Context, Person
from control.actions.submission import Wish, resolve
from control.domain.entries import EntrySpec
from control.domain.errors import Code, ProblemError
from gateway.contract.routes import Level, Protocol
from tests.control.actions.refused import refused
from tests.control.api.desk import GIB, Desk

RUN = Wish(command=("/usr/bin/python3", "x.py"))
WEB = EntrySpec("web", Protocol.HTTP, Level.PRIVATE, 8000)


async def test_everything_left_out_has_a_default(ctx: Context, alice: Person) -> None:
    """The default cluster, its first partition, the command's base name, and a way in by ssh."""
    spec = await resolve(ctx, alice, RUN)
    assert (spec.name, spec.cluster, spec.partition) == ("python3", "local", "local")
    assert (spec.nodes, spec.cpus, spec.gpus, spec.memory_bytes, spec.time_limit_s) == (1, 1, 0, None, None)
    assert spec.home == "/data/homes/alice"
    assert [entry.name for entry in spec.entries] == ["ssh-default"]


@pytest.mark.parametrize(
    ("wish", "names"),
    [
        (dataclasses.replace(RUN, ssh_default=False), []),
        (dataclasses.replace(RUN, entries=(WEB,)), ["web", "ssh-default"]),
        (dataclasses.replace(RUN, entries=(EntrySpec("mine", Protocol.SSH, Level.LOGIN, 2222),)), ["mine"]),
        (dataclasses.replace(RUN, entries=(EntrySpec("raw", Protocol.HTTP, Level.LOGIN, 22),)), ["raw"]),
        (Wish(app="jupyterlab"), ["lab", "ssh-default"]),
        (Wish(app="jupyterlab", entries=(WEB,)), ["web", "lab", "ssh-default"]),
        (Wish(app="jupyterlab", entries=(dataclasses.replace(WEB, name="lab"),)), ["lab", "ssh-default"]),
    ],
)
async def test_entries_are_the_asked_ones_then_the_apps_then_ssh(
    ctx: Context, alice: Person, wish: Wish, names: list[str]
) -> None:
    """ssh-default gives way to a fixed ssh entry, to its own name and to target port 22."""
    assert [entry.name for entry in (await resolve(ctx, alice, wish)).entries] == names


async def test_an_app_brings_command_folders_and_environment(ctx: Context, alice: Person) -> None:
    """A command and variables given with it win."""
    plain = await resolve(ctx, alice, Wish(app="jupyterlab"))
    assert (plain.name, plain.command, plain.readonly) == (
        "jupyterlab",
        ("jupyter", "lab"),
        ("/data/apps/jupyterlab",),
    )
    own = await resolve(ctx, alice, Wish(app="jupyterlab", command=("sh",), env={"A": "1"}))
    assert (own.command, own.env) == (("sh",), {"A": "1"})


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"command": ()}, "command"),
        ({"name": "a:b"}, "name"),
        ({"nodes": 2}, "nodes"),
        ({"cpus": 9}, "cpus"),
        ({"gpus": 1}, "gpus"),
        ({"memory_bytes": 1}, "memory_bytes"),
        ({"memory_bytes": 17 * GIB}, "memory_bytes"),
        ({"time_limit_s": 0}, "time_limit_s"),
        ({"env": {"1A": "x"}}, "env.1A"),
        ({"client_key": ""}, "client_key"),
    ],
)
async def test_what_the_partition_cannot_hold_is_refused_at_its_field(
    ctx: Context, alice: Person, change: dict[str, object], field: str
) -> None:
    """With the bounds in the sentence."""
    with pytest.raises(ProblemError) as refusal:
        await resolve(ctx, alice, dataclasses.replace(RUN, **change))  # type: ignore[arg-type]  # by field, on purpose
    assert [fault.name for fault in refusal.value.problem.fields] == [field]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"app": "doom"}, Code.APP_UNKNOWN),
        ({"cluster": "moon"}, Code.CLUSTER_UNKNOWN),
        ({"partition": "far"}, Code.CLUSTER_UNKNOWN),
        ({"image": "debian"}, Code.UNSUPPORTED),
        ({"entries": (WEB, WEB)}, Code.ENTRY_NAME_TAKEN),
        ({"entries": (WEB, dataclasses.replace(WEB, name="x"))}, Code.TARGET_PORT_TAKEN),
        (
            {"entries": tuple(dataclasses.replace(WEB, name=f"e{n}", target_port=9000 + n) for n in range(33))},
            Code.INVALID_INPUT,
        ),
    ],
)
async def test_what_there_is_not_is_refused(ctx: Context, alice: Person, change: dict[str, object], code: Code) -> None:
    """Each by its own code."""
    with refused(code):
        await resolve(ctx, alice, dataclasses.replace(RUN, **change))  # type: ignore[arg-type]  # by field, on purpose


async def test_isolation_decides_whose_jobs_run(desk: Desk, alice: Person, admin: Person) -> None:
    """Without it administrators' only, unless the operator bears the risk."""
    desk.runtime.isolation = "none"
    with refused(Code.ISOLATION):
        await resolve(desk.ctx, alice, RUN)
    await resolve(desk.ctx, admin, RUN)
    risky = dataclasses.replace(desk.ctx, settings=dataclasses.replace(desk.settings, allow_unisolated=True))
    await resolve(risky, alice, RUN)
