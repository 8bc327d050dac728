"""From text to value. tests/control/test_config.py shows each setting; here are the edges."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from control import setting_values as values
from control.setting_values import NameServer, PortRange


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (values.line, " two words ", "two words"),
        (values.address, "::", "::"),
        (values.port, "65535", 65535),
        (values.seconds, "300.0", 300.0),
        (values.port_range, " 1 - 65535 ", PortRange(1, 65535)),
        (values.domain, "a" * 63 + ".test", "a" * 63 + ".test"),
        (values.origin, "http://[::1]:8080/", "http://[::1]:8080"),
        (values.origin, "HTTPS://Desk.Example.com:443", "https://desk.example.com"),
        (values.password, "x" * 1024, "x" * 1024),
        (values.database, "sqlite:////srv/x.db", "sqlite+aiosqlite:////srv/x.db"),
        (values.switch, "Yes", True),
        (values.secure_url, "https://acme.test:14000/dir", "https://acme.test:14000/dir"),
        (values.mail_address, " ops@example.org ", "ops@example.org"),
        (values.name_servers, "::1", (NameServer("::1", 53),)),
        (values.name_servers, "127.0.0.1:5353,[::1]:54", (NameServer("127.0.0.1", 5353), NameServer("::1", 54))),
    ],
)
def test_the_edges_that_are_in(read: Callable[[str], object], text: str, value: object) -> None:
    """What is just right is read."""
    assert read(text) == value


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (values.line, "two\nlines"),
        (values.port, "-1"),
        (values.port, "1e3"),
        (values.port, "٨"),
        (values.port, "9" * 5000),
        (values.seconds, "0"),
        (values.port_range, "0-10"),
        (values.domain, "a" * 64 + ".test"),
        (values.domain, "-a.test"),
        (values.domain, "中文.test"),
        (values.origin, "https://user@desk.example.com"),
        (values.origin, "https://"),
        (values.origin, "https://desk/?q"),
        (values.password, "x" * 1025),
        (values.database, "starlight.db"),
        (values.switch, "2"),
        (values.secure_url, "http://acme.test/dir"),
        (values.secure_url, "https://me@acme.test/dir"),
        (values.mail_address, "a@b, c@d"),
        (values.name_servers, "127.0.0.1:0"),
        (values.name_servers, "[::1]"),
        (values.name_servers, "127.0.0.1,"),
    ],
)
def test_the_edges_that_are_out(read: Callable[[str], object], text: str) -> None:
    """What is just wrong is refused with a sentence."""
    with pytest.raises(ValueError, match=r"\w+ \w+"):
        read(text)


def test_a_range_knows_its_ports() -> None:
    """Both ends are included, and it prints as it is read."""
    ports = PortRange(40000, 40002)
    assert [port for port in range(39999, 40005) if port in ports] == [40000, 40001, 40002]
    assert values.port_range(str(ports)) == ports
