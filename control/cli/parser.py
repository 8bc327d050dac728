"""The words of the command line: every command with its arguments, in the person's language."""

from __future__ import annotations

import argparse
import re
from typing import Any, Final

from control.cli import domains, entries, forward, jobs, people, visits
from control.cli.files import FILES, pem_file
from control.cli.outcome import Command
from control.cli.words import Words

_UNITS: Final = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_SPANS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
LOCAL: Final = ("up", "down", "doctor")
"""Commands that run here instead of asking the API: the supervisor reads their arguments itself."""


def build(say: Words) -> argparse.ArgumentParser:
    """The whole parser. A leaf holds its command as `run`; the local ones are handed over before parsing."""
    parser = argparse.ArgumentParser(
        prog="starlight",
        description=say("星光平台命令行", "The command line of Starlight Gateway"),
        epilog=say(
            "先用 starlight login 地址 登录。每条命令都可加 --json；退出码 0 成功，1 被拒绝或失败，2 用法错误。",
            "Sign in first: starlight login URL. Every command takes --json; exit status 0: done, "
            "1: refused or failed, 2: wrong usage.",
        ),
    )
    commands = parser.add_subparsers(dest="command_name", required=True, metavar=say("命令", "COMMAND"))
    for name, zh, en in (
        ("up", "启动平台", "start the platform"),
        ("down", "停止平台", "stop the platform"),
        ("doctor", "检查缺什么、如何补", "what is missing and how to mend it"),
    ):
        commands.add_parser(name, help=say(zh, en), add_help=False)
    _add_people(commands, say)
    _add_jobs(commands, say)
    _add_entries(commands, say)
    completion = commands.add_parser("completion", help=say("打印补全脚本", "print a shell completion script"))
    completion.add_argument("shell", choices=["bash", "zsh"])
    return parser


def _add_people(commands: Any, say: Words) -> None:
    login = _leaf(commands, "login", people.sign_in, say("登录控制台", "sign in to a console"))
    login.add_argument("url", metavar="URL", help=say("控制台地址", "the console's address"))
    login.add_argument("--user", help=say("用户名", "user name"))
    login.add_argument("--ca", metavar="FILE", help=say("要信任的 CA 证书", "a CA certificate to trust"))
    _password_option(login, say)
    users = _group(commands, "user", say("用户（管理员）", "accounts (administrators)"), say)
    add = _leaf(users, "add", people.add_user, say("添加用户", "add an account"))
    add.add_argument("name")
    add.add_argument("--admin", action="store_true", help=say("管理员", "as an administrator"))
    _password_option(add, say)
    _leaf(users, "list", people.list_users, say("列出用户", "list accounts"))
    disable = _leaf(users, "disable", people.disable_user, say("停用用户", "disable an account"))
    disable.add_argument("name")
    disable.add_argument("--enable", action="store_true", help=say("改为启用", "enable it again instead"))
    passwd = _leaf(users, "passwd", people.set_password, say("修改密码", "set a password"))
    passwd.add_argument("name", nargs="?", help=say("省略则为自己", "whose; your own when left out"))
    _password_option(passwd, say)


def _add_jobs(commands: Any, say: Words) -> None:
    group = _group(commands, "job", say("作业", "jobs"), say)
    submit = _leaf(group, "submit", jobs.submit, say("提交作业", "submit a job"))
    submit.add_argument(
        "command", nargs="*", metavar="COMMAND", help=say("命令，写在 -- 之后", "the command, after --")
    )
    for option in ("name", "app", "cluster", "partition"):
        submit.add_argument(f"--{option}")
    submit.add_argument("--cpus", type=int)
    submit.add_argument("--gpus", type=int)
    submit.add_argument("--memory", type=size, metavar="2G", help=say("内存", "memory"))
    submit.add_argument("--time", type=span, metavar="1h", help=say("时间限制", "time limit"))
    submit.add_argument("--env", type=pair, action="append", default=[], metavar="NAME=VALUE")
    submit.add_argument(
        "--entry",
        type=entry_spec,
        action="append",
        default=[],
        metavar="name=web,protocol=http,level=private,target_port=8000",
        help=say("访问入口，可重复", "an entry; may be repeated"),
    )
    submit.add_argument(
        "--no-ssh", action="store_true", help=say("不加 ssh-default 入口", "without the entry ssh-default")
    )
    submit.add_argument("--key", help=say("同一个键只提交一次", "the same key submits only once"))
    listing = _leaf(group, "list", jobs.list_jobs, say("列出作业", "list jobs"))
    listing.add_argument("--history", action="store_true", help=say("历史作业", "those that have ended"))
    for option in ("name", "cluster", "sort"):
        listing.add_argument(f"--{option}")
    listing.add_argument("--state", action="append")
    listing.add_argument("--owner", help=say("管理员：用户名或 *", "administrators: a user name, or *"))
    listing.add_argument("--page", type=int)
    listing.add_argument("--per-page", type=int)
    for name, command, zh, en in (
        ("show", jobs.show, "查看作业", "show a job"),
        ("logs", jobs.logs, "查看日志", "print a job's output"),
        ("close", jobs.close, "关闭作业", "close a job"),
        ("suspend", jobs.suspend, "挂起作业", "suspend a job"),
        ("resume", jobs.resume, "恢复作业", "resume a job"),
    ):
        leaf = _leaf(group, name, command, say(zh, en))
        leaf.add_argument("job", metavar="JOB", help=say("作业 id", "the job's id"))
        if name == "logs":
            leaf.add_argument("-f", "--follow", action="store_true", help=say("持续输出", "go on until the job ends"))
            leaf.add_argument("--tail", type=size, metavar="64k", help=say("只看末尾", "only the last bytes"))


