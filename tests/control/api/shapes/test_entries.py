"""How an entry looks from outside."""

from __future__ import annotations

import pytest

from control.api.shapes.entries import EntrySpec, print_spec, read_spec, read_specs
from control.domain.errors import ProblemError

WEB = {"name": "web", "protocol": "http", "level": "private", "target_port": 8000}


@pytest.mark.parametrize(
    "wish",
    [
        WEB,
        WEB | {"target_port": "auto"},
        WEB | {"port": "random", "protocol": "tcp", "level": "open"},
        {"name": "t", "protocol": "https", "level": "login", "service": "terminal"},
        WEB | {"app_protocol": "h2c"},
    ],
)
def test_a_spec_that_is_printed_can_be_sent_back(wish: dict[str, object]) -> None:
    """What an app offers is what a form sends."""
    read = read_spec(EntrySpec.model_validate(wish), "")
    again = print_spec(read).model_dump(exclude_none=True)
    assert read_spec(EntrySpec.model_validate(again), "") == read


def test_faults_of_all_specs_are_told_together() -> None:
    """Each at its own place in the list."""
    specs = [EntrySpec.model_validate(WEB | change) for change in ({"name": "-"}, {}, {"target_port": 0})]
    with pytest.raises(ProblemError) as refusal:
        read_specs(specs)
    assert [fault.name for fault in refusal.value.problem.fields] == ["entries[0].name", "entries[2].target_port"]


def test_what_is_not_built_yet_is_called_so() -> None:
    """Entries of one node are part of the contract, and come with a later release."""
    with pytest.raises(ProblemError) as refusal:
        read_spec(EntrySpec.model_validate(WEB | {"node": "n1"}), "")
    assert refusal.value.problem.fields[0].say("en") == "This is not built yet."
