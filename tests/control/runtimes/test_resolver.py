"""The name service, asked over real sockets: records, names that are not there, and nobody who answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset
import pytest

from control.domain.domains import Pointing
from control.runtimes import resolver
from control.runtimes.resolver import Resolver

ZONE = {
    ("_starlight.lab.example.org.", "TXT"): ['"v=spf1 -all"', '"starlight=" "abc"'],
    ("lab.example.org.", "A"): ["203.0.113.7"],
    ("lab.example.org.", "AAAA"): ["2001:db8::7"],
    ("gate.example.org.", "A"): ["203.0.113.7"],
    ("elsewhere.example.org.", "A"): ["198.51.100.1"],
}


class NameServer(asyncio.DatagramProtocol):
    """Answers from ZONE; a mute one hears and says nothing."""

    def __init__(self, *, mute: bool) -> None:
        self.mute = mute

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The socket is there."""
        self.transport = cast("asyncio.DatagramTransport", transport)  # the loop's own class is no subclass of it

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        """One question."""
        if self.mute:
            return
        question = dns.message.from_wire(data)
        answer = dns.message.make_response(question)
        answer.flags |= dns.flags.RA
        name, kind = question.question[0].name, question.question[0].rdtype
        texts = ZONE.get((name.to_text(), dns.rdatatype.to_text(kind)))
        if texts:
            answer.answer.append(dns.rrset.from_text(name, 60, "IN", dns.rdatatype.to_text(kind), *texts))
        elif not any(known == name.to_text() for known, _ in ZONE):
            answer.set_rcode(dns.rcode.NXDOMAIN)
        self.transport.sendto(answer.to_wire(), addr)


@asynccontextmanager
async def asked(*, mute: bool = False) -> AsyncIterator[Resolver]:
    """A resolver that asks a name server of the test's own."""
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(lambda: NameServer(mute=mute), local_addr=("127.0.0.1", 0))
    try:
        yield Resolver([transport.get_extra_info("sockname")[:2]])
    finally:
        transport.close()


async def test_records_are_read() -> None:
    """TXT in one piece however it was split, addresses of both kinds; none for a name that is not there."""
    async with asked() as names:
        assert await names.texts("_starlight.lab.example.org") == {"v=spf1 -all", "starlight=abc"}
        assert await names.addresses("lab.example.org") == {"203.0.113.7", "2001:db8::7"}
        assert await names.texts("lab.example.org") == frozenset()
        assert await names.texts("nobody.example.org") == frozenset()


@pytest.mark.parametrize(
    ("domain", "public", "verdict"),
    [
        ("lab.example.org", "203.0.113.7", Pointing.YES),
        ("lab.example.org", "2001:0db8::0007", Pointing.YES),
        ("lab.example.org", "gate.example.org", Pointing.YES),
        ("elsewhere.example.org", "gate.example.org", Pointing.NO),
        ("nobody.example.org", "203.0.113.7", Pointing.NO),
        ("lab.example.org", "", Pointing.UNKNOWN),
        ("lab.example.org", "nobody.example.org", Pointing.UNKNOWN),
    ],
)
async def test_where_a_domain_points(domain: str, public: str, verdict: Pointing) -> None:
    """Compared with the platform's address, or with the addresses of its name."""
    async with asked() as names:
        assert (await names.sight(domain, public)).pointing is verdict


async def test_a_name_service_that_is_silent_is_no_empty_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A record is missing only when somebody says so; a look at the whole says unknown."""
    monkeypatch.setattr(resolver, "DEADLINE_S", 0.2)
    async with asked(mute=True) as names:
        with pytest.raises(TimeoutError):
            await names.texts("_starlight.lab.example.org")
        sight = await names.sight("lab.example.org", "203.0.113.7")
    assert (sight.texts, sight.addresses, sight.pointing) == (frozenset(), (), Pointing.UNKNOWN)