def _add_entries(commands: Any, say: Words) -> None:
    group = _group(commands, "entry", say("访问入口", "access entries"), say)
    add = _leaf(group, "add", entries.add, say("添加入口", "add an entry"))
    add.add_argument("job", metavar="JOB")
    add.add_argument("--name", required=True)
    add.add_argument("--protocol", required=True, choices=["http", "https", "ssh", "tcp"])
    add.add_argument("--level", required=True, choices=["private", "login", "open"])
    add.add_argument("--target-port", type=port_or_auto, default="auto", metavar="PORT")
    add.add_argument("--random", action="store_true", help=say("使用非固定端口", "on a random port"))
    add.add_argument("--terminal", action="store_true", help=say("网页终端", "a web terminal"))
    add.add_argument("--app-protocol", choices=["http1", "h2c", "https"])
    add.add_argument(
        "--cors-origin",
        action="append",
        metavar="https://HOST",
        help=say("允许其页面访问的网站，可重复", "a site whose pages may call it; may be repeated"),
    )
    _domain_options(add, say)
    listing = _leaf(group, "list", entries.list_entries, say("列出入口", "list entries"))
    listing.add_argument(
        "job", nargs="?", metavar="JOB", help=say("省略则为共享给我的", "those shared with you when left out")
    )
    for name, command, zh, en in (
        ("remove", entries.remove, "移除入口", "remove an entry"),
        ("share", entries.share, "通过共享码共享", "share by a code"),
        ("unshare", entries.unshare, "取消共享", "cancel sharing"),
        ("open", entries.open_entry, "在浏览器中打开", "open in the browser"),
        ("visits", visits.list_visits, "谁在连接", "who is connected"),
        (
            "domain",
            domains.look,
            "检查自定义域名，或更换证书",
            "how far an own domain is, or another certificate for it",
        ),
        ("certificate", entries.certificate, "签发 tcp 入口的客户端证书", "issue a client certificate for a tcp entry"),
    ):
        leaf = _leaf(group, name, command, say(zh, en))
        leaf.add_argument("entry", metavar="ENTRY", help=say("入口 id、标签或 作业/名称", "id, label, or JOB/NAME"))
        if name == "share":
            leaf.add_argument("--code", help=say("自定共享码", "a code of your own"))
            leaf.add_argument("--expires", metavar="2026-12-31T00:00:00Z")
            leaf.add_argument("--max-uses", type=int)
        if name == "domain":
            _domain_options(leaf, say)
            leaf.add_argument(
                "--approve", action="store_true", help=say("管理员：确认归属", "administrators: confirm it")
            )
            leaf.add_argument(
                "--go-on",
                action="store_true",
                help=say(
                    "TXT 记录已生效，或问题已解决：立即验证",
                    "the TXT record stands, or the trouble is mended: look now",
                ),
            )
        if name == "certificate":
            leaf.add_argument("--out", metavar="FILE", help=say("写入的文件", "the file to write"))
    _add_forward(commands, say)
    visit = _group(commands, "visit", say("连接", "live connections"), say)
    cut = _leaf(visit, "cut", visits.cut, say("断开一个连接", "end a connection"))
    cut.add_argument("visit", metavar="VISIT", help=say("entry visits 中的连接号", "its id, as entry visits shows"))
    redeem = _leaf(commands, "redeem", entries.redeem, say("兑换共享码", "redeem a share code"))
    redeem.add_argument("code")
    redeem.add_argument("--entry", help=say("入口 id 或标签", "the entry's id or label"))
    _leaf(commands, "ssh-config", entries.ssh_config, say("打印 ssh 配置", "print stanzas for ~/.ssh/config"))


