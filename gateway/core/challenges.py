"""What to say to a certificate authority that looks at a domain. Pure.

Over HTTP it gets a path below `/.well-known/acme-challenge/` (RFC 8555 section 8.3); over TLS it offers the one
protocol `acme-tls/1` (RFC 8737 section 3). Only an open challenge of that very domain is answered, so that nobody
can have us confirm anything that control did not ask for.
"""

from __future__ import annotations

from typing import Final

from gateway.contract.challenges import Challenge, ChallengeKind
from gateway.core.hello import Hello
from gateway.core.http1 import RequestHead, split_host
from gateway.core.table import Table

ACME_TLS: Final = "acme-tls/1"
"""The protocol's name in ALPN (RFC 8737 section 6.2)."""
MEDIA_TYPE: Final = "application/octet-stream"
_WELL_KNOWN: Final = b"/.well-known/acme-challenge/"


def http_answer(table: Table, head: RequestHead) -> bytes | None:
    """The body that answers this request; None when it asks for no open challenge of its host."""
    if head.method not in (b"GET", b"HEAD") or not head.target.startswith(_WELL_KNOWN):
        return None
    host, _ = split_host(head.host)
    open_one = table.challenge(host)
    if open_one is None or open_one.kind is not ChallengeKind.HTTP:
        return None
    return open_one.authorization.encode() if head.target == _WELL_KNOWN + open_one.token.encode() else None


def is_validation(hello: Hello) -> bool:
    """Whether the client offers the validation protocol and no other."""
    return hello.alpn == (ACME_TLS.encode(),)


def tls_challenge(table: Table, hello: Hello) -> Challenge | None:
    """The challenge that a validation handshake asks for; None when none of this domain is open."""
    if not is_validation(hello) or hello.server_name is None:
        return None
    open_one = table.challenge(hello.server_name)
    return open_one if open_one is not None and open_one.kind is ChallengeKind.TLS else None
