"""Shows the menu on a session's terminal: core/menu.py thinks, this waits and writes."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

from gateway.core.menu import Chosen, Left, Menu
from gateway.core.refusals import Code, Refusal, sentence
from gateway.core.table import Way
from gateway.entries.ssh.ends import End, Inlet, Item, Outlet, Resize, Signal
from gateway.entries.ssh.guest import Guest

_REFRESH_S: Final = 1.0
_IDLE_S: Final = 1800.0
"""An untouched menu goes away after half an hour."""


@dataclass(frozen=True, slots=True)
class Screen:
    """The terminal to show it on: its two ends, type, size in columns and rows, and language."""

    inlet: Inlet
    outlet: Outlet
    term: str
    size: tuple[int, int]
    language: str


async def choose(guest: Guest, screen: Screen, said: Refusal | None) -> Way | Refusal | None:
    """The job that the person picks, None when they leave, a Refusal when they may not stay.

    `said` is why the job that they picked before was not entered. What they type ahead goes back to
    the inlet. Raises ConnectionError when the channel is closed.
    """
    menu = Menu(guest.visitor.user_id or 0, guest.visitor.name, screen.language, screen.term)
    menu.resize(*screen.size)
    if said is not None:
        menu.say(sentence(said, screen.language))
    seen, touched = None, _monotonic()
    while True:
        if guest.gate.table.revision != seen:
            seen = guest.gate.table.revision
            if not guest.known():
                return Refusal(Code.WITHDRAWN)
            menu.show(guest.routing.ways())
        await screen.outlet.write(menu.draw(guest.gate.now()))
        item = await _next(screen.inlet)
        if item is None and _monotonic() - touched > _IDLE_S:
            return Refusal(Code.TIMEOUT)
        if item is not None:
            touched = _monotonic()
            if (done := _take(menu, item)) is not None:
                return await _leave(menu, screen, done)


async def _leave(menu: Menu, screen: Screen, done: Chosen | Left) -> Way | None:
    if isinstance(done, Left):
        await screen.outlet.write(b"\r\n")
        return None
    screen.inlet.give_back(done.rest)
    await screen.outlet.write(menu.farewell(done.way))
    return done.way


def _monotonic() -> float:
    return asyncio.get_running_loop().time()


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
