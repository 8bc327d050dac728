"""GET /live: what changes, as it changes, for the console; one socket a tab.

It is a level, not an edge: the page holds a revision, gets every job that changed after it whole, and
comes back with the last revision it saw. A lost socket costs time, never truth.
"""

from __future__ import annotations

import json
from typing import Final

from aiohttp import web
from pydantic import Field

from control.actions import live, sessions
from control.actions.live import News, Watch
from control.api.asked import Asked
from control.api.route import Media, Query, route
from control.api.shapes.jobs import print_job
from control.api.sockets import SIGN_IN_AGAIN, Channel, serve_socket
from control.api.values import Line
from control.domain.instants import rfc3339

TICK_S: Final = 15.0
_PAUSE_S: Final = 0.1
"""The least time between two messages: a burst of changes becomes one."""


class LiveQuery(Query):
    """Where the page stopped (`from`, absent: now), and its language. `owner=*` is for administrators."""

    revision: int = Field(default=0, alias="from", ge=0)
    language: Line | None = None
    owner: Line | None = None


async def watch_live(asked: Asked, query: LiveQuery) -> web.WebSocketResponse:
    """A WebSocket that tells what changes for the signed-in person.

    First `{"hello": {"revision", "reset"}}`; `reset` means: fetch again what you show. Then
    `{"revision", "jobs": [Job], "shared": bool}` for each change, and `{"tick": TIME}` every 15 s.
    Closes with 4401 when the sign-in ends, 1012 when control restarts, 1013 for a reader that is too slow.
    """

    async def speak(channel: Channel) -> None:
        async with live.watch(asked.ctx.db.hints, asked.who) as watched:
            channel.when_left(watched.told.set)
            await _tell(asked, query, channel, watched)

    return await serve_socket(asked, speak)


async def _tell(asked: Asked, query: LiveQuery, channel: Channel, watched: Watch) -> None:
    head = await live.head(asked.ctx)
    knows = 0 < query.revision <= head
    revision = query.revision if knows else head
    await channel.say(json.dumps({"hello": {"revision": revision, "reset": not knows}}))
    news = News(jobs=knows, shared=knows)
    while not channel.has_left:
        revision = await _tell_news(asked, query, channel, news, revision)
        news = await watched.next(TICK_S)
        if news == News() and not channel.has_left:
            await channel.say(json.dumps({"tick": rfc3339(asked.ctx.now())}))
        if (news.account or news == News()) and not await sessions.still_there(asked.ctx, asked.who):
            await channel.end(SIGN_IN_AGAIN, "sign_in_required")
            return
        await channel.pause(_PAUSE_S)


async def _tell_news(asked: Asked, query: LiveQuery, channel: Channel, news: News, revision: int) -> int:
    """Tells all there is to tell after `revision`, and returns the revision reached."""
    shared = news.shared
    while news.jobs or shared:
        changed, revision = await live.changes(asked.ctx, asked.who, revision, everyone=query.owner == "*")
        if changed or shared:
            jobs = [print_job(each, asked.language, asked.ctx.settings).model_dump(mode="json") for each in changed]
            message = {"revision": revision, "jobs": jobs, "shared": shared}
            await channel.say(json.dumps(message, ensure_ascii=False))
        if not changed:
            break
        shared = False
    return revision


ROUTES: Final = (route("GET", "/live", watch_live, status=101, media=Media.WEBSOCKET),)
