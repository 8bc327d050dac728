"""paramiko: what programs do with it. `with_paramiko.py PORT USER KEY PASSWORD`; ends with 0 when all was right."""

from __future__ import annotations

import io
import os
import socket
import sys
import threading

import paramiko

DATA = os.urandom(1_000_000)


def main(port: int, user: str, key: str, password: str) -> None:
    """Every part on a connection of its own kind of sign-in."""
    for how in ({"key_filename": key}, {"password": password, "look_for_keys": False, "allow_agent": False}):
        with connected(port, user, how) as client:
            commands(client)
            files(client)
            terminal(client)
            forwards(client)
    keyboard_interactive(port, user, password)


def connected(port: int, user: str, how: dict[str, object]) -> paramiko.SSHClient:
    """A client that takes any host key."""
    client = paramiko.SSHClient()
    client.set_missing_host_key_policy(paramiko.AutoAddPolicy())  # noqa: S507 - the port is this test's own
    client.connect("127.0.0.1", port, user, timeout=20, banner_timeout=20, auth_timeout=20, **how)
    return client


def commands(client: paramiko.SSHClient) -> None:
    """Output, both kinds, input and status; many on one connection."""
    for number in range(5):
        _, out, err = client.exec_command(f"echo out; echo err >&2; exit {number}")
        assert (out.read(), err.read(), out.channel.recv_exit_status()) == (b"out\n", b"err\n", number)
    source, out, _ = client.exec_command("wc -c")
    source.write(DATA)
    source.channel.shutdown_write()
    assert out.read().split() == [b"1000000"]


def files(client: paramiko.SSHClient) -> None:
    """sftp both ways, with a name that needs care."""
    with client.open_sftp() as sftp:
        sftp.putfo(io.BytesIO(DATA), "/tmp/数据 1.bin")
        back = io.BytesIO()
        sftp.getfo("/tmp/数据 1.bin", back)
        assert back.getvalue() == DATA
        assert "数据 1.bin" in sftp.listdir("/tmp")
        sftp.remove("/tmp/数据 1.bin")


def terminal(client: paramiko.SSHClient) -> None:
    """invoke_shell: each request gets its one reply, the size is right and follows."""
    channel = client.invoke_shell(term="xterm", width=101, height=33)
    channel.settimeout(20)
    channel.sendall(b"stty size; stty -echo\n")
    until(channel, b"33 101")
    channel.resize_pty(width=140, height=50)
    channel.sendall(b"stty size; exit 4\n")
    until(channel, b"50 140")
    assert channel.recv_exit_status() == 4


def forwards(client: paramiko.SSHClient) -> None:
    """A connection to the job, and one back from a port that the job was given."""
    transport = client.get_transport()
    assert transport is not None
    port = transport.request_port_forward("", 0)
    assert port > 0
    heard: list[bytes] = []

    def answer() -> None:
        channel = transport.accept(20)
        heard.append(channel.recv(100))
        channel.sendall(b"from here")
        channel.close()

    answering = threading.Thread(target=answer)
    answering.start()
    program = f"import socket; s=socket.create_connection(('localhost', {port})); s.sendall(b'hi'); print(s.recv(99))"
    _, out, _ = client.exec_command(f'python3 -c "{program}"')
    assert out.read() == b"b'from here'\n"
    answering.join()
    assert heard == [b"hi"]
    transport.cancel_port_forward("", port)
    try:
        transport.open_channel("direct-tcpip", ("127.0.0.1", 9), ("127.0.0.1", 1), timeout=20)
    except paramiko.ChannelException:
        pass
    else:
        raise AssertionError("nobody listens there")
    _, out, _ = client.exec_command("echo alive")
    assert out.read() == b"alive\n"


def keyboard_interactive(port: int, user: str, password: str) -> None:
    """The way that some profiles only know; one prompt, whose text libraries look for."""
    asked: list[str] = []

    def handler(_title: str, _words: str, prompts: list[tuple[str, bool]]) -> list[str]:
        asked.extend(text for text, _ in prompts)
        return [password for _ in prompts]

    transport = paramiko.Transport(socket.create_connection(("127.0.0.1", port)))
    transport.start_client(timeout=20)
    transport.auth_interactive(user, handler)
    assert transport.is_authenticated()
    assert asked == ["Password: "]
    transport.close()


def until(channel: paramiko.Channel, wanted: bytes) -> None:
    """Reads until it was printed."""
    seen = b""
    while wanted not in seen:
        part = channel.recv(4096)
        assert part, seen
        seen += part


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:5])
