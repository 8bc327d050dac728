"""Forwards: every direction, every kind, whole and half closed, over fresh and shared connections."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

from tests.system.ssh_conformance.cases import Cases
from tests.system.ssh_conformance.target import Target, eventually, run

FORWARDS = Cases()
GREETER = """
import socket, threading
s = socket.create_server(("127.0.0.1", 0))
print(s.getsockname()[1])
def one(c):
    c.sendall(b"hello\\n")
    n = 0
    while True:
        d = c.recv(65536)
        if not d: break
        n += len(d)
    c.sendall(b"%d\\n" % n)
    c.close()
while True: threading.Thread(target=one, args=(s.accept()[0],)).start()
"""
POURER = """
import socket
s = socket.create_server(("127.0.0.1", 0))
print(s.getsockname()[1])
c = s.accept()[0]
try:
    while True: c.sendall(bytes(65536))
except OSError as e: print(type(e).__name__)
"""


def free_port() -> int:
    """A port of this side."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


@contextmanager
def forwarded(target: Target, *flags: str, command: tuple[str, ...] = ()) -> Iterator[subprocess.Popen[bytes]]:
    """An ssh with forwards, without a session unless a command is given."""
    with target.started(*command, flags=flags if command else ("-N", *flags)) as process:
        yield process


def connected(port: int) -> socket.socket:
    """A connection to a local port, once somebody listens there."""

    def attempt() -> socket.socket | None:
        with suppress(OSError):
            return socket.create_connection(("127.0.0.1", port), 10)
        return None

    sock = eventually(attempt)
    assert sock is not None, "the forward does not listen"
    assert isinstance(sock, socket.socket)
    return sock


def exchange(sock: socket.socket, data: bytes = b"x" * 100_000) -> bytes:
    """Everything that comes back for data and a half-close."""
    with sock:
        sock.sendall(data)
        sock.shutdown(socket.SHUT_WR)
        parts = []
        while part := sock.recv(65536):
            parts.append(part)
        return b"".join(parts)


@FORWARDS.case()
def a_forward_needs_no_session_and_loses_nothing(target: Target) -> None:
    """B37, B38, B39: `ssh -N -L`: who speaks first is heard, a half-close stays half, fifteen times."""
    with target.remote_program(GREETER) as port:
        local = free_port()
        with forwarded(target, "-L", f"{local}:127.0.0.1:{port}"):
            assert [exchange(connected(local)) for _ in range(15)] == [b"hello\n100000\n"] * 15
        done = target.ssh(flags=("-W", f"127.0.0.1:{port}"), stdin=b"")
        assert done.out == b"hello\n0\n"


@FORWARDS.case()
def who_breaks_off_is_noticed_at_the_other_end(target: Target) -> None:
    """B40: the client resets a download; the program over there sees its writes fail."""
    with target.started(f"exec python3 -u -c '{POURER}'") as program:
        assert program.stdout is not None
        port, local = int(program.stdout.readline()), free_port()
        with forwarded(target, "-L", f"{local}:127.0.0.1:{port}"):
            sock = connected(local)
            sock.recv(1_000_000)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            sock.close()
            assert program.stdout.readline().strip() in {b"BrokenPipeError", b"ConnectionResetError"}


@FORWARDS.case()
def a_refused_destination_is_told_and_the_connection_lives(target: Target) -> None:
    """B42: nobody listens: the channel fails, the shared connection does not."""
    with target.master() as shared:
        done = target.ssh(flags=(*shared.flags, "-W", "127.0.0.1:9"), stdin=b"")
        assert done.status != 0
        assert shared.ssh("echo alive").out == b"alive\n"


@FORWARDS.case()
def a_free_port_for_the_way_back_is_told(target: Target) -> None:
    """B43: `-R 0`: the port that ssh is told works over there, more than once."""
    local = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        with suppress(OSError):
            while True:
                with local.accept()[0] as sock:
                    sock.sendall(b"from here")

    threading.Thread(target=answer, daemon=True).start()
    with local, target.master() as shared:
        port = int(shared.control("forward", "-R", f"0:127.0.0.1:{local.getsockname()[1]}").out)
        assert port > 0
        read = f'import socket; print(socket.create_connection(("localhost", {port})).recv(99).decode())'
        for _ in range(3):
            assert shared.ssh(f"python3 -c '{read}'").out == b"from here\n"


@FORWARDS.case()
def forwards_come_and_go_on_a_shared_connection(target: Target) -> None:
    """B44: forward and cancel twice, and a cancel of what is not there; the connection lives."""
    with target.master() as shared:
        for _ in range(2):
            told = shared.control("forward", "-R", "0:127.0.0.1:9")
            shared.control("cancel", "-R", "0:127.0.0.1:9")
            shared.control("cancel", "-R", f"{int(told.out)}:127.0.0.1:9")
            assert shared.ssh("echo alive").out == b"alive\n"


