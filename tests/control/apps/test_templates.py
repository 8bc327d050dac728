"""The apps on offer."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from control.apps import templates
from control.apps.environments import Environments
from control.apps.templates import APPS, command_of, readonly_of
from control.domain.entries import parse_spec, port_variable


@pytest.mark.parametrize("name", APPS)
def test_each_app_is_whole(name: str) -> None:
    """Words in both languages, entries that the platform takes, an environment that can be built."""
    app = APPS[name]
    assert app.name == name
    assert all((app.title_zh, app.title_en, app.description_zh, app.description_en, app.command, app.entries))
    for entry in app.entries:
        parse_spec(entry)
    assert app.environment is None or Environments(Path("/nowhere")).knows(app.environment)


@pytest.mark.parametrize("name", APPS)
def test_every_variable_a_command_reads_is_told_by_an_entry(name: str) -> None:
    """`auto` ports reach the command as STARLIGHT_PORT_<NAME>."""
    app = APPS[name]
    read = set(re.findall(r"\$(STARLIGHT_PORT_\w+)", " ".join(app.command)))
    assert read == {port_variable(entry["name"]) for entry in app.entries if entry.get("target_port") == "auto"}


def test_a_command_is_filled_in_for_this_machine() -> None:
    """No placeholder is left, and what it runs lies in what it may read."""
    lab = APPS["jupyterlab"]
    command = command_of(lab, "/data/apps", "/work")
    assert '"/data/apps/jupyterlab/bin/python"' in command[-1]
    assert "{" not in " ".join(command)
    assert readonly_of(lab, "/data/apps") == ["/data/apps/jupyterlab"]
    assert readonly_of(APPS["terminal"], "/data/apps") == []


def test_lock_files_name_no_host() -> None:
    """Where packages come from is the machine's own setting; every one has a hash."""
    for lock in Path(templates.__file__).parent.glob("*.lock"):
        text = lock.read_text()
        assert "://" not in text
        assert text.count("==") <= text.count("--hash=sha256:")
