"""Names people choose, and ids that are safe as host names."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from control.domain.jobs.names import default_name, job_id, job_name_fault


@pytest.mark.parametrize("name", ["a", "训练 1", "x.y-z_1", "x" * 128])
def test_good_job_names(name: str) -> None:
    """Free, but for a few characters."""
    assert job_name_fault(name) is None


@pytest.mark.parametrize(
    "name",
    ["", " a", "a ", "a+b", "a%", "#", "a@b", "a:b", "a/b", "a\nb", "a\x00", "home", "HOME", "x" * 129, "a\u202eb"],
)
def test_bad_job_names(name: str) -> None:
    """What ssh names and paths mean something by, control characters, the reserved word."""
    assert job_name_fault(name) is not None


@given(st.text())
def test_id_is_a_host_label_whatever_the_name(name: str) -> None:
    """RFC 1123 labels, at most 63 characters, ending in the number."""
    made = job_id(name, 17)
    assert re.fullmatch(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?", made)
    assert made.endswith("-17")


@pytest.mark.parametrize(
    ("app", "command", "name"),
    [
        ("jupyterlab", ["x"], "jupyterlab"),
        (None, ["/usr/bin/python3", "a.py"], "python3"),
        (None, ["/opt/a+b@c"], "abc"),
        (None, ["home"], "job"),
        (None, ["/"], "job"),
        (None, None, "job"),
    ],
)
def test_default_name_is_always_a_good_one(app: str | None, command: list[str] | None, name: str) -> None:
    """The app, or the command's base name without what names may not hold."""
    made = default_name(app, command)
    assert made == name
    assert job_name_fault(made) is None
