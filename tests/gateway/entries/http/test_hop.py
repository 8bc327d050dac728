"""The browser's way to the console and back, and every way to misuse it."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from gateway.contract.feed import Question
from gateway.contract.people import Session
from gateway.core.tickets import Purpose
from tests.gateway import world
from tests.gateway.entries.http.house import House, Peer, open_house, visit
from tests.gateway.entries.http.test_conversation import PAGE
from tests.gateway.entries.http.test_passage import echo_heads, get

GOOD = {"ok": True, "user_id": 1, "session_id": "s1"}


@dataclass
class Started:
    """A hop that has begun: what the browser keeps, and what the console was told."""

    state: str
    challenge: str
    cookie: str


async def begin(peer: Peer, house: House, path: str = "/lab?x=1", more: str = "") -> Started:
    """Opens a page without a ticket."""
    await peer.send(get(house, path, PAGE + more))
    status, head, _ = await peer.response()
    assert status == 303
    fields = head.decode().split("\r\n")
    url = urlsplit(next(line for line in fields if line.startswith("Location: ")).removeprefix("Location: "))
    query = parse_qs(url.query)
    assert (url.scheme, url.netloc, url.path) == ("http", "127.0.0.1:8080", "/hop")
    assert query["entry"] == [house.entry.label]
    cookie = next(line for line in fields if line.startswith("Set-Cookie: ")).removeprefix("Set-Cookie: ")
    assert cookie.endswith("; Path=/; Max-Age=600; HttpOnly; SameSite=Lax")
    return Started(query["state"][0], query["challenge"][0], cookie.partition(";")[0])


async def exchange(peer: Peer, house: House, body: object, more: str) -> tuple[int, bytes, dict[str, str]]:
    """Posts what the callback page posts."""
    data = json.dumps(body)
    await peer.send(
        f"POST /.starlight/exchange HTTP/1.1\nHost: {house.host}\nOrigin: http://{house.host}\n"
        f"Content-Type: application/json\nContent-Length: {len(data)}\n{more}\n{data}"
    )
    status, head, answer = await peer.response()
    return status, head, json.loads(answer)


async def test_there_and_back(tmp_path: Path) -> None:
    """The code and this browser's secret become a cookie that opens the entry, and the path is the one asked for."""
    async with open_house(tmp_path, echo_heads) as house, visit(house) as peer:
        house.answers[Question.EXCHANGE] = GOOD
        started = await begin(peer, house)
        await peer.send(get(house, "/.starlight/callback", PAGE))
        status, head, page = await peer.response()
        assert status == 200
        assert b"script-src 'nonce-" in head
        assert b"Cache-Control: no-store\r\n" in head
        assert b"Referrer-Policy: no-referrer\r\n" in head
        assert b"/.starlight/exchange" in page
        body = {"state": started.state, "code": "c0de"}
        status, head, said = await exchange(peer, house, body, f"Cookie: a=1; {started.cookie}\n")
        assert (status, said) == (200, {"path": "/lab?x=1"})
        asked = house.questions[0]
        assert (asked["entry_id"], asked["code"], asked["challenge"]) == (17, "c0de", started.challenge)
        cookies = [line for line in head.decode().split("\r\n") if line.startswith("Set-Cookie: ")]
        assert f"starlight_state_{started.state}=; Path=/; Max-Age=0" in cookies[1]
        ticket = cookies[0].removeprefix("Set-Cookie: ").partition(";")[0]
        await peer.send(get(house, more=f"Cookie: {ticket}\n"))
        status, _, body_seen = await peer.response()
        assert status == 200
        assert b"Cookie" not in body_seen


async def test_the_challenge_is_the_secrets_hash(tmp_path: Path) -> None:
    """Control gets the hash first and that of the exchange later: the secret stays between browser and gateway."""
    async with open_house(tmp_path, echo_heads) as house, visit(house) as peer:
        started = await begin(peer, house)
        sealed = started.cookie.partition("=")[2]
        payload = house.gate.open_sealed(Purpose.HOP_STATE, sealed)
        assert payload is not None
        digest = hashlib.sha256(payload["secret"].encode()).digest()
        assert base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == started.challenge


@pytest.mark.parametrize("fault", ["no cookie", "other state", "old", "other entry", "no json", "no code", "long"])
async def test_codes_without_their_browser_are_worth_nothing(tmp_path: Path, fault: str) -> None:
    """Login CSRF and stolen codes: control is not even asked."""
    async with open_house(tmp_path, echo_heads) as house, visit(house) as peer:
        house.answers[Question.EXCHANGE] = GOOD
        started = await begin(peer, house)
        body: object = {"state": started.state, "code": "c"}
        cookie = started.cookie
        sealed = {"secret": "x", "path": "/", "entry_id": 17, "expires": world.NOW + 1}
        if fault == "no cookie":
            cookie = "a=1"
        elif fault == "other state":
            body = {"state": "other", "code": "c"}
        elif fault == "old":
            cookie = f"starlight_state_{started.state}=" + str(
                house.gate.seal(Purpose.HOP_STATE, sealed | {"expires": world.NOW})
            )
        elif fault == "other entry":
            cookie = f"starlight_state_{started.state}=" + str(
                house.gate.seal(Purpose.HOP_STATE, sealed | {"entry_id": 18})
            )
        elif fault == "no json":
            body = "text"
        elif fault == "no code":
            body = {"state": started.state}
        else:
            body = {"state": started.state, "code": "c" * 300}
        status, _, said = await exchange(peer, house, body, f"Cookie: {cookie}\n")
        assert (status, said["code"]) == (401, "sign_in")
        assert house.questions == []


