"""One person's connection: request after request, each admitted on its own, until either side has enough.

State: the visit that stands in the list of live ones with the way it leads, and what the connection does since when.
Deadlines are watched by the listener's sweep, which costs less than a timer for each request.
"""

from __future__ import annotations

import asyncio
import logging
import math
from dataclasses import replace
from http import HTTPStatus
from typing import Any, Final

from gateway.contract.routes import Entry, Protocol, Service
from gateway.core import cors, http1
from gateway.core.bodies import request_body
from gateway.core.decide import Admission, Ask
from gateway.core.headers import Origin, is_foreign_origin
from gateway.core.http1 import Malformed, RequestHead
from gateway.core.refusals import Code, Refusal
from gateway.core.sniff import Speech, sniff
from gateway.entries.http import answers, assets, hop, tunnel
from gateway.entries.http.admit import TOKEN_HEADER, Console, Doorman, Front, over_limits, place
from gateway.entries.http.errand import Errand
from gateway.entries.http.forward import Forwarder
from gateway.entries.http.joint import HALF_CLOSED_S, Joint
from gateway.entries.http.lane import Lane
from gateway.entries.http.passage import Fate
from gateway.entries.http.standing import Standing
from gateway.entries.http.stream import Stream
from gateway.entries.http.terminal import SOCKET, Terminal
from gateway.entries.http.upstream import QUIET_S, Way, way_to_app, way_to_control
from gateway.wire import identity
from gateway.wire.dial import DialFault
from gateway.wire.visits import Cut

log = logging.getLogger(__name__)

HEAD_S: Final = 30.0
"""Seconds for a whole request head, and for the first one to begin."""
KEPT_S: Final = 75.0
"""Seconds for which a connection may rest between two requests."""
LINGER_S: Final = 2.0
"""Seconds to read on after a refusal, so that closing does not reset the answer away (RFC 9112, 9.6)."""
_OURS: Final = b"/.starlight/"
JWKS: Final = b"/.starlight/jwks.json"
KEYS_CACHE: Final = "public, max-age=300"


