"""Shell completion, tried in a real shell."""

from __future__ import annotations

import subprocess

import pytest

from control.cli.completion import script
from control.cli.parser import build
from control.cli.words import Words


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (["starlight", "jo"], ["job"]),
        (["starlight", "job", "s"], ["show", "submit", "suspend"]),
        (["starlight", "job", "submit", "--cl"], ["--cluster"]),
        (["starlight", "entry", "add", "jupyter-1", "--tar"], ["--target-port"]),
        (["starlight", "completion", ""], ["bash", "zsh"]),
    ],
)
def test_bash_offers_what_may_follow(typed: list[str], offered: list[str]) -> None:
    """Commands, their actions, and the options of the action that is being typed."""
    words = " ".join(f"'{word}'" for word in typed)
    call = f"COMP_WORDS=({words}) COMP_CWORD={len(typed) - 1}\n_starlight\necho ${{COMPREPLY[@]}}"
    program = f"{script(build(Words('en')), 'bash')}\n{call}"
    ran = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True, timeout=20)
    assert [word for word in ran.stdout.split() if not word.startswith("--") or typed[-1].startswith("--")] == offered


def test_zsh_goes_through_its_bash_completion() -> None:
    """One script to keep right."""
    assert "bashcompinit" in script(build(Words("en")), "zsh")
