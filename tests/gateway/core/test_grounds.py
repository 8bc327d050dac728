"""Which record gives which ground, and which facts each ground vouches for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gateway.contract.codec import Record
from gateway.contract.routes import Authority, Certificate, JobPhase, Level, Protocol, Service
from gateway.core.grounds import claims, expired, open_to_anyone, open_to_users
from tests.gateway import world


def grounds(record: Record) -> set[str]:
    """The grounds of a record, without their facts."""
    return {ground for ground, _ in claims(record)}


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (world.user(3), {"user:3"}),
        (world.user(3, disabled=True), set()),
        (world.session("abc"), {"session:abc"}),
        (world.token(12), {"token:12"}),
        (world.key(9), {"key:9"}),
        (world.client(8), {"client:8"}),
        (world.grant(45), {"grant:45"}),
        (world.job("j-1"), {"job:j-1"}),
        (world.job("j-1", phase=JobPhase.UNREACHABLE), {"job:j-1"}),
        (world.job("j-1", phase=JobPhase.ENDED), set()),
        (world.entry(17), {"entry:17"}),
        (world.entry(17, level=Level.LOGIN), {"entry:17", "entry:17:login"}),
        (world.entry(17, level=Level.OPEN), {"entry:17", "entry:17:login", "entry:17:open"}),
        (world.entry(17, level=Level.OPEN, protocol=Protocol.SSH), {"entry:17"}),
        (world.entry(17, level=Level.OPEN, service=Service.TERMINAL), {"entry:17"}),
        (world.SECRET, set()),
        (Authority("clients-1", "pem"), set()),
        (Certificate("c", ("*.proxy.localhost",), "chain", "key"), set()),
    ],
)
def test_each_record_gives_its_grounds(record: Record, expected: set[str]) -> None:
    """A record gives the grounds of its kind, and none when it no longer lets anybody in."""
    assert grounds(record) == expected


@pytest.mark.parametrize(
    ("before", "after", "kept"),
    [
        (world.entry(), replace(world.entry(), name="other"), True),
        (world.entry(), replace(world.entry(), port=9999), False),
        (world.entry(), replace(world.entry(), protocol=Protocol.HTTPS), False),
        (world.entry(), world.entry(target_port=1), False),
        (world.session(), world.session(expires_at=world.NOW + 9), True),
        (world.session(), world.session(token_hash="other"), False),
        (world.key(), world.key(fingerprint="SHA256:bbb"), False),
        (world.client(), world.client(expires_at=world.NOW + 9), True),
        (world.client(), world.client(entry_id=18), False),
        (world.client(), world.client(user_id=2), False),
        (world.user(), replace(world.user(), role="admin"), True),
        (world.grant(), world.grant(user_id=3), False),
    ],
)
def test_a_ground_holds_while_its_facts_do(before: Record, after: Record, kept: bool) -> None:
    """A change that leaves the facts alone keeps the ground; one that leads elsewhere withdraws it."""
    assert (set(claims(before)) <= set(claims(after))) is kept


def test_openness_never_covers_a_shell() -> None:
    """An open ssh or terminal entry admits nobody by being open: the gateway would open the shell."""
    shell = world.entry(level=Level.OPEN, protocol=Protocol.SSH)
    assert not open_to_anyone(shell)
    assert not open_to_users(shell)
    assert open_to_users(world.entry(level=Level.LOGIN, protocol=Protocol.SSH))


def test_only_what_has_an_end_expires() -> None:
    """Users never expire, tokens without an end neither; an end counts from its very second."""
    assert not expired(world.user(), world.NOW)
    assert not expired(world.token(), world.NOW)
    assert not expired(world.token(expires_at=world.NOW + 1), world.NOW)
    assert expired(world.token(expires_at=world.NOW), world.NOW)
    assert expired(world.client(expires_at=world.NOW), world.NOW)
