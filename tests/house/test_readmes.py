"""The READMEs: each house has one, what they name exists, and every setting stands in the root's."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from control.config import PREFIX, Settings
from tests.house.files import HOUSES, ROOT

READMES = [Path("README.md"), *(Path(house, "README.md") for house in HOUSES)]
NAMED = re.compile(r"`([A-Za-z0-9_./-]+\.(?:py|md|sh|toml|lock|ts|vue|service))`")
ABSENT_AT_FIRST = {"starlight.toml"}
"""Files that a person makes."""


@pytest.mark.parametrize("readme", READMES, ids=str)
def test_the_readme_exists_and_so_do_the_files_it_names(readme: Path) -> None:
    """A path is meant from the README's own folder, or from the root."""
    text = (ROOT / readme).read_text()
    named = set(NAMED.findall(text)) - ABSENT_AT_FIRST
    lost = [name for name in sorted(named) if not exists(ROOT / readme.parent, name) and not exists(ROOT, name)]
    assert not lost, f"{readme} names what is not there: {lost}"


def exists(folder: Path, name: str) -> bool:
    """Whether the path is there, or, for a bare file name, lies anywhere below the folder's rooms."""
    return (folder / name).exists() or ("/" not in name and any(folder.glob(f"*/{name}")))


@pytest.mark.parametrize("setting", [field.name for field in fields(Settings)])
def test_every_setting_is_documented(setting: str) -> None:
    """Nobody has to read the code to find a variable."""
    assert f"`{PREFIX}{setting.upper()}`" in (ROOT / "README.md").read_text()