def _add_forward(commands: Any, say: Words) -> None:
    leaf = _leaf(commands, "forward", forward.forward, say("把入口转到本机端口", "bring an entry to a local port"))
    leaf.add_argument("entry", metavar="ENTRY", help=say("入口 id、标签或 作业/名称", "id, label, or JOB/NAME"))
    leaf.add_argument("local_port", type=local_port, metavar="LOCALPORT", help=say("0 为任选", "0: any free one"))
    leaf.add_argument("--bind", default="127.0.0.1", metavar="ADDRESS", help=say("监听地址", "where to listen"))
    leaf.add_argument(
        "--via", type=host_port, metavar="HOST:PORT", help=say("网关的 https 端口", "the gateway's https port")
    )
    leaf.add_argument("--ca", metavar="FILE", help=say("要信任的 CA 证书", "a CA certificate to trust"))


def _group(commands: Any, name: str, help_text: str, say: Words) -> Any:
    group = commands.add_parser(name, help=help_text, description=help_text)
    return group.add_subparsers(dest=f"{name}_command", required=True, metavar=say("动作", "ACTION"))


def _leaf(commands: Any, name: str, run: Command, help_text: str) -> argparse.ArgumentParser:
    leaf: argparse.ArgumentParser = commands.add_parser(name, help=help_text, description=help_text)
    leaf.add_argument("--json", action="store_true", help="JSON")
    leaf.set_defaults(run=run)
    return leaf


def _password_option(leaf: argparse.ArgumentParser, say: Words) -> None:
    leaf.add_argument(
        "--password-stdin",
        action="store_true",
        help=say("从标准输入读密码", "read passwords from the input, one a line"),
    )


def size(text: str) -> int:
    """Bytes: `512`, `64k`, `2G`. Raises ArgumentTypeError."""
    return _counted(text, _UNITS, "512, 64k, 2G")


def span(text: str) -> int:
    """Seconds: `90`, `30m`, `2h`, `1d`. Raises ArgumentTypeError."""
    return _counted(text, _SPANS, "90, 30m, 2h, 1d")


def pair(text: str) -> tuple[str, str]:
    """`NAME=VALUE`. Raises ArgumentTypeError."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"{text!r}: NAME=VALUE")
    return name, value


def port_or_auto(text: str) -> int | str:
    """A port number, or `auto`. Raises ArgumentTypeError."""
    if text == "auto":
        return text
    if not re.fullmatch("[0-9]{1,5}", text, re.ASCII):
        raise argparse.ArgumentTypeError(f"{text!r}: 1-65535, auto")
    return int(text)


def local_port(text: str) -> int:
    """A port number, or 0. Raises ArgumentTypeError."""
    if not re.fullmatch("[0-9]{1,5}", text, re.ASCII) or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r}: 0-65535")
    return int(text)


def host_port(text: str) -> tuple[str, int]:
    """`gate.example.com:8443`. Raises ArgumentTypeError."""
    host, colon, port = text.rpartition(":")
    if not colon or not host:
        raise argparse.ArgumentTypeError(f"{text!r}: HOST:PORT")
    return host.strip("[]"), local_port(port)


def _domain_options(leaf: argparse.ArgumentParser, say: Words) -> None:
    leaf.add_argument("--domain", help=say("自定义域名（仅 https）", "a domain of your own (https only)"))
    leaf.add_argument("--certificate", type=pem_file, metavar="FILE", help=say("证书文件", "certificate and its chain"))
    leaf.add_argument("--private-key", type=pem_file, metavar="FILE", help=say("密钥文件", "private key"))
    leaf.add_argument(
        "--key-password-stdin",
        action="store_true",
        help=say("从标准输入读密钥密码", "read the key's password from the input"),
    )
    leaf.add_argument(
        "--acme", action="store_true", help=say("由签发机构自动签发证书", "have an authority asked for the certificate")
    )
    leaf.add_argument(
        "--acme-challenge",
        choices=["http-01", "tls-alpn-01", "dns-01"],
        help=say("签发机构如何验证域名（默认 http-01）", "how it looks at the domain (http-01 unless said otherwise)"),
    )


def entry_spec(text: str) -> dict[str, Any]:
    """`name=web,protocol=http,level=private,target_port=8000` as an EntrySpec. The API judges the values.

    `certificate=FILE` and `private_key=FILE` stand for what these files hold.
    """
    spec: dict[str, Any] = dict(pair(part) for part in text.split(","))
    if "target_port" in spec:
        spec["target_port"] = port_or_auto(spec["target_port"])
    if spec.get("acme") == "true":
        spec["acme"] = True
    return spec | {name: pem_file(spec[name]) for name in FILES if name in spec}


def _counted(text: str, units: dict[str, int], examples: str) -> int:
    found = re.fullmatch(r"([0-9]{1,12})([a-z]?)(?:i?b)?", text.lower(), re.ASCII)
    if found is None or found[2] not in units:
        raise argparse.ArgumentTypeError(f"{text!r} 无法识别 / is not understood; 例如 / for example: {examples}")
    return int(found[1]) * units[found[2]]
