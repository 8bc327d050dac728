"""Challenges of a certificate authority that gateways answer for a domain (RFC 8555 section 8, RFC 8737).

Control asks the authority for a certificate; the authority asks whoever the domain leads to, which is us. The answer
is no secret: it shows only who asked. One challenge stands for a domain at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ChallengeKind(StrEnum):
    """How the authority looks: at a path on port 80, or at a TLS handshake on port 443."""

    HTTP = "http-01"
    TLS = "tls-alpn-01"


@dataclass(frozen=True, slots=True)
class Challenge:
    """An open challenge. `id` is the domain, `authorization` the key authorization of RFC 8555 section 8.1."""

    id: str
    kind: ChallengeKind
    token: str
    authorization: str
