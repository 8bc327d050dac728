"""`starlight forward ENTRY LOCALPORT`: a private tcp or http entry on a port of this machine, through TLS."""

from __future__ import annotations

import asyncio
import json
import signal
import ssl
import sys
from typing import Any, Final

from control.cli import login
from control.cli.client import FailedError
from control.cli.names import find_entry
from control.cli.outcome import Asked, Outcome
from control.cli.tunnel import RefusedError, Way, carry

_ENDS: Final = (signal.SIGINT, signal.SIGTERM)


async def forward(asked: Asked) -> Outcome:
    """Listens on a port of this machine until Ctrl-C; each connection goes to the entry on the person's token."""
    entry = await asked.client.call("GET", f"/entries/{await find_entry(asked, asked.args.entry)}")
    if entry["protocol"] == "ssh":
        detail = asked.say("ssh 入口请直接使用：{line}", "Use an ssh entry directly: {line}", line=entry["ssh_command"])
        raise FailedError({"code": "not_forwardable", "status": 0, "detail": detail})
    way = await _way(asked, entry)
    await _listen(asked, entry, way)
    return Outcome(None, [])


async def _way(asked: Asked, entry: dict[str, Any]) -> Way:
    platform = await asked.client.call("GET", "/platform")
    held = login.load(asked.environ)
    address, port = asked.args.via or (platform["ssh_host"], platform["ports"]["https"])
    ca = asked.args.ca or (held.ca if held is not None else None)
    context = ssl.create_default_context(cafile=ca)
    if platform["authority"]:
        context.load_verify_locations(cadata=platform["authority"])
    return Way(address, int(port), entry["host"], held.token if held is not None else "", context, asked.say)


async def _listen(asked: Asked, entry: dict[str, Any], way: Way) -> None:
    carried: set[asyncio.Task[None]] = set()

    async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        mine = asyncio.current_task()
        assert mine is not None
        carried.add(mine)
        try:
            await carry(way, reader, writer)
        except RefusedError as refused:
            print(f"starlight: {refused}", file=sys.stderr, flush=True)
        except asyncio.CancelledError:
            return  # Ctrl-C: the streams of some CPython 3.11 would print a cancelled handler as a fault
        finally:
            carried.discard(mine)

    try:
        server = await asyncio.start_server(one, asked.args.bind, asked.args.local_port)
    except OSError as fault:
        where = f"{asked.args.bind}:{asked.args.local_port}"
        detail = asked.say(
            "无法监听 {where}：{why}", "Cannot listen on {where}: {why}", where=where, why=fault.strerror
        )
        raise FailedError({"code": "port_taken", "status": 0, "detail": detail}) from fault
    async with server:
        _tell(asked, entry, server.sockets[0].getsockname()[1])
        await _end_asked_for()
        server.close()
        for task in list(carried):
            task.cancel()
        if carried:
            await asyncio.wait(carried, timeout=1.0)


def _tell(asked: Asked, entry: dict[str, Any], port: int) -> None:
    """Says at once where to connect: the command goes on until it is ended."""
    if asked.args.json:
        print(json.dumps({"address": asked.args.bind, "port": port, "entry": entry["id"]}), flush=True)
        return
    line = asked.say(
        "{address}:{port} 通往入口 {name}，按 Ctrl-C 结束",
        "{address}:{port} leads to the entry {name}; Ctrl-C ends it",
        address=asked.args.bind,
        port=port,
        name=entry["name"],
    )
    print(line, flush=True)


async def _end_asked_for() -> None:
    loop, asked = asyncio.get_running_loop(), asyncio.Event()
    for number in _ENDS:
        loop.add_signal_handler(number, asked.set)
    try:
        await asked.wait()
    finally:
        for number in _ENDS:
            loop.remove_signal_handler(number)
