"""`starlight entry ...` and `starlight redeem`."""

from __future__ import annotations

import argparse
import asyncio
import os
import webbrowser
from pathlib import Path
from typing import Any, Final

from control.cli.client import FailedError
from control.cli.files import domain_wish
from control.cli.jobs import entry_lines
from control.cli.names import find_entry, find_job, job_path
from control.cli.outcome import Asked, Outcome
from control.cli.words import table

WAIT_S: Final = 10.0
"""Seconds for which `entry add` waits until the gateways serve the entry, unless told otherwise."""
_LOOK_S: Final = 0.1


async def add(asked: Asked) -> Outcome:
    """Adds an entry to a job, and waits a moment until the gateways serve it."""
    args = asked.args
    body = {
        "name": args.name,
        "protocol": args.protocol,
        "level": args.level,
        "target_port": None if args.terminal else args.target_port,
        "port": "random" if args.random else None,
        "service": "terminal" if args.terminal else None,
        "app_protocol": args.app_protocol,
        "app_pin": args.app_pin,
        "cors_origins": args.cors_origin,
        "limits": limits_wish(args) or None,
    }
    wish = {name: value for name, value in body.items() if value is not None} | domain_wish(args)
    job = await find_job(asked, args.job)
    entry = await asked.client.call("POST", f"{job_path(job['id'])}/entries", wish)
    if job["state"] == "running":
        entry = await _once_active(asked, entry)
    lines = entry_lines([entry], asked.say)
    return Outcome(entry, lines + ([entry["message"]] if entry["message"] and not entry["active"] else []))


async def change(asked: Asked) -> Outcome:
    """Changes who may pass, which sites' pages may call, and the limits. What is not named stays as it is."""
    args = asked.args
    entry = await asked.client.call("GET", f"/entries/{await find_entry(asked, args.entry)}")
    wish: dict[str, Any] = {} if args.level is None else {"level": args.level}
    if args.cors_origin is not None or args.no_cors_origins:
        wish["cors_origins"] = args.cors_origin or []
    if args.app_pin is not None or args.no_app_pin:
        wish["app_pin"] = args.app_pin
    limits = limits_wish(args)
    if limits or args.no_limits:
        wish["limits"] = ({} if args.no_limits else entry["limits"]) | limits
    if not wish:
        detail = asked.say("没有要修改的内容，见 --help", "Nothing to change; see --help")
        raise FailedError({"code": "nothing_to_change", "status": 0, "title": detail, "detail": detail})
    changed = await asked.client.call("PATCH", f"/entries/{entry['id']}", wish)
    return Outcome(changed, [*entry_lines([changed], asked.say), _withdrawn(asked, changed)])


async def _once_active(asked: Asked, entry: dict[str, Any]) -> dict[str, Any]:
    """The entry once every gateway serves it, or as it is when the time is up or a domain has to be proved first."""
    deadline = asyncio.get_running_loop().time() + asked.args.wait
    while not entry["active"] and (entry["domain_state"] is None or entry["domain_state"]["proof"] is not None):
        if asyncio.get_running_loop().time() >= deadline:
            break
        await asyncio.sleep(_LOOK_S)
        entry = await asked.client.call("GET", f"/entries/{entry['id']}")
    return entry


def limits_wish(args: argparse.Namespace) -> dict[str, int]:
    """The limits that options name."""
    named = {
        "connections": args.max_connections,
        "requests_per_minute": args.max_requests,
        "body_bytes": args.max_body,
    }
    return {name: value for name, value in named.items() if value is not None}


