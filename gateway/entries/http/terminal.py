"""A web terminal: the browser's WebSocket (RFC 6455) joined to a shell in the job, lent by its bridge.

Binary messages are the terminal's bytes, both ways. Text messages are JSON: `{"rows", "cols"}` from
the browser, first and at each resize; `{"exit": {...}}` or `{"error": {"code", "zh", "en"}}` to it.
"""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Final

from websockets.exceptions import ConnectionClosed, WebSocketException
from websockets.frames import CloseCode, Frame, Opcode
from websockets.http11 import Request
from websockets.server import ServerProtocol

from gateway import cancellation
from gateway.contract.bridge import FRAME_LIMIT, FrameKind
from gateway.core.decide import Admission
from gateway.core.http1 import RequestHead
from gateway.core.refusals import Refusal, sentence
from gateway.entries.http.stream import Stream
from gateway.wire.bridge import Bridge, Pty
from gateway.wire.dial import DialFault
from gateway.wire.frames import Frames, payload_of
from gateway.wire.visits import Visit

log = logging.getLogger(__name__)

SOCKET: Final = b"/.starlight/terminal"
PING_S: Final = 20.0
SIZE_S: Final = 10.0
"""Seconds for the browser to tell its size before the shell starts at the usual one."""
_MESSAGE_LIMIT: Final = FRAME_LIMIT
_LARGEST: Final = 1000
"""Rows or columns that a terminal may have."""


