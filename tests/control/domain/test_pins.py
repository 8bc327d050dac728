"""Pins as people paste them."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from control.domain.pins import read_pin

PIN = hashlib.sha256(b"certificate").hexdigest()
COLONS = ":".join(PIN[at : at + 2] for at in range(0, 64, 2)).upper()


@pytest.mark.parametrize(
    "text",
    [
        PIN,
        PIN.upper(),
        COLONS,
        f"sha256 Fingerprint={COLONS}",
        f"SHA256 Fingerprint={COLONS}\n",
        f"sha256:{PIN}",
        f" {PIN} ",
    ],
)
def test_every_spelling_of_openssl_is_one_pin(text: str) -> None:
    """Kept as 64 lower-case hex digits."""
    assert read_pin(text) == PIN


@pytest.mark.parametrize(
    "text", ["", PIN[:-1], PIN + "0", PIN[:-1] + "g", COLONS[:-1], ":" * 95, f"md5:{PIN}", 7, None, "x" * 10**6]
)
def test_anything_else_is_none(text: Any) -> None:
    """A pin that is cut off would match nothing, and nobody would know why."""
    assert read_pin(text) is None
