"""A program that runs as a job, its source given to `python3 -c`: plain HTTP on $STARLIGHT_PORT_WEB.

/bytes     256 byte values, 4,096 times        /head      the request's head as it arrived
/tunnel    101 and then an echo of every byte  /ticks     one chunk every 0.1 s, for ever
"""

import os
import socket
import threading
import time

PATTERN = bytes(range(256)) * 4096


def serve() -> None:
    listener = socket.create_server(("127.0.0.1", int(os.environ["STARLIGHT_PORT_WEB"])))
    print("serving", flush=True)
    while True:
        sock, _ = listener.accept()
        threading.Thread(target=answer, args=(sock,), daemon=True).start()


def answer(sock: socket.socket) -> None:
    with sock:
        head = b""
        while b"\r\n\r\n" not in head:
            received = sock.recv(65536)
            if not received:
                return
            head += received
        head, _, rest = head.partition(b"\r\n\r\n")
        path = head.split(b" ")[1].decode()
        try:
            respond(sock, path, head, rest)
        except OSError:
            print("gone", path, flush=True)


def respond(sock: socket.socket, path: str, head: bytes, rest: bytes) -> None:
    if path == "/tunnel":
        sock.sendall(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n" + rest)
        while received := sock.recv(65536):
            sock.sendall(received)
        print("tunnel ended", flush=True)
    elif path == "/ticks":
        sock.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/plain\r\n\r\n")
        while True:
            sock.sendall(b"5\r\ntick\n\r\n")
            time.sleep(0.1)
    else:
        body = PATTERN if path == "/bytes" else head if path == "/head" else b"hello from the job"
        sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nX-App: yes\r\n\r\n%s" % (len(body), body))


if __name__ == "__main__":
    serve()
