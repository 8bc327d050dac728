"""The job of a soak, its source given to `python3 -c`: a server on every $STARLIGHT_PORT_*.

Where the name begins with RAW, and after any Upgrade, it echoes; `end!` makes it end in order, `cut!` by a reset.
Else it is plain HTTP:

/small    ten bytes                    /ticks    a chunk every 50 ms, for ever
/bytes/N  N bytes                      /cut/N    N of the 2 N bytes that were announced, then a reset
/end      ends without an answer       POST      how many bytes came
"""

import asyncio
import os
import socket
import struct

RESET = struct.pack("ii", 1, 0)
PIECE = bytes(range(256)) * 256


async def serve() -> None:
    for name, port in os.environ.items():
        if name.startswith("STARLIGHT_PORT_"):
            answer = echo if name.startswith("STARLIGHT_PORT_RAW") else converse
            await asyncio.start_server(whole(answer), "127.0.0.1", int(port), backlog=1000)
    print("serving", flush=True)
    await asyncio.get_running_loop().create_future()


def whole(answer):
    async def run(reader, writer):
        try:
            await answer(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    return run


async def echo(reader, writer) -> None:
    while data := await reader.read(65536):
        if data.endswith(b"end!"):
            return
        if data.endswith(b"cut!"):
            cut(writer)
            return
        writer.write(data)
        await writer.drain()


def cut(writer) -> None:
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    writer.transport.abort()


async def converse(reader, writer) -> None:
    while True:
        head = await reader.readuntil(b"\r\n\r\n")
        lines = head.lower().split(b"\r\n")
        path = head.split(b" ")[1].decode()
        if b"upgrade: echo" in lines:
            writer.write(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
            await echo(reader, writer)
            return
        if head.startswith(b"POST"):
            length = next(int(line[15:]) for line in lines if line.startswith(b"content-length:"))
            for at in range(0, length, 65536):
                await reader.readexactly(min(65536, length - at))
            say(writer, b"%d" % length)
        elif path == "/small":
            say(writer, b"0123456789")
        elif path.startswith("/bytes/"):
            await stream(writer, int(path[7:]), int(path[7:]))
        elif path.startswith("/cut/"):
            await stream(writer, 2 * int(path[5:]), int(path[5:]))
            cut(writer)
            return
        elif path == "/ticks":
            writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            while True:
                writer.write(b"5\r\ntick\n\r\n")
                await writer.drain()
                await asyncio.sleep(0.05)
        else:
            return


def say(writer, body: bytes) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))


async def stream(writer, announced: int, sent: int) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % announced)
    while sent > 0:
        writer.write(PIECE[:sent])
        await writer.drain()
        sent -= len(PIECE)


if __name__ == "__main__":
    asyncio.run(serve())
