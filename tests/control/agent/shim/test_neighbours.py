"""What is forbidden is read from the machine as it is."""

from __future__ import annotations

import ipaddress
import select

from control.agent.shim.neighbours import ALWAYS, change_socket, forbidden, own_addresses


def test_every_own_address_is_found() -> None:
    """Loopback is on every machine, of both families; whatever else `hostname -I` would tell is there as well."""
    found = own_addresses()
    assert ipaddress.ip_address("127.0.0.1") in found
    assert len(found) == len({str(address) for address in found})


def test_own_addresses_metadata_and_link_local_are_forbidden() -> None:
    """Loopback is not: inside a namespace it is the job's own."""
    networks = forbidden()
    for address in own_addresses():
        inside = any(address in network for network in networks if network.version == address.version)
        assert inside is not address.is_loopback, address
    for text in ("169.254.169.254", "fd00:ec2::254", "100.100.100.200", "fe80::1"):
        address = ipaddress.ip_address(text)
        assert any(address in network for network in networks if network.version == address.version)


def test_the_world_is_not_forbidden() -> None:
    """No network is so large that outbound access would mean nothing."""
    assert all(network.prefixlen >= 8 for network in forbidden())
    assert all(network.prefixlen >= 8 for network in ALWAYS)


def test_nothing_changed_is_silence() -> None:
    """The socket speaks only when an address or a route changes."""
    with change_socket() as changes:
        assert select.select([changes], [], [], 0.05)[0] == []
