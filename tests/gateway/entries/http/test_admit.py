"""Who passes an entry over http, and what those who do not are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.contract.people import Scope, Token
from gateway.contract.routes import Level, Protocol
from gateway.core.tickets import token_digest
from gateway.entries.http.admit import is_loopback
from tests.gateway import world
from tests.gateway.entries.http.house import BEARER, BOBS_BEARER, open_house, visit
from tests.gateway.entries.http.test_conversation import refused
from tests.gateway.entries.http.test_passage import UPGRADE, echo_heads, get


@pytest.mark.parametrize(
    ("level", "more", "status"),
    [
        (Level.PRIVATE, "", 401),
        (Level.PRIVATE, "Cookie: ALICE\n", 200),
        (Level.PRIVATE, "Cookie: BOB\n", 403),
        (Level.PRIVATE, f"X-Starlight-Token: {BEARER}\n", 200),
        (Level.PRIVATE, f"X-Starlight-Token: {BOBS_BEARER}\n", 403),
        (Level.PRIVATE, "X-Starlight-Token: nonsense\n", 401),
        (Level.PRIVATE, "X-Starlight-Token: connect\n", 200),
        (Level.PRIVATE, "X-Starlight-Token: elsewhere\n", 401),
        (Level.PRIVATE, "Cookie: EXPIRED\n", 401),
        (Level.PRIVATE, "Cookie: ENDED\n", 401),
        (Level.PRIVATE, "Cookie: starlight_entry=junk; ALICE\n", 200),
        (
            Level.PRIVATE,
            "Cookie: starlight_entry=1; starlight_entry=2; starlight_entry=3; starlight_entry=4; ALICE\n",
            401,
        ),
        (Level.PRIVATE, f"Authorization: Bearer {BEARER}\n", 401),
        (Level.LOGIN, "", 401),
        (Level.LOGIN, "Cookie: BOB\n", 200),
        (Level.OPEN, "", 200),
        (Level.OPEN, "X-Starlight-Token: nonsense\n", 200),
        (Level.OPEN, "Cookie: EXPIRED\n", 200),
    ],
)
async def test_levels_and_credentials(tmp_path: Path, level: Level, more: str, status: int) -> None:
    """Private, login and open against cookies and tokens, good and bad."""
    tokens = (
        Token(1, 1, token_digest("connect"), Scope.ENTRY_CONNECT, 17, None),
        Token(2, 1, token_digest("elsewhere"), Scope.ENTRY_CONNECT, 18, None),
    )
    async with open_house(tmp_path, echo_heads, *tokens, level=level) as house, visit(house) as peer:
        more = more.replace("ALICE", house.ticket()).replace("BOB", house.ticket("s2", 2))
        more = more.replace("EXPIRED", house.ticket(expires=world.NOW - 1)).replace("ENDED", house.ticket("gone"))
        await peer.send(get(house, more=more))
        got, head, body = await peer.response()
        assert got == status
        assert b"starlight_entry" not in body
        if status == 401:
            assert b"X-Starlight-Reason: sign_in\r\n" in head
            assert b"WWW-Authenticate: Starlight" in head


async def test_an_unauthorised_upload_gets_no_continue(tmp_path: Path) -> None:
    """401 at once; the body is never asked for (B45)."""
    async with open_house(tmp_path, echo_heads) as house, visit(house) as peer:
        await peer.send(f"PUT / HTTP/1.1\nHost: {house.host}\nExpect: 100-continue\nContent-Length: 9\n\n")
        status, head, _ = await peer.response()
        assert status == 401
        assert b"Connection: close\r\n" in head


@pytest.mark.parametrize(
    ("level", "origin", "more", "method", "status"),
    [
        (Level.PRIVATE, "http://HOST", "", "POST", 200),
        (Level.PRIVATE, "http://evil.proxy.localhost", "", "POST", 403),
        (Level.PRIVATE, "null", "", "DELETE", 403),
        (Level.PRIVATE, "https://HOST", "", "PUT", 403),
        (Level.PRIVATE, "http://evil.example", "", "GET", 200),
        (Level.PRIVATE, "http://evil.example", UPGRADE, "GET", 403),
        (Level.PRIVATE, "http://HOST", UPGRADE, "GET", 200),
        (Level.OPEN, "http://evil.example", "", "POST", 200),
    ],
)
async def test_other_sites_do_not_act_in_a_persons_name(
    tmp_path: Path, level: Level, origin: str, more: str, method: str, status: int
) -> None:
    """Unsafe methods and upgrades by cookie need the entry's own Origin; an open entry treats them as anybody."""
    async with open_house(tmp_path, echo_heads, level=level) as house, visit(house) as peer:
        fields = f"Cookie: {house.ticket()}\nOrigin: {origin.replace('HOST', house.host)}\n{more}"
        await peer.send(get(house, more=fields).replace("GET", method, 1))
        got, head, _ = await peer.response()
        assert got == status
        assert (b"X-Starlight-Reason: cross_origin" in head) == (status == 403)


async def test_a_token_needs_no_origin(tmp_path: Path) -> None:
    """Programs are not browsers: what they send, they mean."""
    async with open_house(tmp_path, echo_heads) as house, visit(house) as peer:
        fields = f"X-Starlight-Token: {BEARER}\nOrigin: http://evil.example\nContent-Length: 0\n"
        await peer.send(get(house, more=fields).replace("GET", "POST", 1))
        assert (await peer.response())[0] == 200


async def test_upgrades_are_refused_not_redirected(tmp_path: Path) -> None:
    """A WebSocket without a session is 401 and told where to sign in (B18)."""
    async with open_house(tmp_path, echo_heads) as house, visit(house) as peer:
        status, _, problem = await refused(peer, get(house, more=UPGRADE + "Accept: text/html\n"))
        assert status == 401
        assert problem["login_url"] == f"http://{house.host}/"


async def test_the_port_must_be_the_entrys(tmp_path: Path) -> None:
    """An entry of another listener is unknown here; the port in Host is not looked at."""
    elsewhere = world.entry(18, level=Level.OPEN, port=8889)
    secure = world.entry(19, level=Level.OPEN, protocol=Protocol.HTTPS, port=1)
    async with open_house(tmp_path, echo_heads, elsewhere, secure, level=Level.OPEN) as house, visit(house) as peer:
        for other in (elsewhere, secure):
            status, why, _ = await refused(peer, f"GET / HTTP/1.1\nHost: {other.host}:{house.port}\n\n")
            assert (status, why) == (404, "unknown_host")
        await peer.send(f"GET / HTTP/1.1\nHost: {house.entry.host.upper()}:9999\n\n")
        assert (await peer.response())[0] == 200


def test_loopback_addresses() -> None:
    """Of either family, and nothing else."""
    assert is_loopback("127.0.0.9")
    assert is_loopback("::1")
    assert not is_loopback("192.0.2.1")
    assert not is_loopback("")