class Conversation:
    """Serves one connection. `server_name` is what TLS asked for; `misplaced` marks plain HTTP on a TLS port."""

    def __init__(
        self,
        front: Front,
        down: Stream,
        *,
        address: str | None = None,
        server_name: str | None = None,
        misplaced: bool = False,
    ) -> None:
        self._front = front
        self._gate = front.gate
        self._down = down
        self._server_name = server_name
        self._misplaced = misplaced
        self._origin = Origin(down.peer_address() if address is None else address, front.scheme)
        self._doorman = Doorman(front)
        self._lane = Lane(down, self._gate.table)
        self._forwarder = Forwarder(down, self._origin, self._lane, front.pool, front.lessons)
        self._standing = Standing(self._gate, front.scheme, self._origin.address, self.cut)
        self._way: Way | None = None
        self._bound: tunnel.Bound | None = None
        self._way_since = 0.0
        self._cors: list[answers.Header] = []
        self._cut: Cut | None = None
        self._joint: Joint | None = None
        self._draining = False
        self._busy = False
        self._since = asyncio.get_running_loop().time()
        self._rest_s = HEAD_S
        self._quiet_s = QUIET_S
        self._late = Refusal(Code.TIMEOUT)
        down.on_lost = self._forwarder.abort

    async def run(self) -> Joint | None:
        """Serves requests until the connection ends; leaves nothing open behind but what it became after a 101."""
        try:
            while await self._request():
                self._rest()
            if self._joint is None:
                self._forwarder.part()  # the person's next connection may come before this one has ended
                down = self._down
                self._cut = lambda _: down.abort()  # what is still on its way there is no more theirs, either
                await down.part(LINGER_S)
        except ConnectionError as fault:
            log.debug("from=%s ended: %s", self._origin.address, fault)
        finally:
            if self._joint is None:
                self._forwarder.part()
                self._down.abort()
            self._down.on_lost = None  # nothing is left to tell, and rings would wait for the garbage collector
            self._lane.end()
            self._count()
            self._standing.leave()
        return self._joint

    def go_on(self, errand: Errand) -> None:
        """The request that waits was sent upstream already, on a visit that goes on as this conversation's."""
        self._standing.take_over(errand.visit)
        self._forwarder.go_on(errand.up, errand.key)
        errand.end_if_cut(self._down)

    def sweep(self, now: float) -> None:
        """Ends what has waited too long; called about once a second."""
        if self._way is not None and now - self._way_since > identity.REUSE_S:
            self._way = None  # what it says of the person to the app is to be fresh
        self._count()
        if self._busy:
            moved_at = max(self._down.moved_at, self._forwarder.moved_at())
            quiet_s = min(self._quiet_s, HALF_CLOSED_S) if self._down.eof else self._quiet_s
            if now - moved_at > quiet_s:
                self.cut(self._late)
            return
        if self._lane.sweep():
            return
        if self._lane.is_open:
            self._since = max(self._since, self._down.moved_at)
        self._forwarder.tidy(now)
        if self._down.buffer and self._rest_s == KEPT_S:
            self._since, self._rest_s = now, HEAD_S  # the next head has begun
        if now - self._since > self._rest_s:
            self._expire()

    def cut(self, refusal: Refusal) -> None:
        """Ends what is going on now, telling the person the refusal where there is still a way to."""
        self._draining = True  # whatever is said now is the last on this connection
        if self._lane.close():
            self._forwarder.cut(refusal)
        elif self._cut is not None:
            self._cut(refusal)
        else:
            self._down.close()

    def drain(self) -> None:
        """Takes no further request: a resting connection ends now, a busy one after its answer."""
        self._draining = True
        self._lane.close()
        self._forwarder.drain()
        if not self._busy and not self._down.buffer:
            self._down.close()

    async def _request(self) -> bool:
        """Serves the next request; whether another may follow."""
        try:
            head = await self._next_head()
        except Malformed as fault:
            log.info("from=%s malformed: %s", self._origin.address, fault)
            return self._refuse(None, answers.malformed(fault.status), code=fault.status)
        if head is None:
            return False
        self._busy, self._quiet_s, self._late = True, HEAD_S, Refusal(Code.TIMEOUT)
        if self._misplaced:
            return self._send_to_tls(head)
        if head.value(b"expect") not in (None, b"100-continue"):
            return self._refuse(head, Refusal(Code.BAD_REQUEST), code=HTTPStatus.EXPECTATION_FAILED)
        if tunnel.is_asked(self._front, head):
            return await self._forwarded(head)
        where: Entry | Console | Refusal
        if self._bound is None:
            where = place(self._front, head, self._server_name)
        else:
            head, where = self._bound.carry(head), self._bound.place(self._gate.table)
        if isinstance(where, Refusal):
            return self._refuse(head, where)
        if where is Console.CONSOLE:
            if head.target == JWKS:
                return self._keys(head)
            return await self._forward(head, way_to_control(self._gate, self._origin.address))
        return await self._entry(head, where)

    # A tunnel (`starlight forward`).

    async def _forwarded(self, head: RequestHead) -> bool:
        """Makes this connection one into an entry, for who shows a token that passes it."""
        entry = tunnel.place(self._gate.table, head, self._server_name)
        if isinstance(entry, Refusal):
            return self._refuse(head, entry)
        if http1.upgrade_of(head) != tunnel.PROTOCOL or self._bound is not None:
            return self._refuse(head, Refusal(Code.BAD_REQUEST), code=HTTPStatus.UPGRADE_REQUIRED)
        match self._doorman.by_token(head, entry, self._origin):
            case Admission() as admission:
                full = self._enter(admission)
                if full is not None:
                    return self._refuse(head, full)
                return await self._through(head, admission)
            case Ask():
                return self._refuse(head, Refusal(Code.SIGN_IN, entry_name=entry.name))
            case refusal:
                return self._refuse(head, refusal)

    async def _through(self, head: RequestHead, admission: Admission) -> bool:
        """Frames to a tcp entry until either side has enough, or requests to a web entry from here on."""
        entry = admission.entry
        if entry.protocol is not Protocol.TCP:
            self._bound = tunnel.Bound(entry.id, head.value(TOKEN_HEADER))
            self._lane.forget()  # what it learned led elsewhere
            self._lane.heard(b"")
            self._down.write(tunnel.accepts(entry))
            return True
        try:
            up = await way_to_app(self._gate, admission).open()
        except DialFault as fault:
            log.info("from=%s upstream: %s", self._origin.address, fault)
            return self._refuse(head, fault.refusal)
        visit = self._standing.visit
        assert visit is not None, "entered right before"
        self._down.write(tunnel.accepts(entry))
        frames = tunnel.Tunnel(self._down, up, visit)
        self._cut, self._quiet_s = frames.cut, math.inf
        await frames.run()
        return False

    async def _next_head(self) -> RequestHead | None:
        self._lane.open()
        if not self._down.buffer and not await self._down.more():
            return None
        if self._rest_s == HEAD_S and sniff(bytes(self._down.buffer[:4])) not in (Speech.HTTP, None):
            raise ConnectionResetError("the peer does not speak HTTP")
        raw = await self._down.head()
        if raw is None:
            return None
        if self._bound is None:
            self._lane.heard(raw)
        return http1.parse_request(raw)

    async def _entry(self, head: RequestHead, entry: Entry) -> bool:
        path = head.target.partition(b"?")[0]
        if path.startswith(_OURS) and (served := await self._ours(head, path, entry)) is not None:
            return served
        if entry.cors_origins and (answered := self._meet_page(head, entry)) is not None:
            return answered
        upgrades = http1.upgrade_of(head) is not None
        match self._doorman.admit(head, entry, self._origin, upgrades=upgrades):
            case Admission() as admission:
                full = self._enter(admission) or over_limits(self._gate, head, admission, self._origin)
                return self._refuse(head, full) if full else await self._admitted(head, path, admission)
            case Ask():
                return self._ask(head, entry)
            case refusal:
                return self._refuse(head, refusal, label=entry.label)

    async def _ours(self, head: RequestHead, path: bytes, entry: Entry) -> bool | None:
        """Serves what is the gateway's own on every entry, before anybody signs in; None for the rest."""
        if path == hop.CALLBACK:
            return self._say(head, hop.callback(head, closes=self._closes(head)))
        if path == hop.EXCHANGE:
            return await self._exchange(head, entry)
        return self._keys(head) if path == JWKS else None

    def _keys(self, head: RequestHead) -> bool:
        """The public keys of the statements that apps get; pages of every site may read them."""
        keys = identity.jwks(self._gate.table.secrets(identity.USE))
        anybody = [("Access-Control-Allow-Origin", "*")]
        said = answers.json_answer(head, 200, keys, headers=anybody, cache=KEYS_CACHE, closes=self._closes(head))
        return self._say(head, said)

    def _meet_page(self, head: RequestHead, entry: Entry) -> bool | None:
        """Notes whether a page that the owner named asks; answers a preflight, None for every other request."""
        origin = cors.named_origin(head, entry)
        self._cors = cors.answer_lines(origin) if origin else []
        if not cors.is_preflight(head):
            return None
        if origin is None:
            return self._refuse(head, Refusal(Code.CROSS_ORIGIN, entry_name=entry.name))
        lines, closes = cors.preflight_lines(head, origin), self._closes(head)
        return self._say(head, answers.answer(head, 204, b"", "text/plain", headers=lines, closes=closes))

    async def _admitted(self, head: RequestHead, path: bytes, admission: Admission) -> bool:
        if admission.target.service is Service.TERMINAL:
            return await self._terminal(head, path, admission)
        if path.startswith(_OURS):
            return self._refuse(head, Refusal(Code.BAD_REQUEST), code=HTTPStatus.NOT_FOUND)
        way = self._way
        if way is None:
            way = self._way = way_to_app(self._gate, admission, self._front.within)
            self._way_since = asyncio.get_running_loop().time()
        return await self._forward(head, replace(way, cors=cors.raw(self._cors)) if self._cors else way)

    async def _terminal(self, head: RequestHead, path: bytes, admission: Admission) -> bool:
        config, closes = self._gate.config, self._closes(head)
        try:
            if path == b"/" and head.method in (b"GET", b"HEAD"):
                return self._say(head, await assets.page(head, config.assets_dir, self._front.scheme, closes=closes))
            if path.startswith(assets.ASSETS):
                return self._say(head, await assets.asset(head, config.assets_dir, closes=closes))
        except FileNotFoundError as fault:
            log.info("from=%s no such file: %s", self._origin.address, fault)
        visit = self._standing.visit
        if path != SOCKET or http1.upgrade_of(head) is None or visit is None:
            return self._refuse(head, Refusal(Code.BAD_REQUEST), code=HTTPStatus.NOT_FOUND)
        terminal = Terminal(self._down, visit)
        self._cut, self._quiet_s = terminal.cut, QUIET_S
        await terminal.run(head, self._gate.bridge, admission, deadline_s=config.dial_s)
        return False

    async def _forward(self, head: RequestHead, way: Way) -> bool:
        self._cut, self._quiet_s, self._late = self._forwarder.cut, way.quiet_s, way.late
        outcome = await self._forwarder.forward(head, way)
        if isinstance(outcome, Refusal):
            return self._refuse(head, outcome)
        if isinstance(outcome, Joint):
            self._count()
            outcome.take_over(self._standing.hand_over(outcome.cut), self._quiet_s, self._late.code)
            self._joint = outcome
            return False
        if outcome is Fate.TOO_LONG:
            return self._refuse(head, Refusal(Code.BODY_TOO_LARGE))
        if outcome is Fate.MALFORMED:
            return self._refuse(head, Refusal(Code.BAD_REQUEST))
        if outcome is Fate.CUT:
            raise ConnectionResetError("the exchange broke off")
        return outcome is Fate.COMPLETE

    def _ask(self, head: RequestHead, entry: Entry) -> bool:
        """A page goes to the console to sign in; anything else is told where, and never redirected."""
        if answers.is_navigation(head):
            return self._say(head, hop.begin(self._front, head, entry, closes=self._closes(head)))
        refusal = Refusal(Code.SIGN_IN, entry_name=entry.name)
        return self._refuse(head, refusal, login_url=hop.login_url(self._front, head))

    async def _exchange(self, head: RequestHead, entry: Entry) -> bool:
        if head.method != b"POST" or head.value(b"content-type") != b"application/json":
            return self._refuse(head, Refusal(Code.BAD_REQUEST))
        if is_foreign_origin(head, self._front.scheme):
            return self._refuse(head, Refusal(Code.CROSS_ORIGIN, entry_name=entry.name))
        try:
            body = await self._down.body(head, hop.BODY_LIMIT)
        except Malformed as fault:
            return self._refuse(head, answers.malformed(fault.status), code=fault.status)
        said = await hop.exchange(self._front, head, entry, body, closes=self._draining)
        if isinstance(said, Refusal):
            return self._refuse(head, said)
        self._down.write(said)
        return not self._draining

    def _enter(self, admission: Admission) -> Refusal | None:
        """Stands in the list of live visits on this admission; returns why it does not, when there is no room."""
        self._count()
        if self._standing.on(admission):
            return None
        self._way = None
        return self._standing.enter(admission)

    def _count(self) -> None:
        self._standing.count(*self._forwarder.take_count())

    # Answers of our own, and the end.

    def _say(self, head: RequestHead | None, answer: bytes) -> bool:
        self._down.write(answer)
        return not self._closes(head)

    def _refuse(self, head: RequestHead | None, refusal: Refusal, **more: Any) -> bool:
        self._gate.metrics.refused(self._front.scheme, refusal.code)
        closes, console_url = self._closes(head), self._gate.config.console_url
        said = answers.validation(self._gate.table, head, refusal, closes=closes) or answers.refuse(
            head, refusal, console_url=console_url, closes=closes, more=self._cors, **more
        )
        self._cors = []
        return self._say(head, said)

    def _closes(self, head: RequestHead | None) -> bool:
        """Whether an answer of ours ends the connection: also when a body comes that nobody wants."""
        if head is None or self._draining or not http1.keeps_alive(head):
            return True
        return not request_body(head).done

    def _send_to_tls(self, head: RequestHead) -> bool:
        """Plain HTTP on the https port: a browser is sent to the same address with https, others are told."""
        if answers.is_navigation(head):
            url = f"https://{head.host.decode()}{head.target.decode('latin-1')}"
            return self._say(head, answers.redirect(head, url, headers=(), closes=True, code=HTTPStatus.FOUND))
        return self._refuse(head, Refusal(Code.BAD_REQUEST), code=HTTPStatus.UPGRADE_REQUIRED)

    def _expire(self) -> None:
        """The next head does not come, or not in time (408, RFC 9110, 15.5.9)."""
        if self._down.buffer:
            self._refuse(None, Refusal(Code.TIMEOUT), code=HTTPStatus.REQUEST_TIMEOUT)
        self._down.close()

    def _rest(self) -> None:
        if self._lane.underway:
            self._forwarder.drop()  # its answer would be taken for that of another request
        self._busy, self._cut, self._rest_s = False, None, KEPT_S
        self._since = asyncio.get_running_loop().time()
