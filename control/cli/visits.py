"""`starlight entry visits` and `starlight visit cut`: who is connected, and ending one connection."""

from __future__ import annotations

from typing import Any, Final

from control.cli.names import find_entry
from control.cli.outcome import Asked, Outcome
from control.cli.words import table

_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB")


async def list_visits(asked: Asked) -> Outcome:
    """Lists who is connected through an entry now."""
    found = await asked.client.call("GET", f"/entries/{await find_entry(asked, asked.args.entry)}/visits")
    say = asked.say
    head = [
        say("连接", "VISIT"),
        say("用户", "USER"),
        say("来自", "FROM"),
        say("协议", "PROTOCOL"),
        say("开始于", "SINCE"),
        say("流入", "IN"),
        say("流出", "OUT"),
    ]
    return Outcome(found, table(head, [_row(visit) for visit in found["items"]]))


async def cut(asked: Asked) -> Outcome:
    """Ends one connection. Who still has the right may come again."""
    done = await asked.client.call("DELETE", f"/visits/{asked.args.visit}")
    if not done["pending"]:
        return Outcome(done, [asked.say("连接已断开", "The connection has ended")])
    names = ", ".join(done["pending"])
    said = asked.say("网关 {names} 尚未确认", "The gateway {names} has not confirmed yet", names=names)
    return Outcome(done, [said])


def _row(visit: dict[str, Any]) -> list[str]:
    user = visit["user"]["username"] if visit["user"] else "-"
    counts = [_size(visit[way]) for way in ("bytes_in", "bytes_out")]
    return [visit["id"], user, visit["address"], visit["protocol"], visit["since"], *counts]


def _size(count: int) -> str:
    """Bytes as people read them."""
    amount, unit = float(count), 0
    while amount >= 1024 and unit < len(_UNITS) - 1:
        amount, unit = amount / 1024, unit + 1
    return f"{count} B" if unit == 0 else f"{amount:.1f} {_UNITS[unit]}"
