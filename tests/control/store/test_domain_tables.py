"""When an entry's own domain is served."""

from __future__ import annotations

import pytest

from control.domain.domains import Proof
from control.store.domain_tables import EntryDomain


@pytest.mark.parametrize(
    ("held", "proof", "chain", "serves"),
    [
        ("a.test", Proof.DNS, "PEM", True),
        ("a.test", Proof.DNS, "", False),
        ("a.test", None, "PEM", False),
        (None, Proof.CHAIN, "PEM", False),
        (None, None, "PEM", False),
    ],
)
def test_a_domain_is_served_while_it_is_held_and_proved_and_has_a_certificate(
    held: str | None, proof: Proof | None, chain: str, serves: bool
) -> None:
    """All three, or gateways do not know it."""
    row = EntryDomain(entry_id=7, held=held, proof=proof, chain_pem=chain)
    assert row.serves is serves
    assert row.certificate_id == "entry-7"
