"""How each worker is started."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from control.config import read_settings, read_worker_settings
from control.supervisor.crew import Ground, crew
from control.supervisor.identity import Identities
from control.supervisor.passage import Passage
from control.supervisor.worker import Recipe


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    """A start as root with three web gateways and secrets to keep."""
    settings = read_settings(
        {
            "STARLIGHT_DATA_DIR": str(tmp_path),
            "STARLIGHT_GATEWAY_PROCESSES": "3",
            "STARLIGHT_DATABASE_URL": "postgresql://u:db-secret@h/x",
        }
    )
    return Ground(
        settings=settings,
        who=Identities(60001, 60002, 61000),
        passage=Passage(("/root",), ("/root/starlight",)),
        lifeline=7,
        feed_key="ab" * 32,
        admin_password="admin-secret",
        surroundings={"PATH": "/bin", "HOME": "/nonexistent"},
    )


def by_name(ground: Ground) -> dict[str, Recipe]:
    """All recipes by worker name."""
    return {recipe.name: recipe for recipe in crew(ground)}


def test_the_crew_is_control_a_bridge_and_the_gateways(ground: Ground) -> None:
    """One control, one local bridge, as many web gateways as asked for, one ssh gateway."""
    assert list(by_name(ground)) == ["control", "bridge-local", "web-0", "web-1", "web-2", "ssh-0"]


def test_each_runs_its_program_under_its_uid(ground: Ground) -> None:
    """Control and gateways go through the launcher with their uid; the bridge stays the starter's."""
    recipes = by_name(ground)
    for name, uid, program in (("control", 60001, "control"), ("web-1", 60002, "gateway"), ("ssh-0", 60002, "gateway")):
        command = recipes[name].command
        plan = json.loads(next(word for word in command if word.startswith("{")))
        assert plan["uid"] == uid
        assert plan["hidden"] == ["/root"]
        assert command[command.index("-m") + 1] == program
    assert recipes["bridge-local"].command[1:] == ("-m", "control.bridge")
    assert recipes["web-1"].command[-4:] == ("--role", "web", "--name", "web-1")
    assert recipes["ssh-0"].command[-4:] == ("--role", "ssh", "--name", "ssh-0")


def test_secrets_reach_control_alone(ground: Ground) -> None:
    """A gateway parses hostile input, the bridge starts jobs: neither holds the database's password."""
    for name, recipe in by_name(ground).items():
        held = "\n".join(recipe.environment.values())
        assert ("db-secret" in held) == (name == "control")
        assert ("admin-secret" in held) == (name == "control")
        assert "secret" not in repr(recipe)


def test_a_worker_can_read_its_environment(ground: Ground) -> None:
    """What is written here is what control.config reads there."""
    worker = read_worker_settings(by_name(ground)["control"].environment)
    assert worker.name == "control"
    assert worker.lifeline_fd == 7
    assert (worker.control_uid, worker.gateway_uid, worker.job_uid_base) == (60001, 60002, 61000)
    assert worker.feed_key == b"\xab" * 32
    assert worker.settings.database_url == ground.settings.database_url
    assert by_name(ground)["web-0"].environment["HOME"] == "/nonexistent"
