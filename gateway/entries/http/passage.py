"""One request's way to an upstream, and the answer's way back (RFC 9110, 7; RFC 9112, 9).

Request and response flow at once, each with its own back-pressure. An answer that breaks off is cut
off downstream too: whatever its framing, nobody can take it for the whole.
"""

from __future__ import annotations

import asyncio
from enum import Enum
from typing import Final

from gateway.core import headers, http1
from gateway.core.bodies import Chunked, Length, request_body, response_body
from gateway.core.headers import Origin
from gateway.core.http1 import Malformed, RequestHead, ResponseHead
from gateway.entries.http.flow import Flow, Outcome
from gateway.entries.http.joint import Joint
from gateway.entries.http.stream import CONTINUE, Stream
from gateway.entries.http.upstream import Way

CONTINUE_S: Final = 1.0
"""Seconds for which an app may keep silent on `Expect: 100-continue` before the body is asked for all the same."""
BRIEF_BYTES: Final = 8 * 1024
_INTERIM_LIMIT: Final = 32
"""Interim (1xx) responses of one request."""


class Fate(Enum):
    """How a passage ended, for the person's connection."""

    COMPLETE = "the answer is complete and the connection may carry another request"
    CLOSING = "the answer is complete and the connection ends with it"
    UNANSWERED = "upstream ended without a byte of an answer"
    FAULTY = "what upstream sent is no HTTP response; nothing of it went on"
    MALFORMED = "the request's body breaks its own framing; nothing was answered"
    TOO_LONG = "the request's body holds more than the entry takes; nothing was answered"
    CUT = "the answer, or the request, broke off midway"


class Passage:
    """One request. `begun`: the final response's head went out. `keeps_upstream`: upstream may carry another request.

    `closes` makes the answer the last one of the person's connection. `said` is the head that was sent upstream.
    `brief`: a request without a body was answered by one of a known small length.
    """

    def __init__(self, head: RequestHead, down: Stream, origin: Origin, way: Way, *, closes: bool) -> None:
        """`way` tells what is said to its end beside the request, and whose cookies pass."""
        self.head = head
        self.begun = False
        self.keeps_upstream = False
        self.closes = closes
        self.brief = False
        self.said = b""
        self.upgrade = http1.upgrade_of(head)
        self.repeatable = (
            self.upgrade is None and head.method in (b"GET", b"HEAD", b"OPTIONS") and request_body(head).done
        )
        self._down = down
        self._body_limit = way.body_limit
        self._origin = origin
        self._host = way.host
        self._identity = way.identity
        self._cors = way.cors
        self._awaits_continue = head.version == http1.HTTP_1_1 and head.value(b"expect") is not None

    async def through(self, up: Stream, *, sent: bool = False) -> Fate | Joint:
        """Sends the request over `up`, unless it was `sent`, and the answer back; after a 101 the two are to be joined.

        Raises nothing but CancelledError.
        """
        up.answered = up.answered and sent
        self.said = headers.request_head(
            self.head, self._origin, upgrade=self.upgrade, own_cookies=self._host is None, identity=self._identity
        )
        sent_body = request_body(self.head, self._body_limit)
        upload = Flow(self._down, up, sent_body, aborts=(up,))
        upload.start(b"" if sent else self.said)
        try:
            answer = await self._final_head(up)
        except Malformed:
            return Fate.FAULTY
        except ConnectionError:
            answer = None
        if answer is None:
            over = isinstance(sent_body, Chunked) and sent_body.over
            return Fate.TOO_LONG if over else self._unanswered(upload, silent=not up.answered)
        if answer.status == http1.SWITCHING:
            said, upgrade = headers.response_head(answer, self._host, closes=False), self.upgrade or b""
            return Joint(self._down, up, said, websocket=upgrade.lower() == b"websocket")
        return await self._body(up, answer, upload)

    def _unanswered(self, upload: Flow, *, silent: bool) -> Fate:
        upload.stop()
        if upload.outcome is Outcome.MALFORMED:
            return Fate.MALFORMED
        if self._down.lost or (self._down.eof and upload.outcome is not Outcome.DONE):
            return Fate.CUT
        return Fate.UNANSWERED if silent else Fate.FAULTY

    # The answer's head.

    async def _final_head(self, up: Stream) -> ResponseHead | None:
        """The final response's head, or that of 101; interim ones are relayed on the way."""
        for _ in range(_INTERIM_LIMIT):
            raw = await self._head(up)
            if raw is None:
                return None
            answer = http1.parse_response(raw)
            if answer.status == http1.SWITCHING:
                self._check_switch(answer)
                return answer
            if answer.status >= 200:
                return answer
            self._interim(answer)
        raise Malformed("no end of interim responses")

    async def _head(self, up: Stream) -> bytes | None:
        if not self._awaits_continue:
            return await up.head()
        try:
            async with asyncio.timeout(CONTINUE_S):
                return await up.head()
        except TimeoutError:
            self._awaits_continue = False
            self._down.write(CONTINUE)
            return await up.head()

    def _interim(self, answer: ResponseHead) -> None:
        if self.head.version == http1.HTTP_1_0:
            return  # RFC 9110, 15.2: HTTP/1.0 knows no interim responses
        if answer.status == http1.CONTINUE:
            if not self._awaits_continue:
                return  # it was not asked for, or was said already
            self._awaits_continue = False
        self._down.write(headers.response_head(answer, self._host, closes=False))

    def _check_switch(self, answer: ResponseHead) -> None:
        accepted = answer.value(b"upgrade")
        if self.upgrade is None or accepted is None or accepted.lower() != self.upgrade.lower():
            raise Malformed("a switch to a protocol that was not asked for")

    # The answer's body.

    async def _body(self, up: Stream, answer: ResponseHead, upload: Flow) -> Fate:
        body = response_body(answer, self.head.method)
        whole_needed = not body.done and not body.ends_with_connection
        if whole_needed and not up.buffer and (up.eof or up.lost):
            return Fate.FAULTY
        uploaded = upload.outcome is Outcome.DONE
        keeps = uploaded and http1.keeps_alive(self.head) and not body.ends_with_connection and not self.closes
        self.keeps_upstream = uploaded and http1.keeps_alive(answer) and not body.ends_with_connection
        self.brief = self.repeatable and isinstance(body, Length) and body.left <= BRIEF_BYTES
        unchunk = self.head.version == http1.HTTP_1_0
        flow = Flow(up, self._down, body, unchunk=unchunk)
        self.begun = True
        flow.start(
            headers.response_head(
                answer,
                self._host,
                closes=not keeps,
                unchunked=unchunk and isinstance(body, Chunked),
                cors=self._cors,
            )
        )
        outcome = flow.outcome or await flow.wait()
        self.keeps_upstream = self.keeps_upstream and not up.buffer
        if outcome is not Outcome.DONE:
            return Fate.CUT
        upload.stop()
        return Fate.COMPLETE if keeps else Fate.CLOSING
