"""`starlight forward`: one HTTP/1.1 Upgrade on an entry's own host, over TLS, makes a connection into it.

`GET /.starlight/forward` with `Upgrade: starlight-forward` and the person's X-Starlight-Token (a cookie counts
for nothing here: no page can ask in somebody's name). The answer's header X-Starlight-Forward says what follows:

- `frames` at a tcp entry: the frames of gateway.contract.bridge both ways: DATA, EOF (this direction has
  ended, the other goes on), and towards the person ERROR with a refusal when the visit is cut. TLS itself
  could not carry the end of one direction through every library.
- `http` at an http or https entry: requests to that entry, whatever Host they name, as if each carried the token.
  They stay requests: what the gateway tells an app of its visitor cannot be forged by tunnelling.
"""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import dataclass, replace
from typing import Final

from gateway import cancellation
from gateway.contract.bridge import FRAME_HEAD_BYTES, FrameKind, decode_frame_head, encode_frame
from gateway.contract.routes import Entry, Protocol
from gateway.core.http1 import Fields, RequestHead, split_host
from gateway.core.refusals import Code, Refusal, sentence
from gateway.core.table import Table
from gateway.entries.http.admit import TOKEN_HEADER, Front
from gateway.entries.http.stream import Stream
from gateway.wire.visits import Visit

log = logging.getLogger(__name__)

PATH: Final = b"/.starlight/forward"
PROTOCOL: Final = b"starlight-forward"
PAYLOAD_BYTES: Final = 32 * 1024
"""Bytes of one frame's payload, so that a whole frame fits into the buffer of the connection it comes on."""


def is_asked(front: Front, head: RequestHead) -> bool:
    """Whether the request asks for a tunnel: over TLS only, a token travels with it."""
    return front.scheme == "https" and head.target == PATH


def place(table: Table, head: RequestHead, server_name: str | None) -> Entry | Refusal:
    """The entry that a tunnel is to lead to: by its host name, whatever port it is served on."""
    host, _ = split_host(head.host)
    if server_name is not None and server_name != host:
        return Refusal(Code.MISDIRECTED)
    return table.entry_by_name(host) or Refusal(Code.UNKNOWN_HOST)


def accepts(entry: Entry) -> bytes:
    """The answer after which the tunnel stands."""
    mode = b"frames" if entry.protocol is Protocol.TCP else b"http"
    return (
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: " + PROTOCOL + b"\r\n"
        b"X-Starlight-Forward: " + mode + b"\r\n\r\n"
    )


@dataclass(frozen=True, slots=True)
class Bound:
    """A connection whose requests all go to one entry on one token."""

    entry_id: int
    bearer: bytes | None

    def place(self, table: Table) -> Entry | Refusal:
        """The entry, while it is there."""
        return table.entry(self.entry_id) or Refusal(Code.UNKNOWN_HOST)

    def carry(self, head: RequestHead) -> RequestHead:
        """The request as if it carried the token itself; what it says of tokens on its own counts for nothing."""
        values = {name: value for name, value in head.fields.values.items() if name != TOKEN_HEADER}
        if self.bearer is not None:
            values[TOKEN_HEADER] = self.bearer
        return replace(head, fields=Fields(head.fields.lines, values))


class Tunnel:
    """Frames of a person on one side, an app's bytes on the other. State: who has ended."""

    def __init__(self, down: Stream, up: Stream, visit: Visit) -> None:
        self._down = down
        self._up = up
        self._visit = visit
        self._inward_over = asyncio.Event()

    async def run(self) -> None:
        """Serves until both directions have ended, or either side is lost; then neither goes on."""
        self._up.on_lost = None
        try:
            async with asyncio.TaskGroup() as group:
                inward = group.create_task(self._inward())
                await self._outward()
                await self._inward_over.wait()
                inward.cancel()
            self._up.close()
        except* ConnectionError as faults:
            log.debug("visit=%s ended: %s", self._visit.id, faults.exceptions)
            self._up.abort()
            self._down.abort()
        cancellation.pass_on()

    def cut(self, refusal: Refusal) -> None:
        """Tells the person why and ends both sides now."""
        said = {"code": str(refusal.code), "zh": sentence(refusal, "zh"), "en": sentence(refusal, "en")}
        self._down.write(encode_frame(FrameKind.ERROR, json.dumps(said, ensure_ascii=False).encode()))
        self._down.close()
        self._up.abort()

    async def _inward(self) -> None:
        """The person's frames to the app; after their end only a loss is waited for."""
        while (frame := await self._frame()) is not None:
            self._visit.count(len(frame), 0)
            self._up.write(frame)
            await self._up.drained()
        self._up.end()
        self._inward_over.set()
        await self._down.more()
        raise ConnectionResetError("the person is gone, or goes on after the end")

    async def _frame(self) -> bytes | None:
        """The next DATA frame's payload; None at EOF. Raises ConnectionError for anything else."""
        try:
            kind, length = decode_frame_head(await self._exactly(FRAME_HEAD_BYTES))
        except ValueError as fault:
            raise ConnectionResetError(f"malformed frame: {fault}") from fault
        if kind not in (FrameKind.DATA, FrameKind.EOF) or length > PAYLOAD_BYTES or (kind is FrameKind.EOF and length):
            raise ConnectionResetError("a frame that a person does not send")
        return await self._exactly(length) if kind is FrameKind.DATA else None

    async def _exactly(self, count: int) -> bytes:
        while len(self._down.buffer) < count:
            if not await self._down.more():
                raise ConnectionResetError("the person's side broke off")
        return self._down.take(count)

    async def _outward(self) -> None:
        """The app's bytes to the person, no faster than they take them; the app's end becomes EOF."""
        while self._up.buffer or await self._up.more():
            data = self._up.take(min(len(self._up.buffer), PAYLOAD_BYTES))
            self._visit.count(0, len(data))
            self._down.write(encode_frame(FrameKind.DATA, data))
            await self._down.drained()
        if not self._up.eof:
            raise ConnectionResetError("the app broke off")
        self._down.write(encode_frame(FrameKind.EOF))
