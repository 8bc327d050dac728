"""A job's log: byte ranges, the times of its bytes, and a stream that follows it."""

from __future__ import annotations

import json
from typing import Final, Literal

from aiohttp import web
from pydantic import Field

from control.actions import logs, sessions
from control.actions.logs import CHUNK_BYTES, JobLog
from control.api.asked import Asked
from control.api.route import Media, Query, route
from control.api.sockets import SIGN_IN_AGAIN, Channel, serve_socket
from control.api.values import Line
from control.domain.instants import rfc3339

_LIMIT_BYTES: Final = 1024 * 1024
_MOST_BYTES: Final = 16 * 1024 * 1024
_BIGGEST: Final = 2**53
_LOOK_S: Final = 0.25
"""How often a followed log is looked at for new bytes."""
_CHECK_LOOKS: Final = 4
"""Every so many quiet looks it is asked whether the job has ended and the reader may still read."""


class LogQuery(Query):
    """Which bytes: `from` counts from the start, or from the end when negative."""

    start: int = Field(default=0, alias="from", ge=-_BIGGEST, le=_BIGGEST)
    limit: int = Field(default=_LIMIT_BYTES, ge=1, le=_MOST_BYTES)
    times: Literal["1"] | None = None
    node: Line | None = None
    container: Line | None = None


class FollowQuery(Query):
    """Where to begin; negative counts from the end."""

    start: int = Field(default=0, alias="from", ge=-_BIGGEST, le=_BIGGEST)
    node: Line | None = None
    container: Line | None = None
    language: Line | None = None


async def read_log(asked: Asked, job: str, query: LogQuery) -> web.StreamResponse:
    """The job's output, byte for byte: at most `limit` bytes from `from`.

    Past the end there are none, which is no error. `X-Log-Length` tells how long the log is now, `X-Log-From` where
    these bytes start. With `times=1` the answer is JSON: `{length, items: [{offset, at}]}`, when this range came.
    """
    async with logs.open_log(asked.ctx, asked.who, job) as log:
        length = log.length
        first = log.start_of(query.start, length)
        last = min(length, first + query.limit)
        headers = {
            "X-Log-Length": str(length),
            "X-Log-From": str(first),
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
        }
        if query.times is not None:
            return await _print_times(log, first, last, headers)
        return await _send_bytes(asked.request, log, first, last, headers)


async def follow_log(asked: Asked, job: str, query: FollowQuery) -> web.WebSocketResponse:
    """A WebSocket that follows the job's output.

    First the text `{"from", "length"}`, then the bytes as binary messages, and when the job has ended and all is
    sent the text `{"end": true, "length"}`.
    """

    async def speak(channel: Channel) -> None:
        await _follow(asked, job, query.start, channel)

    async with logs.open_log(asked.ctx, asked.who, job):
        pass  # what is to be refused is refused before the upgrade, with a problem
    return await serve_socket(asked, speak)


async def _follow(asked: Asked, job: str, start: int, channel: Channel) -> None:
    offset: int | None = None
    done = False
    while not done:
        async with logs.open_log(asked.ctx, asked.who, job) as log:
            if offset is None:
                length = log.length
                offset = log.start_of(start, length)
                await channel.say(json.dumps({"from": offset, "length": length}))
            offset, done = await _pour(asked, job, log, channel, offset)


async def _pour(asked: Asked, job: str, log: JobLog, channel: Channel, offset: int) -> tuple[int, bool]:
    """Sends what comes after `offset`, until the job has ended or a log that was not there yet is to be opened anew.

    Returns the offset reached, and whether all is said.
    """
    looks = 0
    while not channel.has_left:
        offset = await _pour_all(log, channel, offset)
        looks += 1
        if looks % _CHECK_LOOKS == 0:
            if not await sessions.still_there(asked.ctx, asked.who):
                await channel.end(SIGN_IN_AGAIN, "sign_in_required")
                return offset, True
            if await logs.has_ended(asked.ctx, asked.who, job):
                offset = await _pour_all(log, channel, offset)  # what came between the last look and the end
                await channel.say(json.dumps({"end": True, "length": offset}))
                return offset, True
            if not log.is_there:
                return offset, False
        await channel.pause(_LOOK_S)
    return offset, True


async def _pour_all(log: JobLog, channel: Channel, offset: int) -> int:
    while chunk := await log.read(offset, CHUNK_BYTES):
        await channel.pour(chunk)
        offset += len(chunk)
    return offset


async def _send_bytes(
    request: web.Request, log: JobLog, first: int, last: int, headers: dict[str, str]
) -> web.StreamResponse:
    answer = web.StreamResponse(headers=headers)
    answer.content_type = Media.BYTES.value
    answer.content_length = last - first
    await answer.prepare(request)
    while first < last:
        chunk = await log.read(first, last - first)
        if not chunk:
            break
        await answer.write(chunk)
        first += len(chunk)
    await answer.write_eof()
    return answer


async def _print_times(log: JobLog, first: int, last: int, headers: dict[str, str]) -> web.Response:
    items = [{"offset": moment.offset, "at": rfc3339(moment.at)} for moment in await log.moments(first, last)]
    return web.json_response({"length": log.length, "items": items}, headers=headers)


ROUTES: Final = (
    route("GET", "/jobs/{job}/logs", read_log, media=Media.BYTES),
    route("GET", "/jobs/{job}/logs/stream", follow_log, status=101, media=Media.WEBSOCKET),
)
