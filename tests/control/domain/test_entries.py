"""Entry specs: every wrong field is named, and what a job may not repeat is found."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from control.domain.entries import (
    Doors,
    EntrySpec,
    Taken,
    clash,
    parse_spec,
    port_variable,
    speaks_tls,
    ssh_default,
    url_of,
    wants_ssh_default,
)
from control.domain.errors import Code, ProblemError
from gateway.contract.routes import AppProtocol, Level, PortKind, Protocol, Service

WEB = {"name": "web", "protocol": "http", "level": "private", "target_port": 80}


def test_full_spec_is_read() -> None:
    """Every field that is built, and fields for later that are empty."""
    plain = WEB | {
        "port": "random",
        "service": "port",
        "app_protocol": "h2c",
        "domain": None,
        "cors_origins": ["https://a.example"],
    }
    assert parse_spec(plain) == EntrySpec(
        "web", Protocol.HTTP, Level.PRIVATE, 80, PortKind.RANDOM, Service.PORT, AppProtocol.H2C, ("https://a.example",)
    )


def test_auto_port_and_terminal_have_no_number_yet() -> None:
    """`auto` is picked when the entry is stored; a terminal has no port at all."""
    assert parse_spec(WEB | {"target_port": "auto"}).target_port is None
    terminal = {"name": "t", "protocol": "https", "level": "login", "service": "terminal"}
    assert parse_spec(terminal).service is Service.TERMINAL


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"name": None}, "name"),
        ({"name": 7}, "name"),
        ({"name": ""}, "name"),
        ({"name": "-x"}, "name"),
        ({"name": "x "}, "name"),
        ({"name": "a\n"}, "name"),
        ({"name": "x" * 2_000_000}, "name"),
        ({"protocol": None}, "protocol"),
        ({"protocol": "gopher"}, "protocol"),
        ({"protocol": ["http"]}, "protocol"),
        ({"level": "secret"}, "level"),
        ({"port": "some"}, "port"),
        ({"service": "x"}, "service"),
        ({"app_protocol": "x"}, "app_protocol"),
        ({"target_port": None}, "target_port"),
        ({"target_port": 0}, "target_port"),
        ({"target_port": 65536}, "target_port"),
        ({"target_port": True}, "target_port"),
        ({"target_port": "80"}, "target_port"),
        ({"target_port": 1.5}, "target_port"),
        ({"service": "terminal"}, "target_port"),
        ({"service": "terminal", "target_port": None, "level": "open"}, "level"),
        ({"service": "terminal", "target_port": None, "protocol": "ssh"}, "service"),
        ({"protocol": "ssh", "app_protocol": "h2c"}, "app_protocol"),
        ({"acme": True}, "domain"),
        ({"node": "n1"}, "node"),
        ({"app_pin": "0" * 64}, "app_pin"),
        ({"app_protocol": "https", "app_pin": "0"}, "app_pin"),
        ({"limits": {"connections": 0}}, "limits.connections"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_wrong_field_is_named(change: dict[str, Any], field: str) -> None:
    """One faulty field, one sentence at its path."""
    with pytest.raises(ProblemError) as caught:
        parse_spec(WEB | change, "entries[3].")
    assert caught.value.problem.code is Code.INVALID_INPUT
    assert [fault.name for fault in caught.value.problem.fields] == [f"entries[3].{field}"]


def test_all_faults_are_named_together() -> None:
    """A person mends everything at once."""
    with pytest.raises(ProblemError) as caught:
        parse_spec({"level": "x", "target_port": 0})
    assert {fault.name for fault in caught.value.problem.fields} == {"name", "protocol", "level", "target_port"}


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_anything_else_is_a_problem_not_a_crash(plain: Any) -> None:
    """JSON of any shape."""
    with pytest.raises(ProblemError):
        parse_spec(plain, "entries[0].")


def test_repeated_name_and_port_clash() -> None:
    """The Problem names the other entry."""
    taken = [Taken("web", 80), Taken("term", None)]
    same_name = clash(EntrySpec("web", Protocol.HTTP, Level.OPEN, 81), taken)
    same_port = clash(EntrySpec("other", Protocol.HTTP, Level.OPEN, 80), taken)
    assert same_name is not None
    assert same_name.code is Code.ENTRY_NAME_TAKEN
    assert same_port is not None
    assert same_port.params == {"port": 80, "name": "web"}
    assert clash(EntrySpec("other", Protocol.HTTP, Level.OPEN, None), taken) is None


def test_ssh_default_is_wanted_unless_something_stands_in_for_it() -> None:
    """A fixed ssh entry, the name or the port 22."""
    assert wants_ssh_default([EntrySpec("web", Protocol.HTTP, Level.OPEN, 80)])
    assert wants_ssh_default([EntrySpec("s", Protocol.SSH, Level.PRIVATE, 2222, PortKind.RANDOM)])
    assert not wants_ssh_default([ssh_default()])
    assert not wants_ssh_default([EntrySpec("s", Protocol.SSH, Level.PRIVATE, 2222)])
    assert not wants_ssh_default([EntrySpec("s", Protocol.TCP, Level.OPEN, 22, PortKind.RANDOM)])
    assert not wants_ssh_default([EntrySpec("ssh-default", Protocol.HTTP, Level.OPEN, 80)])


def test_port_variable_is_a_variable_name() -> None:
    """The entry's name in capitals, everything else an underscore."""
    assert port_variable("my-web.1") == "STARLIGHT_PORT_MY_WEB_1"


@pytest.mark.parametrize(
    ("protocol", "port", "url"),
    [
        (Protocol.HTTP, 8888, "http://h:8888/"),
        (Protocol.HTTP, 80, "http://h/"),
        (Protocol.HTTPS, 443, "https://h/"),
        (Protocol.HTTPS, 8443, "https://h:8443/"),
        (Protocol.TCP, 40000, "tcp://h:40000"),
        (Protocol.SSH, 8022, None),
    ],
)
def test_url_leaves_out_the_implied_port(protocol: Protocol, port: int, url: str | None) -> None:
    """What a browser shows."""
    assert url_of(protocol, "h", port) == url


def test_host_is_the_label_below_the_base_domain() -> None:
    """One name an entry."""
    assert Doors("proxy.localhost", {}, range(0)).host_of("ab") == "ab.proxy.localhost"


@pytest.mark.parametrize("level", Level)
@pytest.mark.parametrize("kind", PortKind)
def test_a_tcp_entry_is_plain_only_when_open_on_a_port_of_its_own(level: Level, kind: PortKind) -> None:
    """Everywhere else TLS tells which entry is meant, and who comes."""
    assert speaks_tls(Protocol.TCP, level, kind) is not (level is Level.OPEN and kind is PortKind.RANDOM)
    assert not speaks_tls(Protocol.HTTP, level, kind)
    assert url_of(Protocol.TCP, "h", 8999, tls=True) == "tls://h:8999"


@pytest.mark.parametrize("level", Level)
@pytest.mark.parametrize("port", ["fixed", "random"])
def test_a_tcp_entry_may_have_any_level_on_any_port(level: Level, port: str) -> None:
    """As every other protocol."""
    spec = parse_spec({"name": "db", "protocol": "tcp", "level": level.value, "port": port, "target_port": 5432})
    assert (spec.level, spec.port_kind.value) == (level, port)