@pytest.mark.parametrize(
    ("answer", "status", "code"),
    [
        (None, 503, "control_away"),
        ({"ok": False, "code": "sign_in"}, 401, "sign_in"),
        ({"ok": False, "code": "entry_forbidden"}, 403, "entry_forbidden"),
        ({"ok": True, "user_id": 1, "session_id": "unheard of"}, 401, "sign_in"),
    ],
)
async def test_controls_no_is_told(
    tmp_path: Path, answer: dict[str, object] | None, status: int, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Silence is no; a session that the feed never brings is no either."""
    monkeypatch.setattr("gateway.entries.http.hop._FEED_TRIES", 2)
    async with open_house(tmp_path, echo_heads) as house, visit(house) as peer:
        house.answers[Question.EXCHANGE] = answer
        started = await begin(peer, house)
        body = {"state": started.state, "code": "c"}
        got, _, said = await exchange(peer, house, body, f"Cookie: {started.cookie}\n")
        assert (got, said["code"]) == (status, code)


async def test_a_session_that_the_feed_brings_a_moment_later(tmp_path: Path) -> None:
    """Control answers on one line and the record comes on another."""
    async with open_house(tmp_path, echo_heads) as house, visit(house) as peer:
        started = await begin(peer, house)
        house.answers[Question.EXCHANGE] = GOOD | {"session_id": "s9"}
        data = json.dumps({"state": started.state, "code": "c"})
        await peer.send(
            f"POST /.starlight/exchange HTTP/1.1\nHost: {house.host}\nContent-Type: application/json\n"
            f"Content-Length: {len(data)}\nCookie: {started.cookie}\n\n{data}"
        )
        while not house.questions:
            await asyncio.sleep(0.01)
        house.change(Session("s9", 1, "hash", world.NOW + 10))
        assert (await peer.response())[0] == 200


@pytest.mark.parametrize(
    ("method", "fields", "status"),
    [
        ("GET", "", 400),
        ("POST", "Content-Type: text/plain\nContent-Length: 0\n", 400),
        ("POST", "Content-Type: application/json\nContent-Length: 2\nOrigin: http://evil.example\n", 403),
        ("POST", "Content-Type: application/json\nContent-Length: 5000\n", 413),
        ("POST", "Content-Type: application/json\nTransfer-Encoding: chunked\n", 400),
    ],
)
async def test_the_exchange_takes_only_its_own_pages_post(
    tmp_path: Path, method: str, fields: str, status: int
) -> None:
    """Other methods, types, origins and sizes are refused."""
    async with open_house(tmp_path, echo_heads) as house, visit(house) as peer:
        await peer.send(f"{method} /.starlight/exchange HTTP/1.1\nHost: {house.host}\n{fields}\n" + "x\n" * 2500)
        assert (await peer.response())[0] == status


@pytest.mark.parametrize(
    ("path", "back"),
    [
        ("//evil.example/x", "/"),
        ("/\\evil.example", "/"),
        ("/a//b?next=//evil", "/a//b?next=//evil"),
        ("/" + "a" * 2000, "/"),
        ("/\xe4", "/"),
    ],
)
async def test_the_way_back_is_on_this_host(tmp_path: Path, path: str, back: str) -> None:
    """No address that a browser would read as another host's is gone on to."""
    async with open_house(tmp_path, echo_heads) as house, visit(house) as peer:
        house.answers[Question.EXCHANGE] = GOOD
        started = await begin(peer, house, path)
        body = {"state": started.state, "code": "c"}
        _, _, said = await exchange(peer, house, body, f"Cookie: {started.cookie}\n")
        assert said == {"path": back}


async def test_unfinished_hops_do_not_pile_up(tmp_path: Path) -> None:
    """The oldest state cookies are taken back."""
    async with open_house(tmp_path, echo_heads) as house, visit(house) as peer:
        old = "; ".join(f"starlight_state_{number}=x" for number in range(5))
        await peer.send(get(house, more=PAGE + f"Cookie: {old}\n"))
        _, head, _ = await peer.response()
        assert head.count(b"Max-Age=0") == 2
        assert b"starlight_state_0=; " in head


@pytest.mark.parametrize("mode", ["cors", "no-cors", "websocket"])
async def test_only_navigations_are_redirected(tmp_path: Path, mode: str) -> None:
    """Fetches, scripts and sockets get 401 (never a redirect loop)."""
    async with open_house(tmp_path, echo_heads) as house, visit(house) as peer:
        await peer.send(get(house, more=f"Accept: text/html\nSec-Fetch-Mode: {mode}\n"))
        status, head, body = await peer.response()
        assert status == 401
        assert b"Content-Type: application/problem+json\r\n" in head
        assert json.loads(body)["login_url"] == f"http://{house.host}/"


async def test_without_a_sealing_secret_nobody_is_sent_away(tmp_path: Path) -> None:
    """Control has not given one yet: 503."""
    async with open_house(tmp_path, echo_heads) as house, visit(house) as peer:
        house.remove(world.SECRET)
        await peer.send(get(house, more=PAGE))
        assert (await peer.response())[0] == 503
