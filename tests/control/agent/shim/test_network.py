"""The job's network namespace and its output filter."""

from __future__ import annotations

import ipaddress
import os
import subprocess
import sys
from pathlib import Path

import pytest

from control.agent.shim.network import DNS_FORWARDER, filter_rules, find, resolver_file, run_tool

NETWORKS = (
    ipaddress.ip_network("10.1.0.0/16"),
    ipaddress.ip_network("192.0.2.2/32"),
    ipaddress.ip_network("fe80::/10"),
)


def test_the_filter_names_every_network_and_lets_loopback_and_dns_pass() -> None:
    """The forwarder is link-local, so its rule stands before the one that refuses link-local."""
    lines = [line.strip() for line in filter_rules(NETWORKS).splitlines()]
    assert "ip daddr { 10.1.0.0/16, 192.0.2.2/32 } reject" in lines
    assert "ip6 daddr { fe80::/10 } reject" in lines
    dns = f"ip daddr {DNS_FORWARDER} meta l4proto {{ tcp, udp }} th dport 53 accept"
    assert lines.index('oifname "lo" accept') < lines.index(dns) < lines.index("ip6 daddr { fe80::/10 } reject")


def test_no_network_is_no_rule() -> None:
    """nft refuses an empty set."""
    assert "daddr { }" not in filter_rules(())


@pytest.mark.parametrize("networks", [NETWORKS, ()])
def test_nft_takes_the_filter(networks: tuple[ipaddress.IPv4Network, ...]) -> None:
    """Twice in a row: the second takes the first one's place."""
    rules = filter_rules(networks)
    done = subprocess.run(
        ["unshare", "-Urn", find("nft"), "-f", "-"], input=rules + rules, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_new_namespace_has_loopback_and_free_low_ports() -> None:
    """As a normal user: port 80 can be bound and reached."""
    script = """
import os, socket
from control.agent.shim.network import enter_new
enter_new(os.getuid(), os.getgid(), as_root=False)
with socket.create_server(("127.0.0.1", 80)) as listener, socket.create_connection(("127.0.0.1", 80), timeout=5):
    print("reached", os.getuid())
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, **_as_a_user())
    assert done.stdout.split() == ["reached", str(_as_a_user().get("user", os.getuid()))], done.stderr


def _as_a_user() -> dict[str, int]:
    return {"user": 61234, "group": 61234} if os.geteuid() == 0 else {}


def test_the_resolver_fits_the_network() -> None:
    """Names are resolved where there is a way out."""
    assert f"nameserver {DNS_FORWARDER}\n" in resolver_file("pasta")
    assert "nameserver" not in resolver_file("loopback")


def test_a_tool_that_fails_says_why() -> None:
    """In the tool's own words."""
    with pytest.raises(OSError, match="no/such/file"):
        run_tool([find("cat"), "/no/such/file"])
    with pytest.raises(FileNotFoundError, match="no-such-tool is not installed"):
        find("no-such-tool")
    assert Path(find("sh")).exists()
