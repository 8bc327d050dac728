"""A set of records with reverse indexes whose answers do not depend on the order of arrival."""

from __future__ import annotations

from collections.abc import Hashable

import pytest

from gateway.contract.codec import Record
from gateway.contract.people import User
from gateway.contract.routes import Certificate, Entry, Level, PortKind, Protocol
from gateway.core import index as index_module
from gateway.core.index import Index, fixed_ssh
from tests.gateway import world


def test_put_replaces_and_returns_what_was_there() -> None:
    """A record of the same kind and key takes the other's place, names included."""
    index = Index()
    assert index.put(world.user(1, "old")) is None
    assert index.put(world.user(1, "new")) == world.user(1, "old")
    assert index.first(User, "name", "old") is None
    assert index.first(User, "name", "new") == world.user(1, "new")


def test_drop_forgets_the_names_too() -> None:
    """What was taken away is found no longer; taking it away again does no harm."""
    index = Index()
    index.put(world.user(1, "alice"))
    assert index.drop("user", "1") == world.user(1, "alice")
    assert index.drop("user", "1") is None
    assert index.first(User, "name", "alice") is None
    assert list(index.all()) == []


def test_drop_of_an_unknown_kind_is_a_fault() -> None:
    """The kinds are a closed list."""
    with pytest.raises(KeyError):
        Index().drop("planet", "1")


def test_of_two_bearers_the_lowest_id_is_found() -> None:
    """Two entries on one host and port: the answer is the same in whatever order they came."""
    first, second = world.entry(2, host="a.example"), world.entry(11, host="A.example")
    for order in ((first, second), (second, first)):
        index = Index()
        for record in order:
            index.put(record)
        assert index.first(Entry, "name", "a.example") == first
        assert index.many(Entry, "name", "a.example") == [first, second]
        index.drop("entry", "2")
        assert index.first(Entry, "name", "a.example") == second


@pytest.mark.parametrize(
    ("record", "word", "name"),
    [
        (world.user(), "name", "alice"),
        (world.key(), "fingerprint", "SHA256:aaa"),
        (world.session(), "hash", "hash-s1"),
        (world.token(), "hash", "token-12"),
        (world.client(), "fingerprint", "ab" * 32),
        (world.grant(), "user", 2),
        (world.grant(), "pair", (17, 2)),
        (world.job(), "name", "jupyter"),
        (world.job(), "owner", 1),
        (world.entry(), "label", f"{17:032x}"),
        (world.entry(host="A.example"), "name", "a.example"),
        (world.entry(protocol=Protocol.TCP, port=8999, host="a.example"), "name", "a.example"),
    ],
)
def test_each_record_is_found_by_its_names(record: Record, word: str, name: Hashable) -> None:
    """People, credentials, jobs and entries are found by what protocols know of them."""
    index = Index()
    index.put(record)
    assert index.first(type(record), word, name) == record


def test_an_ssh_entry_has_no_host() -> None:
    """ssh tells no name to route by, so that an ssh entry is not found by host name."""
    index = Index()
    index.put(world.entry(1, protocol=Protocol.SSH, host="a.example", port=8022))
    assert index.first(Entry, "name", "a.example") is None
    assert index.names(Entry, "ssh") == ["jupyter-17"]


def test_random_ports_have_a_name() -> None:
    """An entry with a port of its own is found by it."""
    index = Index()
    index.put(world.entry(1, protocol=Protocol.TCP, port_kind=PortKind.RANDOM, port=40000))
    assert index.names(Entry, "port") == [40000]


def test_whole_gives_all_of_a_shape_by_id() -> None:
    """Certificates are listed, and found by their names and as the default, the lowest id first."""
    index = Index()
    b = Certificate("b", ("A.example.", "*.b.example"), "chain", "key")
    a = Certificate("a", ("a.example",), "chain", "key", default=True)
    index.put(b)
    index.put(a)
    assert index.whole(Certificate) == [a, b]
    assert index.first(Certificate, "name", "a.example") == a
    assert index.first(Certificate, "name", "*.b.example") == b
    assert index.first(Certificate, "default", True) == a
    assert index.get(Certificate, "a") == a


def test_fixed_ssh_is_ssh_on_the_common_port() -> None:
    """Only a fixed ssh entry opens its job on the common port."""
    assert fixed_ssh(world.entry(protocol=Protocol.SSH))
    assert not fixed_ssh(world.entry(protocol=Protocol.SSH, port_kind=PortKind.RANDOM))
    assert not fixed_ssh(world.entry(protocol=Protocol.TCP))


def test_a_ground_leads_to_the_record_that_gives_it() -> None:
    """As long as the record is there and gives it."""
    index = Index()
    index.put(world.user(3))
    assert index.giver("user:3") == world.user(3)
    index.put(world.user(3, disabled=True))
    assert index.giver("user:3") is None
    index.put(world.user(3))
    index.drop("user", "3")
    assert index.giver("user:3") is None
    index.put(world.entry(3, level=Level.LOGIN))
    assert index.giver("entry:3:login") == index.giver("entry:3") == world.entry(3, level=Level.LOGIN)
    assert [index.giver(ground) for ground in ("entry:3:open", "entry:3:", "entry:4", "planet:3", "")] == [None] * 5


def test_a_name_that_a_record_bears_twice_is_one_name() -> None:
    """`a.example` and `A.example.` of one certificate come and go together."""
    index = Index()
    index.put(Certificate("a", ("a.example", "A.example."), "chain", "key"))
    assert index.many(Certificate, "name", "a.example") == [
        Certificate("a", ("a.example", "A.example."), "chain", "key")
    ]
    index.drop("certificate", "a")
    assert index.names(Certificate, "name") == []


def test_what_another_set_lacks_is_told() -> None:
    """By kind and key, whatever else the records say."""
    before, after = Index(), Index()
    for record in (world.user(1), world.user(2, "bob"), world.key(9)):
        before.put(record)
    for record in (world.user(1, "renamed"), world.key(9, fingerprint="SHA256:other"), world.user(4, "dora")):
        after.put(record)
    assert list(before.missing_in(after)) == [world.user(2, "bob")]


def test_a_set_crumbles_in_small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the end nothing is left, and no step takes more than a few names."""
    monkeypatch.setattr(index_module, "_CRUMB", 10)
    index = Index()
    for number in range(1, 26):
        index.put(world.entry(number))
    steps = len(list(index.crumble()))
    assert steps == 3 * 3  # records, and two sorts of names
    assert list(index.all()) == []
    assert index.first(Entry, "name", world.entry(1).host) is None
    assert index.giver("entry:1") is None