@FORWARDS.case()
def vs_code_with_an_exec_server(target: Target) -> None:
    """B45: `ssh -T -L PORT:/socket host sh`, its script on stdin, the socket made by it, many connections."""
    path, local = f"/tmp/code-{os.getpid()}.sock", free_port()
    with forwarded(target, "-T", "-L", f"127.0.0.1:{local}:{path}", command=("sh",)) as ssh:
        assert ssh.stdin is not None
        assert ssh.stdout is not None
        server = GREETER.replace('socket.create_server(("127.0.0.1", 0))', "socket.socket(1)")
        server = server.replace("print(s.getsockname()[1])", f'\ns.bind("{path}"); s.listen(); print("listening")')
        ssh.stdin.write(f"echo ready\npython3 -u -c '{server}' &\n".encode())
        ssh.stdin.flush()
        assert [ssh.stdout.readline() for _ in range(2)] == [b"ready\n", b"listening\n"]
        with ThreadPoolExecutor(8) as many:
            answers = list(many.map(lambda _: exchange(connected(local)), range(16)))
        assert answers == [b"hello\n100000\n"] * 16
        ssh.stdin.write(f"printf ' '; kill $!; rm {path}; exit 3\n".encode())
        ssh.stdin.close()
        assert (ssh.stdout.read(), ssh.wait(20)) == (b" ", 3)


@FORWARDS.case()
def vs_code_as_it_was(target: Target) -> None:
    """B46: `ssh -T -D PORT host bash`, script on stdin, many SOCKS connections to a port that the script opens."""
    local = free_port()
    with forwarded(target, "-T", "-D", str(local), "-o", "ConnectTimeout=15", command=("bash",)) as ssh:
        assert ssh.stdin is not None
        assert ssh.stdout is not None
        ssh.stdin.write(f"python3 -u -c '{GREETER}' &\n".encode())
        ssh.stdin.flush()
        port = int(ssh.stdout.readline())

        def over_socks(_number: int) -> bytes:
            sock = connected(local)
            sock.sendall(b"\5\1\0")
            assert sock.recv(2) == b"\5\0"
            sock.sendall(b"\5\1\0\1" + socket.inet_aton("127.0.0.1") + port.to_bytes(2, "big"))
            assert sock.recv(10)[1] == 0
            return exchange(sock)

        with ThreadPoolExecutor(8) as many:
            assert list(many.map(over_socks, range(16))) == [b"hello\n100000\n"] * 16
        ssh.stdin.write(b"kill $!; exit 3\n")
        ssh.stdin.close()
        assert (ssh.stdout.read(), ssh.wait(20)) == (b"", 3)


@FORWARDS.case()
def forwards_that_end_leave_the_shell_alone(target: Target) -> None:
    """B48: twenty short connections beside a shell, which lives."""
    with target.remote_program(GREETER) as port:
        local = free_port()
        with forwarded(target, "-L", f"{local}:127.0.0.1:{port}", command=("cat",)) as ssh:
            for _ in range(20):
                assert exchange(connected(local), b"x") == b"hello\n1\n"
            time.sleep(1)
            out, _ = ssh.communicate(b"alive")
            assert out == b"alive"


@FORWARDS.case()
def the_agent_is_used_by_many_at_once(target: Target) -> None:
    """B49: `ssh -A` and three programs at the same time that each ask for the keys."""
    started = run(["ssh-agent", "-s", "-a", str(target.scratch / "agent")])
    pid = int(re.findall(rb"SSH_AGENT_PID=(\d+)", started.out)[0])
    env = {"SSH_AUTH_SOCK": str(target.scratch / "agent")}
    try:
        assert run(["ssh-add", "-q", str(target.identity)], env=env).status == 0
        done = target.ssh("ssh-add -L & ssh-add -L & ssh-add -L & wait", flags=("-A",), env=env, deadline_s=20)
        assert len(done.out.splitlines()) == 3, done
    finally:
        os.kill(pid, signal.SIGTERM)


@FORWARDS.case()
def unix_sockets_lead_both_ways(target: Target) -> None:
    """A socket of the server's side leads here, and its place is free again afterwards or said to be taken."""
    path, here = f"/tmp/back-{os.getpid()}.sock", target.scratch / "here.sock"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(here))
    listener.listen()

    def answer() -> None:
        with suppress(OSError), listener.accept()[0] as sock:
            sock.sendall(b"from here")

    threading.Thread(target=answer, daemon=True).start()
    with listener, target.master() as shared:
        assert shared.control("forward", "-R", f"{path}:{here}").status == 0
        read = f'import socket; s = socket.socket(1); s.connect("{path}"); print(s.recv(99).decode())'
        assert shared.ssh(f"python3 -c '{read}'").out == b"from here\n"
        shared.control("cancel", "-R", f"{path}:{here}")
        assert shared.ssh(f"rm -f {path}; echo alive").out == b"alive\n"


@FORWARDS.case()
def other_machines_are_reached_by_name(target: Target) -> None:
    """`-L` and `-W` to whatever the server's side can reach: here itself, by its own host name."""
    name = target.ssh("hostname").out.decode().strip()
    with target.remote_program(GREETER.replace('"127.0.0.1"', '""')) as port:
        assert target.ssh(flags=("-W", f"{name}:{port}"), stdin=b"x").out == b"hello\n1\n"
    assert target.ssh(flags=("-W", "no-such-name.invalid:80"), stdin=b"").status != 0
