"""`starlight ssh-config`: what makes `ssh JOB` work, and what makes it ask nothing."""

from __future__ import annotations

from typing import Any

from control.cli.outcome import Asked, Outcome


async def ssh_config(asked: Asked) -> Outcome:
    """Prints a stanza of ~/.ssh/config for each running job that ssh reaches; or lines of known_hosts for them."""
    me = await asked.client.call("GET", "/me")
    reachable = [job["id"] for job in await _running(asked) if any(_is_door(entry) for entry in job["entries"])]
    if asked.args.known_hosts:
        return await _known_hosts(asked, reachable)
    platform = await asked.client.call("GET", "/platform")
    stanzas = [
        f"Host {job}\n    HostName {platform['ssh_host']}\n    Port {platform['ports']['ssh']}\n"
        f"    User {me['username']}+{job}\n"
        for job in reachable
    ]
    data = [{"host": job, "user": f"{me['username']}+{job}"} for job in reachable]
    return Outcome(data, "\n".join(stanzas).splitlines())


async def _known_hosts(asked: Asked, jobs: list[str]) -> Outcome:
    """The gateway's keys, and its authority, which also vouches for the jobs behind a jump."""
    known = await asked.client.call("GET", "/ssh-host-keys")
    lines = [f"{known['place']} {key['public_key']}" for key in known["keys"]]
    if known["authority"] is not None:
        names = ",".join((known["place"], *jobs))
        lines.append(f"@cert-authority {names} {known['authority']['public_key']}")
    return Outcome(lines, lines)


async def _running(asked: Asked) -> list[dict[str, Any]]:
    jobs: list[dict[str, Any]] = []
    page = 1
    while True:
        found = await asked.client.call("GET", "/jobs", query={"view": "running", "per_page": 100, "page": page})
        jobs += found["items"]
        if len(jobs) >= found["total"] or not found["items"]:
            return jobs
        page += 1


def _is_door(entry: dict[str, Any]) -> bool:
    return entry["protocol"] == "ssh" and entry["port_kind"] == "fixed" and bool(entry["active"])
