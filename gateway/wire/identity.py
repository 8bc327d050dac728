"""Who a visitor is, said to the app: X-Starlight-User, and a signed statement in X-Starlight-Identity.

The statement is a JWT (RFC 7519, ES256) for this entry's host alone and for a minute, so that an app can
tell it from what somebody else might send to its port; its keys are at `/.starlight/jwks.json` (RFC 7517).
State: statements of the last REUSE_S seconds, so that a person who opens many connections costs one
signature.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import jwt
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from jwt.algorithms import ECAlgorithm

from gateway.contract.routes import Secret
from gateway.core.decide import Admission

USE: Final = "identity"
"""The use of the secrets that sign."""
LIFETIME_S: Final = 60
REUSE_S: Final = 20
"""A statement is handed out again for so long, and kept by a connection for as long once more."""
_KEPT: Final = 4096


class Identities:
    """The statements of one process."""

    def __init__(self) -> None:
        """None yet."""
        self._made: dict[tuple[str, int], tuple[float, bytes]] = {}

    def lines(self, admission: Admission, secrets: Sequence[Secret], *, issuer: str, now: float) -> bytes:
        """The header lines that tell the app who comes; none for a stranger. `now` is in epoch seconds."""
        visitor, host = admission.visitor, admission.entry.host
        if visitor.user_id is None:
            return b""
        made_at, lines = self._made.get((host, visitor.user_id), (0.0, b""))
        if not 0 <= now - made_at < REUSE_S:
            claims = {"iss": issuer, "aud": host, "sub": str(visitor.user_id), "name": visitor.name}
            lines = _lines(visitor.name, _signed(claims, secrets, int(now)))
            if len(self._made) >= _KEPT:
                self._made.clear()
            self._made[host, visitor.user_id] = (now, lines)
        return lines


def jwks(secrets: Sequence[Secret]) -> dict[str, Any]:
    """The public keys that statements are verified with (RFC 7517, 5)."""
    return {"keys": [_public(secret) for secret in secrets]}


def _signed(claims: dict[str, Any], secrets: Sequence[Secret], now: int) -> str | None:
    """The signed claims; None while control has given no key."""
    if not secrets:
        return None
    whole = claims | {"iat": now, "exp": now + LIFETIME_S}
    return jwt.encode(whole, _key(secrets[0].value), algorithm="ES256", headers={"kid": secrets[0].id})


def _lines(name: str, signed: str | None) -> bytes:
    said = f"X-Starlight-User: {name}\r\n" + (f"X-Starlight-Identity: {signed}\r\n" if signed else "")
    return said.encode("ascii")


@lru_cache(maxsize=16)
def _key(pem: str) -> EllipticCurvePrivateKey:
    key = load_pem_private_key(pem.encode(), None)
    assert isinstance(key, EllipticCurvePrivateKey)
    return key


def _public(secret: Secret) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(ECAlgorithm.to_jwk(_key(secret.value).public_key()))
    return told | {"kid": secret.id, "use": "sig", "alg": "ES256"}
