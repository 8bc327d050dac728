"""The app behind every proxy of a comparison, its source given to `python3 -c PORT...`: one write an answer.

/small     1 KiB with seven fields           /bytes/N   N bytes by Content-Length
/tunnel    101, then an echo of every byte   POST       takes the body, answers its length
"""

import asyncio
import os
import re
import sys

BODY = b"x" * 1024
SMALL = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: 1024\r\nCache-Control: no-cache\r\n"
    b'ETag: "5f3c"\r\nVary: Accept-Encoding\r\nServer: app\r\nX-Frame-Options: SAMEORIGIN\r\n\r\n'
)
SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
SWITCH += b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"  # to RFC 6455's own sample key
PIECE = bytes(1 << 20)
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


class App(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport, self.buffer, self.echoes, self.due, self.owed, self.taken = transport, b"", False, 0, 0, 0

    def data_received(self, data):
        if self.echoes:
            self.transport.write(data)
        elif self.due:
            self.receive(data)
        else:
            self.buffer += data
            while not self.echoes and not self.due and b"\r\n\r\n" in self.buffer:
                head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
                self.answer(head, head.split(b" ", 2)[1])

    def answer(self, head, path):
        if head.startswith(b"POST"):
            found = LENGTH.search(head)
            self.due = self.taken = int(found[1]) if found else 0
            body, self.buffer = self.buffer, b""
            self.receive(body)
        elif path == b"/tunnel":
            self.echoes = True
            self.transport.write(SWITCH + self.buffer)
        elif path.startswith(b"/bytes/"):
            self.owed = int(path[7:])
            self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % self.owed)
            self.resume_writing()
        else:
            self.transport.write(SMALL + BODY)

    def receive(self, data):
        self.due -= len(data)
        if not self.due:
            said = b"%d" % self.taken
            self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(said), said))

    def pause_writing(self):
        self.paused = True

    def resume_writing(self):
        self.paused = False
        while self.owed and not self.paused:
            piece = PIECE[: self.owed]
            self.owed -= len(piece)
            self.transport.write(piece)


async def main(ports):
    for port in ports:
        await asyncio.get_running_loop().create_server(App, "127.0.0.1", port)
    print("serving", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    given = sys.argv[1:] or [port for name, port in os.environ.items() if name.startswith("STARLIGHT_PORT_")]
    asyncio.run(main([int(port) for port in given]))
