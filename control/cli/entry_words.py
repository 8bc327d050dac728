"""The words for access entries: `starlight entry ...`, `visit`, `redeem`, `forward` and `ssh-config`."""

from __future__ import annotations

import argparse
from typing import Any

from control.cli import domains, entries, forward, ssh, visits
from control.cli.files import pem_file
from control.cli.kinds import host_port, local_port, number, port_or_auto, size
from control.cli.leaves import group, leaf
from control.cli.words import Words


def add_entry_words(commands: Any, say: Words) -> None:
    """Adds them to the commands."""
    entry = group(commands, "entry", say("访问入口", "access entries"), say)
    _add_making(entry, say)
    _add_changing(entry, say)
    listing = leaf(entry, "list", entries.list_entries, say("列出入口", "list entries"), say)
    listing.add_argument(
        "job",
        nargs="?",
        metavar="JOB",
        help=say("作业 id 或名称；省略则为共享给我的", "a job's id or name; those shared with you when left out"),
    )
    for name, command, zh, en in (
        ("remove", entries.remove, "移除入口，断开其连接", "remove an entry and cut its connections"),
        ("unshare", entries.unshare, "取消共享，断开他人的连接", "cancel sharing and cut the others' connections"),
        ("open", entries.open_entry, "打印地址，并在浏览器中打开", "print the address, and open it in the browser"),
        ("visits", visits.list_visits, "谁在连接", "who is connected"),
    ):
        _entry_leaf(entry, name, command, say(zh, en), say)
    _add_sharing(entry, say)
    _add_domain(entry, say)
    made = _entry_leaf(
        entry,
        "certificate",
        entries.certificate,
        say("签发 tcp 入口的客户端证书", "issue a client certificate for a tcp entry"),
        say,
    )
    made.add_argument(
        "--out",
        metavar="FILE",
        help=say(
            "写入的文件，不覆盖已有的；默认取自入口标签", "the file to write, never over another; named by the label"
        ),
    )
    _add_forward(commands, say)
    visit = group(commands, "visit", say("连接", "live connections"), say)
    cut = leaf(visit, "cut", visits.cut, say("断开一个连接", "end a connection"), say)
    cut.add_argument("visit", metavar="VISIT", help=say("entry visits 中的连接号", "its id, as entry visits shows"))
    redeem = leaf(commands, "redeem", entries.redeem, say("使用共享码", "redeem a share code"), say)
    redeem.add_argument("code", metavar="CODE", help=say("共享码", "the share code"))
    redeem.add_argument(
        "--entry",
        metavar="ENTRY",
        help=say("入口 id 或标签；自定共享码需要它", "the entry's id or label; a code of the owner's own needs it"),
    )
    config = leaf(
        commands,
        "ssh-config",
        ssh.ssh_config,
        say("打印 ~/.ssh/config 的片段，每个作业一段", "print a stanza for ~/.ssh/config for each job"),
        say,
    )
    config.add_argument(
        "--known-hosts",
        action="store_true",
        help=say(
            "改为打印 known_hosts 的行，使 ssh 不再询问主机密钥",
            "print lines for known_hosts instead, so that ssh asks for no host key",
        ),
    )


def _entry_leaf(commands: Any, name: str, run: Any, help_text: str, say: Words) -> argparse.ArgumentParser:
    made = leaf(commands, name, run, help_text, say)
    made.add_argument(
        "entry", metavar="ENTRY", help=say("入口 id、标签或 作业/名称", "the entry's id or label, or JOB/NAME")
    )
    return made


def _add_making(entry: Any, say: Words) -> None:
    add = leaf(entry, "add", entries.add, say("添加入口", "add an entry"), say)
    add.add_argument("job", metavar="JOB", help=say("作业 id 或名称", "the job's id or name"))
    add.add_argument(
        "--name", required=True, help=say("入口名称，在作业内唯一", "the entry's name, the only one of its job")
    )
    add.add_argument(
        "--protocol", required=True, choices=["http", "https", "ssh", "tcp"], help=say("协议", "how people speak to it")
    )
    add.add_argument("--level", required=True, choices=["private", "login", "open"], help=_level(say))
    add.add_argument(
        "--target-port",
        type=port_or_auto,
        default="auto",
        metavar="PORT",
        help=say(
            "作业内的端口；默认 auto：自动选择", "the port in the job; auto, which picks one, unless told otherwise"
        ),
    )
    add.add_argument("--random", action="store_true", help=say("使用非固定端口", "on a port of its own"))
    add.add_argument(
        "--terminal", action="store_true", help=say("网页终端，不需要目的端口", "a web terminal, without a target port")
    )
    add.add_argument(
        "--app-protocol",
        choices=["http1", "h2c", "https"],
        help=say("程序的通信协议，默认 http1", "how the app speaks; http1 unless told otherwise"),
    )
    _pin(add, say)
    _callers_and_limits(add, say)
    _domain_options(add, say)
    add.add_argument(
        "--wait",
        type=_seconds,
        default=entries.WAIT_S,
        metavar="SECONDS",
        help=say(
            "等待所有网关启用入口的秒数，默认 10；0 为不等待",
            "how long to wait until every gateway serves it, 10 unless told otherwise; 0: not at all",
        ),
    )


