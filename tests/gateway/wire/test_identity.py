"""Statements for apps: for one host and one minute, verified with the published keys, signed seldom."""

from __future__ import annotations

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from jwt.types import Options

from gateway.contract.routes import Level, Secret
from gateway.wire import identity
from gateway.wire.identity import Identities
from tests.gateway import world

ENTRY = world.entry()
UNTIMED: Options = {"verify_exp": False, "verify_iat": False}
ISSUER = "https://desk.example"


def secret(generation: int) -> Secret:
    """A key that signs."""
    pem = ec.generate_private_key(ec.SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return Secret(f"identity-{generation}", "identity", generation, pem.decode())


NEWEST, OLDER = secret(2), secret(1)


def said(lines: bytes) -> dict[str, str]:
    """Header lines by name."""
    return dict(line.split(": ", 1) for line in lines.decode().splitlines())


def test_an_app_verifies_who_comes() -> None:
    """With nothing but what is published."""
    lines = said(Identities().lines(world.admission(ENTRY), [NEWEST, OLDER], issuer=ISSUER, now=world.NOW))
    assert lines["X-Starlight-User"] == "alice"
    token = lines["X-Starlight-Identity"]
    keys = jwt.PyJWKSet.from_dict(identity.jwks([NEWEST, OLDER]))
    key = keys[jwt.get_unverified_header(token)["kid"]]
    claims = jwt.decode(token, key, algorithms=["ES256"], audience=ENTRY.host, issuer=ISSUER, options=UNTIMED)
    assert (claims["sub"], claims["name"], claims["exp"] - claims["iat"]) == ("1", "alice", 60)
    with pytest.raises(jwt.InvalidAudienceError):
        jwt.decode(token, key, algorithms=["ES256"], audience="other.host", options=UNTIMED)


def test_private_parts_are_not_published() -> None:
    """Of each key only the point."""
    assert all(set(key) == {"kty", "crv", "x", "y", "kid", "use", "alg"} for key in identity.jwks([NEWEST])["keys"])


def test_a_statement_is_signed_once_in_a_while() -> None:
    """The same one for a while; a fresh one before the app could find it too old."""
    identities, mine = Identities(), world.admission(ENTRY)
    first = identities.lines(mine, [NEWEST], issuer=ISSUER, now=world.NOW)
    assert identities.lines(mine, [NEWEST], issuer=ISSUER, now=world.NOW + identity.REUSE_S - 1) == first
    assert identities.lines(mine, [NEWEST], issuer=ISSUER, now=world.NOW + identity.REUSE_S) != first
    assert 2 * identity.REUSE_S < identity.LIFETIME_S


def test_a_stranger_is_told_of_by_nothing() -> None:
    """And without a key there is the name alone."""
    stranger = world.anonymous_admission(world.entry(18, level=Level.OPEN))
    assert Identities().lines(stranger, [NEWEST], issuer=ISSUER, now=world.NOW) == b""
    assert (
        Identities().lines(world.admission(ENTRY), [], issuer=ISSUER, now=world.NOW) == b"X-Starlight-User: alice\r\n"
    )


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many people cost signatures, not memory."""
    monkeypatch.setattr(identity, "_KEPT", 2)
    identities = Identities()
    for number in range(5):
        mine = world.admission(world.entry(number + 20))
        assert identities.lines(mine, [], issuer=ISSUER, now=world.NOW)
