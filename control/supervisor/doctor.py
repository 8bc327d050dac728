"""`starlight doctor`: what this machine lacks for the platform, and the line that mends each.

Looks and tells; changes nothing. What is `needed` stops the start when it is missing; all else only takes
something away (isolation, outbound network of jobs, sftp), and the sentence says what.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from control.config import Settings, is_loopback
from control.domain.acme import Method, landing
from control.supervisor.holder import holder_of
from control.supervisor.identity import identities
from control.supervisor.locks import is_supervised
from control.supervisor.passage import ROOT
from control.supervisor.words import Words, language_of

_PROBE_S: Final = 10
_LEAST_FREE_BYTES: Final = 2 * 1024**3
_SFTP_SERVERS: Final = ("/usr/lib/openssh/sftp-server", "/usr/libexec/openssh/sftp-server", "/usr/lib/ssh/sftp-server")
_SYSTEM_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_PROGRAMS: Final = {
    "bwrap": ("bubblewrap", Words("作业之间的隔离", "isolation of jobs")),
    "unshare": ("util-linux", Words("作业之间的隔离", "isolation of jobs")),
    "pasta": ("passt", Words("隔离作业的外网访问", "outbound network of isolated jobs")),
    "nft": ("nftables", Words("隔离作业的出站过滤", "the output filter of isolated jobs")),
    "ip": ("iproute2", Words("作业的网络命名空间", "network namespaces of jobs")),
    "ssh": ("openssh-client", Words("本机的 ssh 命令", "the ssh command on this machine")),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at; `found` are facts, `mend` says what to do when it is not well."""

    name: str
    well: bool
    needed: bool
    found: str
    mend: Words | None = None


def tell(settings: Settings, environ: Mapping[str, str], *, as_json: bool) -> int:
    """Prints every finding; 1 when something needed is missing, else 0."""
    findings = list(examine(settings))
    language = language_of(environ)
    if as_json:
        print(json.dumps([_plain(finding, language) for finding in findings], ensure_ascii=False, indent=2))
    else:
        for finding in findings:
            print(_line(finding, language))
    return int(any(finding.needed and not finding.well for finding in findings))


def examine(settings: Settings) -> Iterator[Finding]:
    """Everything worth looking at, the needed things first."""
    yield _python()
    yield _console_build()
    yield from _ports(settings)
    yield _data_dir(settings)
    for program in _PROGRAMS:
        yield _program(program)
    yield _sftp_server()
    yield _sandbox()
    yield _tun()
    yield _own_uids(settings)
    yield _name(settings)
    yield from _looks(settings)


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    return _finding(
        "python",
        sys.version_info >= (3, 11),
        version,
        needed=True,
        zh="安装 Python 3.11 以上",
        en="install Python 3.11 or later",
    )


def _console_build() -> Finding:
    index = ROOT / "control" / "console" / "dist" / "index.html"
    built = index.exists()
    return _finding(
        "console",
        built,
        str(index),
        needed=True,
        zh="运行 make start 以构建控制台页面",
        en="make start builds the console's pages",
    )


def _ports(settings: Settings) -> Iterator[Finding]:
    if is_supervised(settings.run_dir):
        yield Finding("ports", well=True, needed=True, found="held by the platform, which runs")
        return
    for name in ("console", "http", "https", "ssh", "tcp", *settings.acme_ports):
        port = getattr(settings, f"{name}_port")
        host = settings.console_host if name == "console" else settings.host
        taken = _taken(host, port)
        mend = (f"结束它，或设 STARLIGHT_{name.upper()}_PORT", f"end it, or set STARLIGHT_{name.upper()}_PORT")
        yield _finding(f"port {port}", not taken, taken or name, needed=True, zh=mend[0], en=mend[1])


def _taken(host: str, port: int) -> str:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((host, port))
        except OSError as fault:
            return f"{os.strerror(fault.errno or 0)}: {holder_of(port)}"
    return ""


def _data_dir(settings: Settings) -> Finding:
    place = next(folder for folder in (settings.data_dir, *settings.data_dir.parents) if folder.exists())
    free = shutil.disk_usage(place).free
    well = free >= _LEAST_FREE_BYTES and os.access(place, os.W_OK)
    found = f"{settings.data_dir} ({free // 1024**2} MiB free)"
    return _finding(
        "data directory",
        well,
        found,
        needed=False,
        zh="需可写且至少有 2 GiB 空闲；STARLIGHT_DATA_DIR 可另指一处",
        en="it must be writable with 2 GiB free; STARLIGHT_DATA_DIR names another place",
    )


def _program(name: str) -> Finding:
    package, purpose = _PROGRAMS[name]
    path = _which(name)
    mend = _apt(package)
    return _finding(
        name,
        path is not None,
        path or "-",
        needed=False,
        zh=f"{purpose.zh}需要它：{mend}",
        en=f"{purpose.en} needs it: {mend}",
    )


def _sftp_server() -> Finding:
    path = next((path for path in _SFTP_SERVERS if Path(path).exists()), None)
    mend = _apt("openssh-sftp-server")
    return _finding(
        "sftp-server",
        path is not None,
        path or "-",
        needed=False,
        zh=f"sftp 与 scp 需要它：{mend}",
        en=f"sftp and scp need it: {mend}",
    )