def _add_changing(entry: Any, say: Words) -> None:
    changed = _entry_leaf(
        entry,
        "change",
        entries.change,
        say("修改验证级别、跨域网站或限制", "change who may pass, which sites may call it, or its limits"),
        say,
    )
    changed.add_argument("--level", choices=["private", "login", "open"], help=_level(say))
    _pin(changed, say)
    changed.add_argument(
        "--no-app-pin", action="store_true", help=say("不再校验程序的证书", "check the app's certificate no more")
    )
    _callers_and_limits(changed, say)
    changed.add_argument(
        "--no-cors-origins", action="store_true", help=say("不再允许任何网站跨域访问", "no site may call it any more")
    )
    changed.add_argument("--no-limits", action="store_true", help=say("先取消所有限制", "take all limits away first"))


def _add_sharing(entry: Any, say: Words) -> None:
    share = _entry_leaf(entry, "share", entries.share, say("通过共享码共享", "share by a code"), say)
    share.add_argument(
        "--code",
        help=say(
            "自定共享码，至少 8 个字符；省略则自动生成", "a code of your own, 8 characters or more; else one is made"
        ),
    )
    share.add_argument(
        "--expires",
        metavar="2026-12-31T00:00:00Z",
        help=say("到期时间（RFC 3339）；省略则不过期", "when it ends (RFC 3339); never when left out"),
    )
    share.add_argument(
        "--max-uses",
        type=number,
        metavar="N",
        help=say("最多多少人可以使用", "how many people may redeem it"),
    )


def _add_domain(entry: Any, say: Words) -> None:
    made = _entry_leaf(
        entry,
        "domain",
        domains.look,
        say("检查自定义域名，或更换证书", "how far an own domain is, or another certificate for it"),
        say,
    )
    _domain_options(made, say)
    made.add_argument("--approve", action="store_true", help=say("管理员：确认归属", "administrators: confirm it"))
    made.add_argument(
        "--go-on",
        action="store_true",
        help=say("TXT 记录已生效，或问题已解决：立即验证", "the TXT record stands, or the trouble is mended: look now"),
    )


def _add_forward(commands: Any, say: Words) -> None:
    made = _entry_leaf(
        commands,
        "forward",
        forward.forward,
        say("把 tcp 或网页入口转到本机端口，直到 Ctrl-C", "bring a tcp or web entry to a local port, until Ctrl-C"),
        say,
    )
    made.add_argument(
        "local_port",
        type=local_port,
        metavar="LOCALPORT",
        help=say("本机端口；0 为任选", "the local port; 0: any free one"),
    )
    made.add_argument("--bind", default="127.0.0.1", metavar="ADDRESS", help=say("监听地址", "where to listen"))
    made.add_argument(
        "--via",
        type=host_port,
        metavar="HOST:PORT",
        help=say("网关的 https 地址；默认由平台给出", "the gateway's https port; the platform says it unless told"),
    )
    made.add_argument("--ca", metavar="FILE", help=say("要信任的 CA 证书", "a CA certificate to trust"))


def _pin(made: argparse.ArgumentParser, say: Words) -> None:
    made.add_argument(
        "--app-pin",
        metavar="SHA256",
        help=say(
            "程序证书的 SHA-256 指纹（--app-protocol https）；没有它则不校验",
            "SHA-256 of the certificate that the app must show (--app-protocol https); without it none is checked",
        ),
    )


def _callers_and_limits(made: argparse.ArgumentParser, say: Words) -> None:
    made.add_argument(
        "--cors-origin",
        action="append",
        metavar="https://HOST",
        help=say("允许其页面跨域访问的网站，可重复", "a site whose pages may call it; may be repeated"),
    )
    made.add_argument(
        "--max-connections",
        type=number,
        metavar="N",
        help=say("最大连接数，所有访客合计", "how many connections at a time, of all visitors together"),
    )
    made.add_argument(
        "--max-requests",
        type=number,
        metavar="N",
        help=say("每位访客每分钟的请求数（http、https）", "requests a minute of each visitor (http, https)"),
    )
    made.add_argument(
        "--max-body",
        type=size,
        metavar="64M",
        help=say("单个请求内容的大小（http、https）", "how large the content of one request may be (http, https)"),
    )


def _domain_options(made: argparse.ArgumentParser, say: Words) -> None:
    made.add_argument(
        "--domain", metavar="NAME", help=say("自定义域名（仅 https）", "a domain of your own (https only)")
    )
    made.add_argument(
        "--certificate", type=pem_file, metavar="FILE", help=say("证书文件（PEM）", "certificate and its chain (PEM)")
    )
    made.add_argument("--private-key", type=pem_file, metavar="FILE", help=say("密钥文件（PEM）", "private key (PEM)"))
    made.add_argument(
        "--key-password-stdin",
        action="store_true",
        help=say("从标准输入读取密钥密码", "read the key's password from the input"),
    )
    made.add_argument(
        "--acme",
        action="store_true",
        help=say("由签发机构自动签发证书", "have an authority asked for the certificate"),
    )
    made.add_argument(
        "--acme-challenge",
        choices=["http-01", "tls-alpn-01", "dns-01"],
        help=say("签发机构如何验证域名（默认 http-01）", "how it looks at the domain (http-01 unless said otherwise)"),
    )


def _level(say: Words) -> str:
    return say(
        "谁可以通过：private 本人与使用共享码的人，login 所有用户，open 任何人",
        "who may pass: private, its owner and who redeemed a code; login, every user; open, anyone",
    )


def _seconds(text: str) -> float:
    return 0.0 if text == "0" else float(number(text))
