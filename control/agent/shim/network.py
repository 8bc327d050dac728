"""The job's network namespace: made by the process that becomes the job, furnished by the shim.

pasta     outbound access through passt's pasta, with an output filter in place before the command starts
loopback  nothing but loopback, and an HTTP CONNECT proxy on it (outlet.py)
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import socket
import struct
import subprocess
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from . import kernel
from .neighbours import Network

DNS_FORWARDER: Final = "169.254.1.1"
"""Where pasta answers the job's DNS; link-local, so that it can be no one else's."""
TUN: Final = Path("/dev/net/tun")
_COMMAND_S: Final = 15
_SIOCGIFFLAGS: Final = 0x8913
_SIOCSIFFLAGS: Final = 0x8914
_IFF_UP: Final = 1
_SYSTEM_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def enter_new(uid: int, gid: int, *, as_root: bool) -> None:
    """Moves the calling process into a new network namespace whose loopback is up and whose low ports anyone may use.

    Without root a user namespace is made around it; `uid` and `gid` keep their meaning inside.
    """
    if as_root:
        kernel.unshare(kernel.CLONE_NEWNET)
    else:
        kernel.unshare(kernel.CLONE_NEWUSER | kernel.CLONE_NEWNET)
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1", encoding="ascii")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1", encoding="ascii")
    _raise_loopback()
    Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").write_text("0", encoding="ascii")


def attach_pasta(namespace: Path, pid_file: Path) -> int:
    """Connects the namespace to the world; the pid of the pasta that does it. Raises OSError when it cannot."""
    pasta = find("pasta")
    command = [pasta, "--runas", "0", "--config-net", "--netns", str(namespace), "-t", "none", "-u", "none"]
    command += ["-T", "none", "-U", "none", "--no-map-gw", "--dns-forward", DNS_FORWARDER, "-q", "-P", str(pid_file)]
    run_tool(command)
    return int(pid_file.read_text(encoding="ascii"))


def filter_rules(forbidden: Iterable[Network]) -> str:
    """The output filter for nft. What is forbidden is rejected at once: a program sees an error, not silence."""
    fours = [str(network) for network in forbidden if network.version == 4]
    sixes = [str(network) for network in forbidden if network.version == 6]
    lines = [
        "table inet starlight {}",
        "delete table inet starlight",
        "table inet starlight {",
        "  chain output {",
        "    type filter hook output priority 0; policy accept;",
        '    oifname "lo" accept',
        f"    ip daddr {DNS_FORWARDER} meta l4proto {{ tcp, udp }} th dport 53 accept",
        "    icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert, nd-router-solicit } accept",
        *([f"    ip daddr {{ {', '.join(fours)} }} reject"] if fours else []),
        *([f"    ip6 daddr {{ {', '.join(sixes)} }} reject"] if sixes else []),
        "  }",
        "}",
    ]
    return "\n".join(lines) + "\n"


def apply_filter(namespace: int, forbidden: Iterable[Network]) -> None:
    """Puts the filter into the open namespace in place of an older one. Raises OSError when it cannot."""
    nft = find("nft")
    run_tool([nft, "-f", "-"], filter_rules(forbidden), lambda: kernel.setns(namespace, kernel.CLONE_NEWNET))


def resolver_file(network: str) -> str:
    """What /etc/resolv.conf says inside. Without outbound access no name but those in /etc/hosts means anything."""
    return f"nameserver {DNS_FORWARDER}\noptions timeout:3\n" if network == "pasta" else "# no outbound access\n"


def tun_opens() -> bool:
    """Whether this process may make tun devices, as pasta must."""
    with suppress(OSError):
        os.close(os.open(TUN, os.O_RDWR))
        return True
    return False


def find(program: str) -> str:
    """The program's path, the administrator's directories included. Raises FileNotFoundError."""
    path = shutil.which(program, path=_SYSTEM_PATH)
    if path is None:
        raise FileNotFoundError(2, f"{program} is not installed")
    return path


def run_tool(command: list[str], text: str = "", before: Callable[[], None] | None = None) -> None:
    """Runs a small tool to its end. Raises OSError with the tool's own words when it fails or takes too long."""
    try:
        done = subprocess.run(
            command, input=text, capture_output=True, text=True, timeout=_COMMAND_S, check=False, preexec_fn=before
        )
    except subprocess.TimeoutExpired:
        raise OSError(f"{command[0]} did not end in {_COMMAND_S} s") from None
    except subprocess.SubprocessError as fault:
        raise OSError(f"{command[0]}: {fault}") from fault
    if done.returncode != 0:
        raise OSError(f"{command[0]}: {(done.stderr or done.stdout).strip()[-300:] or done.returncode}")


def end_pasta(pid: int) -> None:
    """Ends a pasta of ours."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)


def _raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(sock, _SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(sock, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | _IFF_UP))
