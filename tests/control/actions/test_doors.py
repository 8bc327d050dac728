"""Where people knock."""

from __future__ import annotations

import pytest

from control.actions.doors import doors_of, ssh_host
from control.config import read_settings
from gateway.contract.routes import Protocol


def test_doors_are_as_the_settings_say() -> None:
    """Ports by protocol, and names below the base domain."""
    doors = doors_of(read_settings({"STARLIGHT_HTTP_PORT": "9000", "STARLIGHT_BASE_DOMAIN": "p.example.org"}))
    assert doors.fixed[Protocol.HTTP] == 9000
    assert doors.fixed[Protocol.SSH] == 8022
    assert doors.host_of("abc") == "abc.p.example.org"
    assert (doors.random_ports.start, doors.random_ports.stop) == (32768, 65536)


@pytest.mark.parametrize(
    ("console_url", "host"),
    [
        ("https://console.example.org", "console.example.org"),
        ("http://127.0.0.1:8080", "127.0.0.1"),
        ("http://localhost:8080", "127.0.0.1"),
        ("https://console.localhost:8443", "127.0.0.1"),
    ],
)
def test_ssh_is_reached_by_a_name_that_programs_resolve(console_url: str, host: str) -> None:
    """Browsers know what lies below .localhost; ssh does not."""
    assert ssh_host(read_settings({"STARLIGHT_CONSOLE_URL": console_url})) == host
