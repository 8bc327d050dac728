"""`starlight login` and `starlight user ...`"""

from __future__ import annotations

import getpass
import sys
from typing import Any
from urllib.parse import quote

from control.cli.client import FailedError, connect
from control.cli.login import Login, save
from control.cli.outcome import Asked, Outcome
from control.cli.words import table


async def sign_in(asked: Asked) -> Outcome:
    """Signs in to a console and keeps the token for the next commands."""
    args, say = asked.args, asked.say
    if not args.url.startswith(("http://", "https://")):
        why = say(
            "地址要以 http:// 或 https:// 开头：starlight login http://{url}",
            "The address begins with http:// or https://: starlight login http://{url}",
            url=args.url,
        )
        raise FailedError({"code": "validation_failed", "detail": why})
    async with connect(Login(args.url, "", ca=args.ca), say) as client:
        await client.call("GET", "/platform")  # a wrong address is told before anybody types a password for it
        name = args.user or _ask(say("用户名：", "User name: "))
        password = _password(asked, say("密码：", "Password: "))
        made = await client.call("POST", "/sessions", {"username": name, "password": password})
    path = save(asked.environ, Login(args.url.rstrip("/"), made["token"], name, args.ca))
    data = {"url": args.url, "user": made["user"], "expires_at": made["expires_at"], "stored": str(path)}
    return Outcome(data, [say("已登录为 {name}", "Signed in as {name}", name=made["user"]["username"])])


async def add_user(asked: Asked) -> Outcome:
    """Makes an account."""
    password = _password(asked, asked.say("新用户的密码：", "Password of the new user: "))
    body = {"username": asked.args.name, "password": password, "role": "admin" if asked.args.admin else "user"}
    user = await asked.client.call("POST", "/users", body)
    return Outcome(user, [asked.say("已添加用户 {name}", "Added {name}", name=user["username"])])


async def list_users(asked: Asked) -> Outcome:
    """Lists accounts."""
    say = asked.say
    users: list[dict[str, Any]] = []
    page = 1
    while True:
        found = await asked.client.call("GET", "/users", query={"page": page, "per_page": 100})
        users += found["items"]
        if len(users) >= found["total"] or not found["items"]:
            break
        page += 1
    head = ["ID", say("用户名", "NAME"), say("角色", "ROLE"), say("停用", "DISABLED"), say("创建时间", "CREATED")]
    rows = [[u["id"], u["username"], u["role"], _yes(asked, u["disabled"]), u["created_at"]] for u in users]
    return Outcome(users, table(head, rows))


async def disable_user(asked: Asked) -> Outcome:
    """Disables an account, or enables it again."""
    user = await asked.client.call("PATCH", _user(asked), {"disabled": not asked.args.enable})
    state = asked.say("已停用", "disabled") if user["disabled"] else asked.say("已启用", "enabled")
    return Outcome(user, [f"{user['username']}: {state}"])


async def set_password(asked: Asked) -> Outcome:
    """Sets one's own password, or, for administrators, another person's."""
    say = asked.say
    if asked.args.name is None:
        current = _password(asked, say("当前密码：", "Current password: "))
        new = _password(asked, say("新密码：", "New password: "))
        await asked.client.call("PUT", "/me/password", {"current": current, "new": new})
    else:
        new = _password(asked, say("新密码：", "New password: "))
        await asked.client.call("PATCH", _user(asked), {"password": new})
    return Outcome({"changed": True}, [say("密码已修改", "The password is changed")])


def _user(asked: Asked) -> str:
    return f"/users/{quote(asked.args.name, safe='')}"


def _yes(asked: Asked, value: bool) -> str:
    return asked.say("是", "yes") if value else asked.say("否", "no")


def _ask(prompt: str) -> str:
    sys.stderr.write(prompt)
    sys.stderr.flush()
    return sys.stdin.readline().strip()


def _password(asked: Asked, prompt: str) -> str:
    """From the terminal, or with --password-stdin the next line of the input."""
    if asked.args.password_stdin:
        return sys.stdin.readline().rstrip("\n")
    return getpass.getpass(prompt)
