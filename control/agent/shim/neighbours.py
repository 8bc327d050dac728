"""What a job must not reach by the side door: the machine itself, its other subnets, link-local, cloud metadata.

Read from the kernel at the moment of asking; the shim asks again when the kernel says that addresses changed.
"""

from __future__ import annotations

import ipaddress
import socket
import struct
from pathlib import Path
from typing import Final

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address

ALWAYS: Final[tuple[Network, ...]] = tuple(
    ipaddress.ip_network(text)
    for text in (
        "0.0.0.0/8",
        "169.254.0.0/16",  # link-local, and most clouds' metadata
        "100.100.100.200/32",  # metadata: Alibaba
        "168.63.129.16/32",  # metadata: Azure
        "192.0.0.192/32",  # metadata: Oracle
        "fe80::/10",
        "fd00:ec2::254/128",  # metadata: Amazon
    )
)
LOOPBACK: Final[tuple[Network, ...]] = (ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1/128"))

_RTM_NEWADDR: Final = 20
_RTM_GETADDR: Final = 22
_NLMSG_ERROR: Final = 2
_NLMSG_DONE: Final = 3
_DUMP_REQUEST: Final = 0x301  # NLM_F_REQUEST | NLM_F_ROOT | NLM_F_MATCH
_IFA_ADDRESS: Final = 1
_IFA_LOCAL: Final = 2
_RTMGRP_ADDRESSES_AND_ROUTES: Final = 0x10 | 0x100 | 0x40 | 0x400
_HEAD: Final = struct.Struct("=IHHII")
_ADDRESS_HEAD: Final = struct.Struct("=BBBBi")
_ATTRIBUTE: Final = struct.Struct("=HH")


def forbidden() -> tuple[Network, ...]:
    """Every network that no job may open a connection to, smallest set, IPv4 first. Loopback is not among them."""
    found: list[Network] = [*ALWAYS, *map(ipaddress.ip_network, own_addresses()), *_side_routes()]
    found = [network for network in found if not network.is_loopback]
    fours = ipaddress.collapse_addresses(network for network in found if isinstance(network, ipaddress.IPv4Network))
    sixes = ipaddress.collapse_addresses(network for network in found if isinstance(network, ipaddress.IPv6Network))
    return (*fours, *sixes)


def own_addresses() -> set[Address]:
    """Every address of this network namespace's interfaces."""
    found: set[Address] = set()
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as kernel:
        kernel.settimeout(5)
        body = _ADDRESS_HEAD.pack(socket.AF_UNSPEC, 0, 0, 0, 0)
        kernel.send(_HEAD.pack(_HEAD.size + len(body), _RTM_GETADDR, _DUMP_REQUEST, 1, 0) + body)
        while True:
            done = _take_addresses(kernel.recv(1 << 18), found)
            if done:
                return found


def change_socket() -> socket.socket:
    """A socket that becomes readable when an address or a route of the machine changes."""
    kernel = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_NONBLOCK, socket.NETLINK_ROUTE)
    kernel.bind((0, _RTMGRP_ADDRESSES_AND_ROUTES))
    return kernel


def _take_addresses(answer: bytes, found: set[Address]) -> bool:
    offset = 0
    while offset + _HEAD.size <= len(answer):
        length, kind, *_ = _HEAD.unpack_from(answer, offset)
        if kind in (_NLMSG_DONE, _NLMSG_ERROR):
            return True
        if kind == _RTM_NEWADDR:
            found |= _addresses(answer[offset + _HEAD.size + _ADDRESS_HEAD.size : offset + length])
        offset += (length + 3) & ~3
    return False


def _addresses(attributes: bytes) -> set[Address]:
    found: set[Address] = set()
    offset = 0
    while offset + _ATTRIBUTE.size <= len(attributes):
        length, kind = _ATTRIBUTE.unpack_from(attributes, offset)
        if length < _ATTRIBUTE.size:
            break
        if kind in (_IFA_ADDRESS, _IFA_LOCAL):
            found.add(ipaddress.ip_address(attributes[offset + _ATTRIBUTE.size : offset + length]))
        offset += (length + 3) & ~3
    return found


def _side_routes() -> list[Network]:
    """Subnets behind virtual interfaces that do not carry the default route: bridges, container networks."""
    routes = [*_routes_v4(), *_routes_v6()]
    outward = {interface for interface, network in routes if network.prefixlen == 0}
    return [
        network
        for interface, network in routes
        if interface not in outward | {"lo"}
        and network.prefixlen > 0
        and not network.is_multicast
        and _is_virtual(interface)
    ]


def _is_virtual(interface: str) -> bool:
    return not Path(f"/sys/class/net/{interface}/device").exists()


def _routes_v4() -> list[tuple[str, Network]]:
    routes: list[tuple[str, Network]] = []
    for line in _lines("/proc/net/route")[1:]:
        interface, destination, *rest = line.split()
        address = ipaddress.IPv4Address(int(destination, 16).to_bytes(4, "little"))
        mask = int(rest[5], 16).bit_count()
        routes.append((interface, ipaddress.ip_network((address, mask), strict=False)))
    return routes


def _routes_v6() -> list[tuple[str, Network]]:
    routes: list[tuple[str, Network]] = []
    for line in _lines("/proc/net/ipv6_route"):
        destination, prefix, *rest = line.split()
        if rest[-1] != "lo":
            address = ipaddress.IPv6Address(bytes.fromhex(destination))
            routes.append((rest[-1], ipaddress.ip_network((address, int(prefix, 16)), strict=False)))
    return routes


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="ascii").splitlines()
    except OSError:
        return []
