"""TLS to an app inside its own job.

Nobody could vouch for the app's certificate: the bridge picked the listener, and that it belongs to the job is
what the way there rests on. An owner who wants more names the very certificate; any other is refused then,
before a byte of a request is sent.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import socket
import ssl
from functools import lru_cache
from typing import Final

from gateway.entries.http.stream import Stream

TLS_S: Final = 10.0


class PinMismatchError(ConnectionError):
    """The app shows another certificate than the one that was named."""


async def join(sock: socket.socket, name: str, pin: str | None) -> Stream:
    """A Stream through TLS over a connected socket, which it owns from now on; `name` is what is asked for (SNI).

    `pin` is the SHA-256 of the certificate that the app must show, in lower-case hex digits; None: whichever.
    Raises PinMismatchError, OSError.
    """
    stream = Stream()
    try:
        await asyncio.get_running_loop().create_connection(
            lambda: stream, sock=sock, ssl=_context(), server_hostname=name, ssl_handshake_timeout=TLS_S
        )
    except BaseException:
        sock.close()
        raise
    if pin is not None and not hmac.compare_digest(_fingerprint(stream), pin):
        stream.abort()
        raise PinMismatchError("the app shows another certificate than the one that is pinned")
    return stream


def _fingerprint(stream: Stream) -> str:
    shown = stream.transport.get_extra_info("ssl_object").getpeercert(binary_form=True)
    return hashlib.sha256(shown or b"").hexdigest()


@lru_cache(maxsize=1)
def _context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["http/1.1"])
    return context
