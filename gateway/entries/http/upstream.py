"""Ways to the other side: a socket into the job, lent by its bridge, or control's Unix socket."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from gateway.contract.calls import short_path
from gateway.contract.routes import AppProtocol
from gateway.core.decide import Admission
from gateway.core.refusals import Code, Refusal
from gateway.entries.http import app_tls
from gateway.entries.http.stream import Stream
from gateway.entries.http2 import app as h2c
from gateway.wire import dial
from gateway.wire.gate import Gate

QUIET_S: Final = 3600.0
"""Seconds without a byte either way after which an exchange or a tunnel with an app is given up."""
CONTROL_S: Final = 30.0
"""Seconds that control may keep silent: a restart takes less."""
_RETRY_S: Final = 0.02


@dataclass(frozen=True, slots=True)
class Way:
    """Where requests go. `key` names the place: a kept connection is good for the same one only.

    `open` raises DialFault or TimeoutError. `host` guards cookies (None: control, whose own pass).
    `identity` are header lines for the app, `cors` some for the person's browser.
    `shares`: what one connection leaves behind may serve the same way of another, on the same `admission`.
    `reuses`: a kept connection takes unsafe requests too, because HTTP/2 says in time that it ends (RFC 9113, 6.8).
    `body_limit` holds for one request; `paced`: each request is counted, none takes a way around that.
    `fault` is said when `tries` connections give no answer, `late` when none comes for `quiet_s` seconds.
    """

    key: object
    open: Callable[[], Awaitable[Stream]]
    host: str | None
    fault: Refusal
    late: Refusal
    quiet_s: float
    tries: int
    identity: bytes = b""
    cors: bytes = b""
    shares: bool = False
    reuses: bool = False
    admission: Admission | None = None
    body_limit: int | None = None
    paced: bool = False


def way_to_app(gate: Gate, admission: Admission, within: object = None) -> Way:
    """To the app behind the entry. The person is part of the key: visitors do not share connections.

    People without a name share none either, but for those `within` the same connection.
    """
    person: object = admission.visitor.user_id
    person, limits = within if person is None else person, admission.entry.limits
    return Way(
        key=(person, admission.target),
        open=lambda: _open_app(gate, admission),
        host=admission.entry.host,
        fault=_refusal(Code.APP_FAULT, admission),
        late=_refusal(Code.TIMEOUT, admission),
        quiet_s=QUIET_S,
        tries=1,
        identity=gate.identity(admission),
        shares=person is not None,
        reuses=admission.target.app_protocol is AppProtocol.H2C,
        admission=admission,
        body_limit=None if limits is None else limits.body_bytes,
        paced=limits is not None and limits.requests_per_minute is not None,
    )


def way_to_control(gate: Gate, address: str) -> Way:
    """To the console and its API, for who comes from `address`.

    Control may be restarting: a request that may be repeated is, until it is back.
    """
    return Way(
        key="control",
        open=lambda: _open_control(gate, address, deadline_s=CONTROL_S),
        host=None,
        fault=Refusal(Code.CONTROL_AWAY),
        late=Refusal(Code.CONTROL_AWAY),
        quiet_s=CONTROL_S,
        tries=3,
    )


async def _open_app(gate: Gate, admission: Admission) -> Stream:
    protocol = admission.target.app_protocol
    sock = await dial.connect(admission, bridge=gate.bridge, deadline_s=gate.config.dial_s)
    try:
        if protocol is AppProtocol.H2C:
            return await h2c.join(sock)
        if protocol is AppProtocol.HTTPS:
            return await app_tls.join(sock, admission.entry.host, admission.target.app_pin)
        return await _join(sock)
    except app_tls.PinMismatchError as fault:
        raise dial.DialFault(_refusal(Code.APP_UNVERIFIED, admission), str(fault)) from fault
    except OSError as fault:
        raise dial.DialFault(_refusal(Code.APP_FAULT, admission), f"the app's TLS: {fault}") from fault


async def _open_control(gate: Gate, address: str, *, deadline_s: float) -> Stream:
    full = gate.desk.enter(address, gate.config.limits)
    if full is not None:
        raise dial.DialFault(full, f"{address} holds many connections to control, or all do")
    try:
        stream = await _connected_to_control(gate, deadline_s)
    except BaseException:
        gate.desk.leave(address)
        raise
    stream.on_lost = lambda: gate.desk.leave(address)
    return stream


async def _connected_to_control(gate: Gate, deadline_s: float) -> Stream:
    # The listener is the supervisor's: while control restarts, connections wait in its backlog.
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    try:
        async with asyncio.timeout(deadline_s):
            await _connect(sock, str(gate.config.run_dir / "control.sock"))
    except BaseException:
        sock.close()
        raise
    return await _join(sock)


async def _join(sock: socket.socket) -> Stream:
    """A Stream over a connected socket, which it owns from now on."""
    stream = Stream(sock=sock)
    try:
        await asyncio.get_running_loop().create_connection(lambda: stream, sock=sock)
    except BaseException:
        sock.close()
        raise
    return stream


async def _connect(sock: socket.socket, path: str) -> None:
    # A full backlog is EAGAIN on a Unix socket: there is no handshake to wait for, only another try.
    while True:
        try:
            with short_path(path) as short:
                sock.connect(short)
            return
        except (BlockingIOError, ConnectionRefusedError, FileNotFoundError):
            await asyncio.sleep(_RETRY_S)


def _refusal(code: Code, admission: Admission) -> Refusal:
    return Refusal(code, admission.entry.job_id, admission.entry.name)