class Terminal:
    """One browser at one shell. State: the WebSocket's protocol, and the shell's frames once it runs."""

    def __init__(self, down: Stream, visit: Visit) -> None:
        self._down = down
        self._visit = visit
        self._protocol = ServerProtocol(max_size=_MESSAGE_LIMIT)
        self._frames: Frames | None = None
        self._size: tuple[int, int] | None = None
        self._early: list[tuple[bool, bytes]] = []
        self._parts: list[bytes] = []
        self._is_text = False

    async def run(self, head: RequestHead, bridge: Bridge, admission: Admission, *, deadline_s: float) -> None:
        """Serves until either side ends; `deadline_s` is for the shell to start."""
        self._shake_hands(head)
        if not await self._learn_size():
            return
        rows, cols = self._size or (24, 80)
        try:
            sock = await bridge.shell(
                admission, command=None, env={}, pty=Pty(rows=rows, cols=cols), deadline_s=deadline_s
            )
        except DialFault as fault:
            log.info("visit=%s %s", self._visit.id, fault)
            self._end(fault.refusal, CloseCode.TRY_AGAIN_LATER)
            return
        async with await Frames.over(sock) as self._frames:
            if not self._protocol.close_expected():  # cut while the shell started
                await self._join(self._frames)

    def cut(self, refusal: Refusal) -> None:
        """Tells the browser why, and ends both sides now."""
        self._end(refusal, CloseCode.POLICY_VIOLATION)
        if self._frames is not None:
            self._frames.abort()
        else:
            self._down.close()

    # The two directions.

    async def _join(self, frames: Frames) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                others = [group.create_task(self._inward(frames)), group.create_task(self._keep_alive())]
                await self._outward(frames)
                for task in others:
                    task.cancel()
        except* (ConnectionError, WebSocketException) as faults:
            log.debug("visit=%s ended: %s", self._visit.id, faults.exceptions)
        cancellation.pass_on()

    async def _inward(self, frames: Frames) -> None:
        """Keystrokes and sizes to the shell; at the browser's end the shell is hung up."""
        messages = self._early
        while True:
            for is_text, message in messages:
                if not is_text:
                    self._visit.count(len(message), 0)
                    await frames.write(FrameKind.DATA, message)
                elif self._take_size(message):
                    rows, cols = self._size or (24, 80)
                    await frames.write_json(FrameKind.RESIZE, rows=rows, cols=cols)
            if self._protocol.close_expected() or not (self._down.buffer or await self._down.more()):
                frames.abort()
                return
            messages = self._messages()

    async def _outward(self, frames: Frames) -> None:
        """Output to the browser, no faster than it takes it."""
        while (frame := await frames.read()) is not None:
            kind, payload = frame
            if kind in (FrameKind.DATA, FrameKind.ERROR):
                self._visit.count(0, len(payload))
                self._protocol.send_binary(payload)
                self._flush()
                await self._down.drained()
            elif kind is FrameKind.EXIT:
                self._say({"exit": payload_of(payload)})
        self._close(CloseCode.NORMAL_CLOSURE)

    async def _keep_alive(self) -> None:
        """Pings a quiet browser; one that is silent from one ping to the second next is gone."""
        heard, silent = self._down.received, 0
        while silent < 2:
            await asyncio.sleep(PING_S)
            silent = silent + 1 if self._down.received == heard else 0
            heard = self._down.received
            self._protocol.send_ping(b"")
            self._flush()
        self._down.abort()

    # The WebSocket.

    def _shake_hands(self, head: RequestHead) -> None:
        """Accepts, or answers with the protocol's own refusal. Only what concerns WebSocket is shown to it."""
        concerned = (b"host", b"upgrade", b"connection", b"sec-websocket-")
        lines = [field.line for field in head.fields.lines if field.name.startswith(concerned)]
        self._protocol.receive_data(b"\r\n".join([b"GET / HTTP/1.1", *lines, b"", b""]))
        for event in self._protocol.events_received():
            if isinstance(event, Request):
                self._protocol.send_response(self._protocol.accept(event))
        self._flush()

    async def _learn_size(self) -> bool:
        """Waits for the first message, which tells the size; False when the browser went away instead."""
        try:
            async with asyncio.timeout(SIZE_S):
                while not self._protocol.close_expected() and (self._down.buffer or await self._down.more()):
                    self._early = self._messages()
                    if self._early:
                        is_text, message = self._early[0]
                        if is_text and self._take_size(message):
                            del self._early[0]  # the shell starts with it
                        return True
        except TimeoutError:
            return True
        return False

    def _messages(self) -> list[tuple[bool, bytes]]:
        """The whole messages among the bytes that came: whether each is text, and its content."""
        if self._down.buffer:
            self._protocol.receive_data(self._down.take(len(self._down.buffer)))
        whole = []
        for event in self._protocol.events_received():
            if isinstance(event, Frame) and event.opcode in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT):
                if event.opcode is not Opcode.CONT:
                    self._is_text = event.opcode is Opcode.TEXT
                self._parts.append(bytes(event.data))
                if event.fin:
                    whole.append((self._is_text, b"".join(self._parts)))
                    self._parts.clear()
        self._flush()
        return whole

    def _take_size(self, message: bytes) -> bool:
        """Whether the message told a size; anything else is passed over."""
        try:
            plain = json.loads(message)
        except ValueError:
            return False
        match plain:
            case {"rows": int(rows), "cols": int(cols)}:
                self._size = min(max(rows, 1), _LARGEST), min(max(cols, 1), _LARGEST)
                return True
            case _:
                return False

    def _say(self, plain: dict[str, object]) -> None:
        self._protocol.send_text(json.dumps(plain, ensure_ascii=False).encode())
        self._flush()

    def _end(self, refusal: Refusal, code: CloseCode) -> None:
        said = {"code": str(refusal.code), "zh": sentence(refusal, "zh"), "en": sentence(refusal, "en")}
        try:
            self._say({"error": said})
        except ConnectionClosed:
            return
        self._close(code, str(refusal.code))

    def _close(self, code: CloseCode, reason: str = "") -> None:
        try:
            self._protocol.send_close(code, reason)
        except WebSocketException:
            return  # the closing has begun already
        self._flush()

    def _flush(self) -> None:
        for data in self._protocol.data_to_send():
            if data:
                self._down.write(data)
