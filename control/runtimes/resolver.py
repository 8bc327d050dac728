"""What the public name service says: TXT records that prove a domain's owner, and where a domain points.

A name that has no such record gives an empty answer; no answer in time raises TimeoutError, so that a
name service that fails is never taken for a record that is missing. Resolvers are the machine's own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from typing import Final

import dns.asyncresolver
import dns.exception
import dns.name
import dns.nameserver
import dns.rdatatype
import dns.resolver

from control.domain.domains import Pointing, Sight, pointing, read_domain, txt_name

DEADLINE_S: Final = 4.0
ANSWERS_LIMIT: Final = 32
"""Records of one answer that are looked at."""
_NONE: Final = (dns.resolver.NXDOMAIN, dns.resolver.NoAnswer)


class Resolver:
    """Asks the name service. Holds no state between questions: an answer is as new as the resolvers' own."""

    def __init__(self, servers: Sequence[tuple[str, int]] | None = None) -> None:
        """Asks these name servers (address and port) instead of the machine's own when they are given."""
        self._servers = servers

    async def texts(self, name: str) -> frozenset[str]:
        """The TXT records of a name. Raises TimeoutError when nobody answers."""
        answer = await self._ask(name, "TXT")
        return frozenset(
            b"".join(record.strings).decode("ascii", "replace") for record in list(answer or ())[:ANSWERS_LIMIT]
        )

    async def addresses(self, name: str) -> frozenset[str]:
        """The IPv4 and IPv6 addresses of a name. Raises TimeoutError when nobody answers."""
        found: set[str] = set()
        for kind in ("A", "AAAA"):
            found |= {record.address for record in list(await self._ask(name, kind) or ())[:ANSWERS_LIMIT]}
        return frozenset(found)

    async def sight(self, domain: str, public_address: str) -> Sight:
        """What is to be seen of `domain`, compared with where the platform says it is (an address, or a name)."""
        async with asyncio.TaskGroup() as group:
            texts = group.create_task(self._or_none(self.texts(txt_name(domain))))
            found = group.create_task(self._or_none(self.addresses(domain)))
            public = group.create_task(self._or_none(self._public(public_address)))
        seen = found.result()
        verdict = Pointing.UNKNOWN if seen is None else pointing(seen, public.result() or ())
        return Sight(texts.result() or frozenset(), tuple(sorted(seen or ())), verdict)

    async def _public(self, address: str) -> frozenset[str]:
        """The addresses of the platform, which may be told by a name."""
        if read_domain(address) is not None:
            return await self.addresses(address)
        return frozenset({address} if address else ())

    async def _or_none(self, question: Awaitable[frozenset[str]]) -> frozenset[str] | None:
        try:
            return await question
        except TimeoutError:
            return None

    async def _ask(self, name: str, kind: str) -> dns.resolver.Answer | None:
        try:
            resolver = dns.asyncresolver.Resolver(configure=self._servers is None)
            if self._servers is not None:
                resolver.nameservers = [dns.nameserver.Do53Nameserver(*server) for server in self._servers]
            return await resolver.resolve(dns.name.from_text(name), kind, lifetime=DEADLINE_S)
        except _NONE:
            return None
        except (dns.exception.DNSException, OSError) as fault:
            raise TimeoutError(f"the name service gave no answer for {kind} {name}") from fault