async def list_entries(asked: Asked) -> Outcome:
    """Lists a job's entries, or those that others shared."""
    if asked.args.job is not None:
        job = await find_job(asked, asked.args.job)
        return Outcome(job["entries"], entry_lines(job["entries"], asked.say))
    shared = await asked.client.call("GET", "/entries", query={"view": "shared"})
    say = asked.say
    head = [
        say("入口", "ENTRY"),
        say("名称", "NAME"),
        say("作业", "JOB"),
        say("用户", "OWNER"),
        say("访问", "REACHED BY"),
    ]
    rows = [
        [
            held["entry"]["id"],
            held["entry"]["name"],
            held["job"]["id"],
            held["job"]["owner"],
            held["entry"]["url"] or held["entry"]["ssh_command"],
        ]
        for held in shared["items"]
    ]
    hint = say(
        "以上是他人共享给您的 {total} 个入口；作业自己的入口：starlight entry list 作业id",
        "entries that others share with you: {total}; a job's own: starlight entry list JOB",
        total=shared["total"],
    )
    return Outcome(shared, [*table(head, rows), hint])


async def remove(asked: Asked) -> Outcome:
    """Removes an entry and cuts its visits."""
    done = await asked.client.call("DELETE", f"/entries/{await find_entry(asked, asked.args.entry)}")
    return Outcome(done, [_withdrawn(asked, done)])


async def share(asked: Asked) -> Outcome:
    """Shares a private entry by a code."""
    args = asked.args
    body = {"code": args.code, "expires_at": args.expires, "max_uses": args.max_uses}
    wish = {name: value for name, value in body.items() if value is not None}
    made = await asked.client.call("PUT", f"/entries/{await find_entry(asked, asked.args.entry)}/share", wish)
    code = asked.say("共享码：{code}", "Share code: {code}", code=made["code"])
    return Outcome(made, [code, asked.say("链接：{link}", "Link: {link}", link=made["link"])])


async def unshare(asked: Asked) -> Outcome:
    """Cancels sharing and cuts everyone who redeemed the code."""
    done = await asked.client.call("DELETE", f"/entries/{await find_entry(asked, asked.args.entry)}/share")
    return Outcome(done, [_withdrawn(asked, done)])


async def open_entry(asked: Asked) -> Outcome:
    """Prints an entry's address, and opens it in the browser of this machine if there is one."""
    entry = await asked.client.call("GET", f"/entries/{await find_entry(asked, asked.args.entry)}")
    where = entry["url"] or entry["ssh_command"]
    if not asked.args.json and str(where).startswith("http"):
        webbrowser.open(where)
    return Outcome(entry, [where])


async def certificate(asked: Asked) -> Outcome:
    """Issues a client certificate for a tcp entry and keeps it, with its key, in a file that only its owner reads."""
    made = await asked.client.call("POST", f"/entries/{await find_entry(asked, asked.args.entry)}/client-certificate")
    path = Path(asked.args.out or made["file_name"])
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except OSError as fault:
        await asked.client.call("DELETE", f"/client-certificates/{made['id']}")
        detail = asked.say("无法写入 {path}：{why}", "Cannot write {path}: {why}", path=path, why=fault.strerror)
        raise FailedError({"code": "file_unwritable", "status": 0, "detail": detail}) from fault
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(made["pem"])
    said = asked.say(
        "证书已写入 {path}，有效至 {end}", "{path} holds it, good until {end}", path=path, end=made["expires_at"]
    )
    return Outcome(
        {name: made[name] for name in made if name not in ("pem", "private_key")} | {"file": str(path)}, [said]
    )


async def redeem(asked: Asked) -> Outcome:
    """Redeems a share code."""
    wish = {"code": asked.args.code} | ({"entry": asked.args.entry} if asked.args.entry else {})
    opened = await asked.client.call("POST", "/shares/redeem", wish)
    return Outcome(opened, entry_lines([opened["entry"]], asked.say))


def _withdrawn(asked: Asked, done: dict[str, Any]) -> str:
    if not done["pending"]:
        return asked.say("完成，所有网关已生效", "Done; every gateway has confirmed")
    return asked.say(
        "完成，以下网关尚未确认，最迟 {by} 停止：{names}",
        "Done; these gateways have not confirmed yet and stop by {by}: {names}",
        by=done["stops_by"],
        names=", ".join(done["pending"]),
    )
