"""The words of the command line: every command with its arguments, in the person's language."""

from __future__ import annotations

import argparse
from typing import Any, Final

from control import usage_words
from control.cli import jobs, people
from control.cli.entry_words import add_entry_words
from control.cli.kinds import entry_spec, number, pair, size, span
from control.cli.leaves import group, leaf, password_option
from control.cli.words import Words

LOCAL: Final = ("up", "down", "doctor")
"""Commands that run here instead of asking the API: the supervisor reads their arguments itself."""


def build(say: Words) -> argparse.ArgumentParser:
    """The whole parser. A leaf holds its command as `run`; the local ones are handed over before parsing."""
    usage_words.speak(say.language)
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
    add_entry_words(commands, say)
    completion = commands.add_parser("completion", help=say("打印补全脚本", "print a shell completion script"))
    completion.add_argument("shell", choices=["bash", "zsh"], help=say("哪种 shell", "which shell"))
    return parser


def _add_people(commands: Any, say: Words) -> None:
    login = leaf(commands, "login", people.sign_in, say("登录控制台", "sign in to a console"), say)
    login.add_argument("url", metavar="URL", help=say("控制台地址", "the console's address"))
    login.add_argument("--user", metavar="NAME", help=say("用户名；省略则询问", "user name; asked for when left out"))
    login.add_argument("--ca", metavar="FILE", help=say("要信任的 CA 证书", "a CA certificate to trust"))
    password_option(login, say)
    users = group(commands, "user", say("用户（管理员）", "accounts (administrators)"), say)
    add = leaf(users, "add", people.add_user, say("添加用户", "add an account"), say)
    add.add_argument("name", metavar="NAME", help=say("用户名", "user name"))
    add.add_argument("--admin", action="store_true", help=say("设为管理员", "as an administrator"))
    password_option(add, say)
    leaf(users, "list", people.list_users, say("列出用户", "list accounts"), say)
    disable = leaf(users, "disable", people.disable_user, say("停用用户", "disable an account"), say)
    disable.add_argument("name", metavar="NAME", help=say("用户名", "user name"))
    disable.add_argument("--enable", action="store_true", help=say("改为启用", "enable it again instead"))
    passwd = leaf(users, "passwd", people.set_password, say("修改密码", "set a password"), say)
    passwd.add_argument(
        "name", nargs="?", metavar="NAME", help=say("用户名；省略则为自己", "whose; your own when left out")
    )
    password_option(passwd, say)


def _add_jobs(commands: Any, say: Words) -> None:
    jobs_group = group(commands, "job", say("作业", "jobs"), say)
    _add_submit(jobs_group, say)
    listing = leaf(jobs_group, "list", jobs.list_jobs, say("列出作业", "list jobs"), say)
    listing.add_argument("--history", action="store_true", help=say("历史作业", "those that have ended"))
    listing.add_argument("--name", help=say("名称含有此文字的", "whose name holds this text"))
    listing.add_argument("--cluster", metavar="NAME", help=say("此集群上的", "on this cluster"))
    listing.add_argument(
        "--sort",
        metavar="COLUMN",
        help=say(
            "按此列排序，前加 - 为倒序，例如 -submitted_at",
            "by this column; - before it turns it around: -submitted_at",
        ),
    )
    listing.add_argument(
        "--state",
        action="append",
        help=say("此状态的，可重复，例如 running", "in this state, such as running; may be repeated"),
    )
    listing.add_argument("--owner", metavar="NAME", help=say("管理员：用户名或 *", "administrators: a user name, or *"))
    listing.add_argument("--page", type=number, metavar="N", help=say("第几页", "which page"))
    listing.add_argument("--per-page", type=number, metavar="N", help=say("每页多少个", "how many on a page"))
    for name, command, zh, en in (
        ("show", jobs.show, "查看作业", "show a job"),
        ("logs", jobs.logs, "查看日志", "print a job's output"),
        ("close", jobs.close, "关闭作业", "close a job"),
        ("suspend", jobs.suspend, "挂起作业", "suspend a job"),
        ("resume", jobs.resume, "恢复作业", "resume a job"),
    ):
        made = leaf(jobs_group, name, command, say(zh, en), say)
        made.add_argument("job", metavar="JOB", help=say("作业 id 或名称", "the job's id or name"))
        if name == "logs":
            made.add_argument("-f", "--follow", action="store_true", help=say("持续输出", "go on until the job ends"))
            made.add_argument(
                "--tail", type=size, metavar="64k", help=say("只看末尾这么多字节", "only so many bytes at the end")
            )


def _add_submit(commands: Any, say: Words) -> None:
    submit = leaf(commands, "submit", jobs.submit, say("提交作业", "submit a job"), say)
    submit.add_argument(
        "command", nargs="*", metavar="COMMAND", help=say("命令，写在 -- 之后", "the command, after --")
    )
    submit.add_argument("--name", help=say("作业名称", "the job's name"))
    submit.add_argument("--app", help=say("应用，代替命令", "an app, in place of a command"))
    submit.add_argument(
        "--cluster", metavar="NAME", help=say("集群；省略则为默认", "the cluster; the default one when left out")
    )
    submit.add_argument(
        "--partition", metavar="NAME", help=say("分区；省略则为默认", "the partition; the default one when left out")
    )
    submit.add_argument(
        "--cpus", type=number, metavar="N", help=say("CPU 核数，默认 1", "cores; 1 unless told otherwise")
    )
    submit.add_argument("--gpus", type=int, metavar="N", help=say("GPU 数，默认 0", "GPUs; 0 unless told otherwise"))
    submit.add_argument("--memory", type=size, metavar="2G", help=say("内存", "memory"))
    submit.add_argument("--time", type=span, metavar="1h", help=say("时间限制", "time limit"))
    submit.add_argument(
        "--env", type=pair, action="append", default=[], metavar="NAME=VALUE",
        help=say("环境变量，可重复", "an environment variable; may be repeated"),
    )  # fmt: skip
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
