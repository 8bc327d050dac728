"""When an entry's own domain is served."""

from __future__ import annotations

import pytest

from control.domain.domains import Proof
from control.store.domain_tables import EntryDomain


@pytest.mark.parametrize(
    ("held", "proof", "serves"),
    [("a.test", Proof.DNS, True), ("a.test", None, False), (None, Proof.CHAIN, False), (None, None, False)],
)
def test_a_domain_is_served_while_it_is_held_and_proved(held: str | None, proof: Proof | None, serves: bool) -> None:
    """Both, or gateways do not know it."""
    row = EntryDomain(entry_id=7, held=held, proof=proof)
    assert row.serves is serves
    assert row.certificate_id == "entry-7"
