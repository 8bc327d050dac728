"""Which certificate answers a TLS server name: an exact name, then a wildcard, then the default.

Pure. A wildcard stands for exactly one whole left-most label (RFC 9525 section 6.3): `*.a.b` answers
`x.a.b`, and neither `a.b` nor `y.x.a.b`. Of two certificates with the same name the first one given wins.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Generic, Protocol, TypeVar


class Named(Protocol):
    """What is chosen from: a certificate as the gateway's table or control's store holds it."""

    @property
    def names(self) -> Sequence[str]:
        """DNS names, some perhaps wildcards."""

    @property
    def default(self) -> bool:
        """Whether it also answers names that no certificate has."""


C = TypeVar("C", bound=Named)


class Choice(Generic[C]):
    """An index of certificates by name. It is built anew when a certificate comes or goes, never edited."""

    def __init__(self, certificates: Iterable[C]) -> None:
        self._by_name: dict[str, C] = {}
        self._default: C | None = None
        for certificate in certificates:
            for name in certificate.names:
                self._by_name.setdefault(normal_name(name), certificate)
            if certificate.default and self._default is None:
                self._default = certificate

    def find(self, server_name: str | None) -> C | None:
        """The certificate for `server_name` (None: the peer told none), or None when nothing answers."""
        if server_name is None:
            return self._default
        name = normal_name(server_name)
        _, dot, parent = name.partition(".")
        return self._by_name.get(name) or self._by_name.get(f"*{dot}{parent}") or self._default

    def covers(self, server_name: str) -> bool:
        """Whether a certificate really holds `server_name`; the default does not count."""
        return any(matches(pattern, server_name) for pattern in self._by_name)


def matches(pattern: str, server_name: str) -> bool:
    """Whether a certificate's DNS name `pattern` stands for `server_name`."""
    pattern, name = normal_name(pattern), normal_name(server_name)
    if pattern.startswith("*."):
        label, dot, parent = name.partition(".")
        return bool(label and dot) and pattern[2:] == parent
    return pattern == name


def normal_name(name: str) -> str:
    """A DNS name as it is compared: lower case, without the root's dot."""
    return name.rstrip(".").lower()
