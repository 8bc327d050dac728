"""Commands and environments are checked before anything is stored."""

from __future__ import annotations

from typing import Any

import pytest

from control.domain.jobs.spec import command_faults, env_faults


@pytest.mark.parametrize("command", [["true"], ("sh", "-c", "echo 你好"), ["x"] * 256])
def test_good_commands(command: Any) -> None:
    """Lists of words."""
    assert command_faults(command) == []


@pytest.mark.parametrize("command", [None, "true", [], [""], [1], ["a\0"], ["\ud800"], ["x"] * 257, ["x" * 40_000]])
def test_bad_commands(command: Any) -> None:
    """Each with one fault at `command`."""
    assert [fault.name for fault in command_faults(command)] == ["command"]


def test_environment_faults_name_the_variable() -> None:
    """Each wrong variable by its name."""
    assert env_faults({"A": "1", "_b2": ""}) == []
    wrong = {"1A": "x", "A-B": "x", "N": 1, "Z": "\0", "S": "\udc80", "L": "x" * 40_000}
    assert {fault.name for fault in env_faults(wrong)} == {f"env.{name}" for name in wrong}


@pytest.mark.parametrize("env", [[], "x", {f"A{n}": "" for n in range(257)}])
def test_environment_as_a_whole(env: Any) -> None:
    """Not an object, or too many."""
    assert [fault.name for fault in env_faults(env)] == ["env"]
