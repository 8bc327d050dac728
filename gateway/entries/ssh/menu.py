"""Shows the menu on a session's terminal: core/menu.py thinks, this waits and writes."""

from __future__ import annotations

import asyncio
from typing import Final

from gateway.core.menu import Chosen, Left, Menu
from gateway.core.refusals import Code, Refusal, sentence
from gateway.core.table import Way
from gateway.entries.ssh.ends import End, Inlet, Item, Outlet, Resize, Signal
from gateway.entries.ssh.guest import Guest

_REFRESH_S: Final = 1.0
_IDLE_S: Final = 1800.0
"""An untouched menu goes away after half an hour."""


async def choose(
    guest: Guest, inlet: Inlet, outlet: Outlet, term: str, size: tuple[int, int], language: str, said: Refusal | None
) -> Way | Refusal | None:
    """The job that the person picks, None when they leave, a Refusal when they may not stay.

    `said` is why the job that they picked before was not entered. What they type ahead goes back to
    the inlet. Raises ConnectionError when the channel is closed.
    """
    menu = Menu(guest.visitor.user_id or 0, guest.visitor.name, language, term)
    menu.resize(*size)
    menu.show(guest.routing.ways())
    if said is not None:
        menu.say(sentence(said, language))
    seen, loop = guest.gate.table.revision, asyncio.get_running_loop()
    touched = loop.time()
    while True:
        await outlet.write(menu.draw(guest.gate.now()))
        item = await _next(inlet)
        if item is not None:
            touched = loop.time()
            done = _take(menu, item)
            if isinstance(done, Chosen):
                inlet.give_back(done.rest)
                await outlet.write(menu.farewell(done.way))
                return done.way
            if done is not None:
                await outlet.write(b"\r\n")
                return None
        if loop.time() - touched > _IDLE_S:
            return Refusal(Code.TIMEOUT)
        if guest.gate.table.revision != seen:
            seen = guest.gate.table.revision
            if not guest.known():
                return Refusal(Code.WITHDRAWN)
            menu.show(guest.routing.ways())


async def _next(inlet: Inlet) -> Item | None:
    """What the client sends, or None after a while: then the list may need a refresh."""
    try:
        async with asyncio.timeout(_REFRESH_S):
            return await inlet.get()
    except TimeoutError:
        return None


def _take(menu: Menu, item: Item) -> Chosen | Left | None:
    match item:
        case bytes():
            return menu.type(item)
        case Resize():
            menu.resize(item.columns, item.rows)
            return None
        case Signal():
            return Left() if item.name in {"INT", "TERM", "HUP"} else None
        case End():
            return Left()
