"""Credentials become visitors; sealed texts open for their purpose only."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.contract.people import Scope
from gateway.contract.routes import Secret
from gateway.core import tickets
from gateway.core.tickets import ANONYMOUS, Purpose, Via, Visitor, open_sealed, seal
from tests.gateway import world
from tests.gateway.world import NOW, SECRET

NONCE = bytes(range(12))
NEWER = Secret("ticket-2", "ticket", 2, "second secret")
BEARER = "sl_" + "a" * 43
HASH = tickets.token_digest(BEARER)


def test_a_sealed_payload_opens_with_any_secret_in_use() -> None:
    """What an older secret sealed still opens after a newer one came."""
    text = seal(SECRET, Purpose.ENTRY_TICKET, {"user_id": 1}, NONCE)
    assert open_sealed([NEWER, SECRET], Purpose.ENTRY_TICKET, text) == {"user_id": 1}
    assert open_sealed([NEWER], Purpose.ENTRY_TICKET, text) is None


def test_a_sealed_text_is_good_for_one_purpose() -> None:
    """A hop's state never passes as an entry's ticket."""
    text = seal(SECRET, Purpose.HOP_STATE, {"user_id": 1}, NONCE)
    assert open_sealed([SECRET], Purpose.ENTRY_TICKET, text) is None


@pytest.mark.parametrize("text", ["", "a", "!!!!", "é" * 40, "A" * 16, "A" * 400, "A" * 5000, "=" * 40])
def test_what_is_not_ours_does_not_open(text: str) -> None:
    """Garbage of any length is None, never an exception."""
    assert open_sealed([SECRET], Purpose.ENTRY_TICKET, text) is None


@given(st.text(max_size=200))
def test_any_text_is_survived(text: str) -> None:
    """Cookies are written by strangers."""
    assert open_sealed([SECRET], Purpose.ENTRY_TICKET, text) is None


def test_a_changed_byte_spoils_the_seal() -> None:
    """The payload cannot be altered."""
    text = seal(SECRET, Purpose.ENTRY_TICKET, {"user_id": 1}, NONCE)
    for at in (0, 20, len(text) - 1):
        other = "A" if text[at] != "A" else "Q"
        assert open_sealed([SECRET], Purpose.ENTRY_TICKET, text[:at] + other + text[at + 1 :]) is None


def test_a_payload_that_is_no_object_counts_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even what our own key sealed must have the shape of a payload."""
    monkeypatch.setattr("gateway.core.tickets.json.dumps", lambda *_, **__: "[1]")
    text = seal(SECRET, Purpose.ENTRY_TICKET, {}, NONCE)
    assert open_sealed([SECRET], Purpose.ENTRY_TICKET, text) is None


def test_an_entry_ticket_names_its_session() -> None:
    """Made at sign-in, it leads back to the person as long as the session stands."""
    held, entry = world.table(world.session(), world.entry()), world.entry()
    payload = tickets.entry_ticket(world.visitor(), "s1", entry, NOW, 60)
    assert tickets.by_ticket(payload, held, entry, NOW) == Visitor(1, "alice", ("session:s1",), Via.SESSION)


@pytest.mark.parametrize(
    "fault",
    [{"entry_id": 18}, {"user_id": 2}, {"session_id": "gone"}, {"expires": NOW}, {"session_id": None}],
)
def test_a_ticket_of_something_else_is_none(fault: dict[str, object]) -> None:
    """Another entry, another person, an ended session or time: nobody."""
    held, entry = world.table(world.session(), world.entry()), world.entry()
    payload = tickets.entry_ticket(world.visitor(), "s1", entry, NOW, 60) | fault
    assert tickets.by_ticket(payload, held, entry, NOW) is None


def test_a_session_of_somebody_gone_is_none() -> None:
    """The person was deleted, the session's record not yet."""
    held = world.table(world.session(user_id=99))
    assert tickets.by_session(world.session(user_id=99), held) is None


@pytest.mark.parametrize(
    ("scope", "entry_id", "secure", "good"),
    [
        (Scope.ENTRY_CONNECT, None, False, True),
        (Scope.ENTRY_CONNECT, 17, False, True),
        (Scope.ENTRY_CONNECT, 18, True, False),
        (Scope.API, None, True, True),
        (Scope.API, None, False, False),
    ],
)
def test_a_token_is_good_where_its_scope_allows(scope: Scope, entry_id: int | None, secure: bool, good: bool) -> None:
    """An entry token passes its entry anywhere; an API token counts only over TLS or from loopback."""
    held = world.table(world.token(scope=scope, entry_id=entry_id, token_hash=HASH))
    who = tickets.by_bearer(BEARER, held, world.entry(), secure=secure)
    assert who == (Visitor(1, "alice", ("token:12",), Via.TOKEN) if good else None)


def test_a_session_token_counts_only_where_it_cannot_be_read() -> None:
    """A session's bearer token on plain http from afar is not even looked at."""
    held = world.table(world.session(token_hash=HASH))
    assert tickets.by_bearer(BEARER, held, world.entry(), secure=True) == Visitor(
        1, "alice", ("session:s1",), Via.SESSION
    )
    assert tickets.by_bearer(BEARER, held, world.entry(), secure=False) is None
    assert tickets.by_bearer("unknown\udcff", held, world.entry(), secure=True) is None


def test_a_key_admits_the_person_who_named_it() -> None:
    """Two people may have named the same key: it admits each under their own name only."""
    held = world.table(world.key(9, 1), world.key(10, 2))
    assert tickets.by_key("SHA256:aaa", "bob", held) == Visitor(2, "bob", ("key:10",), Via.KEY)
    assert tickets.by_key("SHA256:aaa", "nobody", held) is None
    assert tickets.by_key("SHA256:bbb", "bob", held) is None


def test_a_client_certificate_admits_its_person_to_its_entry() -> None:
    """It names one person and one entry; at another entry, or once withdrawn, it is nothing."""
    held = world.table(world.client(8, 2, fingerprint="ff"))
    assert tickets.by_certificate("ff", held, world.entry(17)) == Visitor(2, "bob", ("client:8",), Via.CERTIFICATE)
    assert tickets.by_certificate("ff", held, world.entry(18)) is None
    assert tickets.by_certificate("00", held, world.entry(17)) is None
    assert tickets.by_certificate("ff", world.table(world.client(8, 99, fingerprint="ff")), world.entry(17)) is None


def test_a_password_names_a_known_person() -> None:
    """Control found the password right; the table must know the person too."""
    assert tickets.by_password(2, world.table()) == Visitor(2, "bob", (), Via.PASSWORD)
    assert tickets.by_password(99, world.table()) is None


def test_nobody_has_no_grounds() -> None:
    """The stranger rests on nothing."""
    assert Visitor(None, "", (), Via.NONE) == ANONYMOUS
