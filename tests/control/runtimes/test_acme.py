"""An authority as the adapter shows it: Let's Encrypt's test authority, over its real protocol."""

from __future__ import annotations

import asyncio
import http.server
import ssl
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from certs.acme import dns_record, new_key, received, request_pem
from control.clock import utcnow
from control.domain.acme import Method
from control.runtimes import acme
from control.runtimes.acme import Account, AcmeAuthority, OrderSeen, RefusedError
from tests.pebble import Pebble, pebble

NAME = "lab.example.org"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pebble]:
    """A running authority that looks at ports where nobody listens."""
    with pebble(tmp_path_factory.mktemp("pebble"), http_port=9, tls_port=9) as running:
        yield running


@pytest.fixture
async def asked(authority: Pebble) -> AsyncIterator[AcmeAuthority]:
    """The adapter."""
    adapter = AcmeAuthority(authority.directory, "ops@example.org", authority.bundle, "test/1")
    yield adapter
    adapter.close()


async def until(adapter: AcmeAuthority, account: Account, url: str, *ends: str) -> OrderSeen:
    """The order once it is in one of these states."""
    async with asyncio.timeout(20):
        while (seen := await adapter.look(account, url)).status not in ends:
            await asyncio.sleep(0.05)
    return seen


async def test_from_an_account_to_a_certificate(asked: AcmeAuthority, authority: Pebble) -> None:
    """Each step from what a row holds: key and URLs. Registering twice gives the same account."""
    account = Account(key := new_key(), await asked.register(key))
    assert await asked.register(key) == account.url
    url = await asked.order(account, NAME)
    seen = await asked.look(account, url)
    assert (seen.status, set(seen.offers)) == ("pending", set(Method))
    offer = seen.offers[Method.DNS]
    authority.set_record(*dns_record(NAME, offer.authorization))
    await asked.answer(account, offer.url)
    ready = await until(asked, account, url, "ready")
    await asked.finalize(account, ready.finalize, request_pem(made := new_key(), NAME))
    valid = await until(asked, account, url, "valid")
    assert valid.certificate is not None
    chain = await asked.fetch(account, valid.certificate)
    assert received(chain, made, NAME, now=utcnow()).facts.names == (NAME,)
    wanted, again = await asked.renewal(chain)
    assert wanted is None  # this authority has no word on it
    assert again > utcnow().timestamp()


async def test_a_refusal_is_told_in_the_authoritys_words(asked: AcmeAuthority, authority: Pebble) -> None:
    """What it found, of which kind; an order that failed says so with its challenge."""
    account = Account(key := new_key(), await asked.register(key))
    url = await asked.order(account, "bad.example.org")
    authority.set_record("_acme-challenge.bad.example.org", "nonsense")
    await asked.answer(account, (await asked.look(account, url)).offers[Method.DNS].url)
    seen = await until(asked, account, url, "invalid")
    complaint = seen.offers[Method.DNS].complaint
    assert complaint is not None
    assert (complaint.kind, complaint.away) == ("unauthorized", False)
    assert "Correct value not found" in complaint.detail


async def test_who_is_unknown_is_told_apart(asked: AcmeAuthority) -> None:
    """A foreign account, an order that is not there, a name that is never signed: refused, not away."""
    account = Account(key := new_key(), await asked.register(key))
    for strange, kind in (
        (asked.order(Account(key, f"{account.url}0"), NAME), "accountDoesNotExist"),
        (asked.look(account, f"{await asked.order(account, NAME)}0"), "malformedAnswer"),
        (asked.order(account, "*.example.org."), "malformed"),
    ):
        with pytest.raises(RefusedError) as refused:
            await strange
        assert (refused.value.complaint.kind, refused.value.complaint.away) == (kind, False)


async def test_an_authority_that_is_away_or_not_trusted_refuses_nothing(authority: Pebble, tmp_path: Path) -> None:
    """Nobody there, somebody else's certificate, an answer that is none: to be asked again soon."""
    foreign = tmp_path / "foreign.pem"
    foreign.write_text(authority.root())
    for url, bundle in (
        ("https://127.0.0.1:1/dir", authority.bundle),
        (authority.directory, foreign),
        (authority.directory, tmp_path / "absent.pem"),
        (f"https://localhost:{authority.ports[1]}/roots/0", authority.bundle),
    ):
        adapter = AcmeAuthority(url, "", bundle, "test/1")
        with pytest.raises(RefusedError) as refused:
            await adapter.register(new_key())
        assert refused.value.complaint.away, refused.value
        adapter.close()


@contextmanager
def answering(authority: Pebble, answer: bytes, *fields: tuple[str, str], status: int = 200) -> Iterator[str]:
    """A server with the authority's name that gives the same answer to everything; its URL."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response_only(status)
            for name, value in fields:
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.replace(b"HERE", f"https://localhost:{server.server_port}".encode()))

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.folder / "cert.pem", authority.folder / "key.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.daemon_threads = False  # server_close waits for them, so that no socket outlives the test
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"https://localhost:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


async def test_the_authoritys_word_on_renewal_is_taken(authority: Pebble) -> None:
    """RFC 9773: a moment in the window it names, and when to ask again."""
    window = b'{"start": "2031-01-01T00:00:00Z", "end": "2031-01-02T00:00:00Z"}'
    body = b'{"renewalInfo": "HERE/info", "suggestedWindow": ' + window + b"}"
    chain = (authority.folder / "cert.pem").read_text()
    with answering(authority, body, ("Content-Type", "application/json"), ("Retry-After", "7200")) as url:
        adapter = AcmeAuthority(url, "", authority.bundle, "test/1")
        wanted, again = await adapter.renewal(chain)
        adapter.close()
    assert wanted is not None
    assert 1_924_992_000.0 <= wanted <= 1_925_078_400.0
    assert again == pytest.approx(utcnow().timestamp() + 7200, abs=60)


@pytest.mark.parametrize(
    ("told", "after_s"), [("120", 120.0), ("Tue, 01 Dec 2026 00:05:00 GMT", 300.0), ("soon", None)]
)
async def test_when_to_ask_again_is_heard(authority: Pebble, told: str, after_s: float | None) -> None:
    """Retry-After in both of its forms, with a refusal or a fault of the authority's own."""
    body = b'{"type": "urn:ietf:params:acme:error:rateLimited", "detail": "too many", "subproblems": []}'
    fields = (("Content-Type", "application/problem+json"), ("Retry-After", told))
    with answering(authority, body, *fields, ("Date", "Tue, 01 Dec 2026 00:00:00 GMT"), status=503) as url:
        adapter = AcmeAuthority(url, "", authority.bundle, "test/1")
        with pytest.raises(RefusedError) as refused:
            await adapter.register(new_key())
        adapter.close()
    assert (refused.value.complaint.kind, refused.value.complaint.away) == ("rateLimited", True)
    assert refused.value.retry_after_s == after_s


async def test_an_answer_has_a_size_and_a_question_a_deadline(
    authority: Pebble, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An authority that talks for ever holds nobody up for longer."""
    with answering(authority, b"x" * 600_000) as url:
        adapter = AcmeAuthority(url, "", authority.bundle, "test/1")
        with pytest.raises(RefusedError, match="too long"):
            await adapter.register(new_key())
        adapter.close()
    adapter = AcmeAuthority(authority.directory, "", authority.bundle, "test/1")
    monkeypatch.setattr(acme, "CALL_S", 0.0)
    with pytest.raises(RefusedError, match="in time"):
        await adapter.register(new_key())
    adapter._threads.shutdown(wait=True)
