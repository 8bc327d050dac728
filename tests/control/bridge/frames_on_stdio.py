"""`frames_on_stdio FD`: joins stdin and stdout to a session's stream, as a gateway would; for real clients in tests."""

from __future__ import annotations

import os
import socket
import sys
import threading

from gateway.contract.bridge import FRAME_HEAD_BYTES, FrameKind, decode_frame_head, encode_frame


def main(descriptor: int) -> None:
    """Runs until the stream ends."""
    stream = socket.socket(fileno=descriptor)
    stream.setblocking(True)
    threading.Thread(target=_send, args=(stream,), daemon=True).start()
    while len(head := stream.recv(FRAME_HEAD_BYTES, socket.MSG_WAITALL)) == FRAME_HEAD_BYTES:
        kind, length = decode_frame_head(head)
        payload = stream.recv(length, socket.MSG_WAITALL) if length else b""
        if kind is FrameKind.DATA:
            os.write(1, payload)
        elif kind is FrameKind.EXIT:
            return


def _send(stream: socket.socket) -> None:
    while chunk := os.read(0, 65_536):
        stream.sendall(encode_frame(FrameKind.DATA, chunk))
    stream.sendall(encode_frame(FrameKind.EOF))


if __name__ == "__main__":
    main(int(sys.argv[1]))
