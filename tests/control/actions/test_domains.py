"""Domains as actions: ours stay ours, troubles come at their fields, a silent name service is no proof."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from certs.check import Trouble
from control.actions import domains
from control.actions.context import Context, Person
from control.domain.domains import DomainWish
from control.domain.errors import FieldCode, ProblemError
from tests.certs.authority import Authority
from tests.control.api.desk import START, Desk

CA = Authority(datetime.fromtimestamp(START, UTC))
NAME = "lab.example.org"
LEAF = CA.leaf(NAME)
WISH = DomainWish(NAME, LEAF.pem + CA.intermediate.pem + CA.root.pem, LEAF.key_pem())


@pytest.mark.parametrize("trouble", Trouble)
def test_each_trouble_of_a_pair_has_its_words(trouble: Trouble) -> None:
    """The closed list of `certs` and the sentences belong together."""
    assert FieldCode(f"pair_{trouble.value}")


async def test_a_name_service_that_does_not_answer_proves_nothing(
    ctx: Context, desk: Desk, alice: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The entry is made all the same; it is proved later."""

    async def silent(_name: str) -> frozenset[str]:
        await asyncio.Event().wait()
        return frozenset()

    monkeypatch.setattr(domains, "ASK_S", 0.05)
    monkeypatch.setattr(desk.names, "texts", silent)
    claim = await domains.claim_of(ctx, alice, WISH)
    assert claim is not None
    assert claim.proof is None


async def test_faults_stand_at_their_place(ctx: Context, alice: Person) -> None:
    """`path` is put before the field's name; a pair without a domain needs an entry that has one."""
    with pytest.raises(ProblemError) as caught:
        await domains.claim_of(ctx, alice, DomainWish(NAME, "x", "y"), path="entries[2].")
    assert [fault.name for fault in caught.value.problem.fields] == ["entries[2].certificate"]
    with pytest.raises(ProblemError) as caught:
        await domains.claim_of(ctx, alice, DomainWish(None, "x", "y"))
    assert [fault.name for fault in caught.value.problem.fields] == ["domain"]
    assert await domains.claim_of(ctx, alice, None) is None


def test_our_names_are_the_base_domain_the_console_and_the_public_address(desk: Desk) -> None:
    """All of them may be somebody's only through an administrator of ours."""
    assert set(domains.own_names(desk.settings)) >= {"proxy.localhost", "console.localhost", "203.0.113.7"}
