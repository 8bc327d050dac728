"""A person's TLS over a raw socket, each direction ending by itself.

asyncio's own TLS closes both directions with the first close_notify. Here close_notify is what FIN is to
TCP (RFC 8446, 6.1): it ends one direction, and the other goes on. TLS never blocks: records go in by
`feed`, come out by `sealed`; whoever holds the socket moves them. What was fed is always read to its
end, so that at most one unfinished record waits inside.
"""

from __future__ import annotations

import asyncio
import hashlib
import socket
import ssl
from typing import Final

RECORDS_BYTES: Final = 64 * 1024
"""Bytes of records that are read from a socket, or of content that is sealed, at once."""
_RECORD_BYTES: Final = 16 * 1024 + 512


class Secured:
    """One TLS peer of ours, which is the server. `ended` tells that the peer's side ended in order."""

    def __init__(self, sock: socket.socket, context: ssl.SSLContext) -> None:
        """The socket is connected and non-blocking, and stays the caller's."""
        self.sock = sock
        self.ended = False
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)

    async def shake_hands(self) -> None:
        """The handshake; the deadline is the caller's.

        Raises ssl.SSLError for one that fails (the peer was sent the alert) and ConnectionError.
        """
        loop = asyncio.get_running_loop()
        while True:
            try:
                self._tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                await self.flush()
                records = await loop.sock_recv(self.sock, RECORDS_BYTES)
                if not records:
                    raise ConnectionResetError("the peer ended inside the handshake") from None
                self._incoming.write(records)
            except ssl.SSLError:
                await self.flush()
                raise
        await self.flush()

    def fingerprint(self) -> str | None:
        """The hex SHA-256 of the certificate that the peer showed and proved; None when it showed none."""
        certificate = self._tls.getpeercert(binary_form=True)
        return None if certificate is None else hashlib.sha256(certificate).hexdigest()

    async def flush(self) -> None:
        """Sends what is sealed, for the time before a relay runs. Raises ConnectionError."""
        records = self._outgoing.read()
        if records:
            await asyncio.get_running_loop().sock_sendall(self.sock, records)

    # For a relay: none of these waits.

    def feed(self, records: bytes | memoryview) -> bytes:
        """The content of these records and of those fed before them. Sets `ended` at close_notify.

        Raises ssl.SSLError for records that are not the peer's.
        """
        self._incoming.write(records)
        return self.opened()

    def opened(self) -> bytes:
        """The content of what was fed already: a peer may speak in the same breath as it shakes hands."""
        parts: list[bytes] = []
        while not self.ended:
            try:
                content = self._tls.read(_RECORD_BYTES)
            except ssl.SSLWantReadError:
                break
            except ssl.SSLZeroReturnError:
                content = b""
            self.ended = not content
            parts.append(content)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def seal(self, content: bytes | memoryview) -> None:
        """Makes records of the content; they wait in `sealed`."""
        self._tls.write(content)

    def end(self) -> None:
        """Makes close_notify: nothing more will be said from here; what the peer says is read on."""
        try:
            self._tls.unwrap()
        except ssl.SSLWantReadError:
            pass  # it is made; the peer's own may come later, or came before
        except ssl.SSLError as fault:
            raise ConnectionResetError(f"TLS cannot end: {fault}") from fault

    def waiting_bytes(self) -> int:
        """How many bytes of records `sealed` would give: a peer can make us answer without reading the answers."""
        return self._outgoing.pending

    def sealed(self) -> bytes:
        """The records to send now."""
        return self._outgoing.read()
