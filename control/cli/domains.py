"""`starlight entry domain`: how far an entry's own domain is, another certificate for it, the next step towards one."""

from __future__ import annotations

from typing import Any

from control.cli.files import domain_wish
from control.cli.names import find_entry
from control.cli.outcome import Asked, Outcome


async def look(asked: Asked) -> Outcome:
    """Replaces an entry's domain or its certificate and key when they are given, else asks the name service again.

    An administrator can confirm whose the domain is; its owner can say that the record of dns-01 stands.
    """
    wish = domain_wish(asked.args)
    path = f"/entries/{await find_entry(asked, asked.args.entry)}"
    if wish:
        shown = await asked.client.call("PATCH", path, wish)
    else:
        verb = "approve" if asked.args.approve else "continue" if asked.args.go_on else "check"
        shown = await asked.client.call("POST", f"{path}/domain/{verb}")
    return Outcome(shown, _lines(asked, shown))


def _lines(asked: Asked, entry: dict[str, Any]) -> list[str]:
    state, certificate = entry["domain_state"], entry["certificate"]
    say = asked.say
    proof = state["proof"] or say("尚未证明", "not proved")
    lines = [
        say("域名：{domain}", "Domain: {domain}", domain=state["domain"]),
        say("归属：{proof}", "Owner: {proof}", proof=proof),
        say("指向平台：{points}", "Points here: {points}", points=state["points"]),
        say("证书有效期至：{end}", "Certificate ends: {end}", end=certificate["not_after"] if certificate else "-"),
    ]
    said = [state["message"], state["acme"]["message"] if state["acme"] else None]
    return lines + list(dict.fromkeys(line for line in said if line))