def _sandbox() -> Finding:
    bwrap = _which("bwrap")
    works = bwrap is not None and _succeeds(bwrap, "--ro-bind", "/", "/", "--unshare-all", "true")
    return _finding(
        "user namespaces",
        works,
        "bwrap --unshare-all",
        needed=False,
        zh="此处不能建立隔离：允许用户命名空间（sysctl kernel.unprivileged_userns_clone=1；Ubuntu 另需 "
        "kernel.apparmor_restrict_unprivileged_userns=0），否则只有管理员的作业能运行",
        en="no isolation here: allow user namespaces (sysctl kernel.unprivileged_userns_clone=1; on Ubuntu also "
        "kernel.apparmor_restrict_unprivileged_userns=0), else only admins' jobs run",
    )


def _tun() -> Finding:
    device = Path("/dev/net/tun")
    works = os.access(device, os.R_OK | os.W_OK)
    return _finding(
        "tun device",
        works,
        str(device),
        needed=False,
        zh="隔离的作业不能直接访问外网，改经平台的代理；以 root 启动并提供 /dev/net/tun 可直连",
        en="isolated jobs reach outside by the platform's proxy only; start as root with /dev/net/tun for a direct way",
    )


def _own_uids(settings: Settings) -> Finding:
    mend = Words(
        "以 root 启动，每人的作业才有各自的 uid；现在它们共用启动者的 uid",
        "started as root, each person's jobs get a uid of their own; now they share the starter's",
    )
    try:
        who = identities(settings.uid_base)
    except ValueError as fault:
        return _finding("uids", False, str(fault), needed=True, zh=mend.zh, en=mend.en)
    return _finding("uids", who.separate, str(who.job_uid_base or os.getuid()), needed=False, zh=mend.zh, en=mend.en)


def _name(settings: Settings) -> Finding:
    name = f"{'0' * 32}.{settings.base_domain}"
    try:
        found = socket.getaddrinfo(name, None)[0][4][0]
    except OSError:
        found = ""
    if is_loopback(settings.base_domain):
        line = _apt("libnss-myhostname")
        zh = f"浏览器与 curl 自己能解析它；其他程序需要：{line}，或在 /etc/hosts 中逐个写入"
        en = f"browsers and curl know it by themselves; for other programs: {line}, or a line a host in /etc/hosts"
    else:
        address = settings.public_address or settings.host
        zh = f"在 DNS 中将 *.{settings.base_domain} 指向 {address}"
        en = f"let *.{settings.base_domain} point at {address} in DNS"
    return _finding(f"*.{settings.base_domain}", bool(found), str(found) or "-", needed=False, zh=zh, en=en)


def _looks(settings: Settings) -> Iterator[Finding]:
    """Whether a certificate authority that calls its two ports finds ours behind them (RFC 8555 8.3, RFC 8737 3)."""
    if not settings.acme_directory:
        return
    ways = (
        (Method.HTTP, "ACME_HTTP_PORT", settings.acme_http_port, settings.http_port),
        (Method.TLS, "ACME_TLS_PORT", settings.acme_tls_port, settings.https_port),
    )
    public = settings.public_address or settings.host
    for method, setting, own, entries in ways:
        world, ours = landing(method, own, entries) or (0, 0)
        yield _finding(
            f"acme {method}",
            world == ours,
            f"{world} -> {ours}",
            needed=False,
            zh=f"签发机构只访问 {world} 端口：把 {public} 的 {world} 端口转发到本机的 {ours} 端口，"
            f"或设 STARLIGHT_{setting}={world}",
            en=f"the authority calls port {world} only: forward port {world} of {public} to port {ours} here, or set "
            f"STARLIGHT_{setting}={world}",
        )
    bundle = settings.acme_ca_bundle
    if bundle is not None:
        well = os.access(bundle, os.R_OK)
        yield _finding("acme bundle", well, str(bundle), needed=True, zh="此文件读不到", en="this cannot be read")


def _finding(name: str, well: bool, found: str, *, needed: bool, zh: str, en: str) -> Finding:
    return Finding(name, well, needed, found, None if well else Words(zh, en))


def _apt(package: str) -> str:
    return f"{'' if os.geteuid() == 0 else 'sudo '}apt-get install {package}"


def _which(name: str) -> str | None:
    # A normal user's PATH often lacks the sbin folders, where nft lies.
    return shutil.which(name) or shutil.which(name, path=_SYSTEM_PATH)


def _succeeds(*command: str) -> bool:
    try:
        return subprocess.run(command, capture_output=True, timeout=_PROBE_S, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def _line(finding: Finding, language: str) -> str:
    mark = "ok  " if finding.well else ("FAIL" if finding.needed else "note")
    mend = f"\n     -> {finding.mend.in_language(language)}" if finding.mend else ""
    return f"{mark} {finding.name}: {finding.found}{mend}"


def _plain(finding: Finding, language: str) -> dict[str, object]:
    return {
        "name": finding.name,
        "well": finding.well,
        "needed": finding.needed,
        "found": finding.found,
        "mend": finding.mend.in_language(language) if finding.mend else "",
    }
