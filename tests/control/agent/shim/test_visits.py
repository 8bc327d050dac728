"""Connections and file transfer into real jobs."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from gateway.contract.bridge import Fault, Verb
from tests.control.bridge.running import Bridge

pytestmark = pytest.mark.asyncio(loop_scope="module")

SERVER = """
import http.server, socketserver, socket, threading, os
class Six(http.server.ThreadingHTTPServer): address_family = socket.AF_INET6
handler = http.server.SimpleHTTPRequestHandler
for server in (http.server.ThreadingHTTPServer(("127.0.0.1", 8000), handler), Six(("::1", 8001), handler)):
    threading.Thread(target=server.serve_forever).start()
class Unix(socketserver.UnixStreamServer):
    def get_request(self): return super().get_request()[0], ("local", 0)
os.path.exists("app.sock") and os.unlink("app.sock")
Unix("app.sock", handler).serve_forever()
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def job(bridge: Bridge) -> AsyncIterator[str]:
    """A job that serves its work directory on IPv4, IPv6 and a Unix socket."""
    await bridge.submit("web-1", ["/usr/bin/python3", "-c", SERVER])
    async with asyncio.timeout(20):
        while (await bridge.run("web-1", "test -S jobs/web-1/app.sock"))[1] != {"status": 0}:
            await asyncio.sleep(0.05)
    yield "web-1"


@pytest.mark.parametrize("where", ["ipv4", "ipv6", "unix"])
async def test_connect_reaches_the_jobs_listener(bridge: Bridge, job: str, where: str) -> None:
    """The descriptor is the connection itself."""
    path = str(bridge.data_dir / "homes/user1/jobs/web-1/app.sock")
    args = {"ipv4": {"port": 8000}, "ipv6": {"port": 8001}, "unix": {"path": path}}[where]
    reply, descriptors = await bridge.ask(Verb.CONNECT, job, **args)
    assert reply.fault is None, reply
    with socket.socket(fileno=descriptors[0]) as sock:
        sock.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(sock, b"GET / HTTP/1.0\r\n\r\n")
        assert (await loop.sock_recv(sock, 100)).startswith(b"HTTP/1.0 200")


async def test_nobody_listening_is_told(bridge: Bridge, job: str) -> None:
    """A port without a listener is its own answer, and a machine's own listener is none of the job's."""
    with socket.create_server(("127.0.0.1", 0)) as machines:
        for port in (9, machines.getsockname()[1]):
            reply, descriptors = await bridge.ask(Verb.CONNECT, job, port=port)
            assert (reply.fault, descriptors) == (Fault.NOT_LISTENING, [])


@pytest.mark.parametrize("args", [{}, {"port": 0}, {"port": 65_536}, {"port": "x"}])
async def test_a_wrong_port_is_refused(bridge: Bridge, job: str, args: dict[str, object]) -> None:
    """A call that makes no sense is a bad request."""
    reply, _ = await bridge.ask(Verb.CONNECT, job, **args)
    assert reply.fault is Fault.BAD_REQUEST


async def test_other_machines_are_reached_from_inside_and_never_the_machine_itself(bridge: Bridge, job: str) -> None:
    """The job's own name leads to the job; this machine's listeners are none of what it reaches."""
    reply, descriptors = await bridge.ask(Verb.REACH, job, host=job, port=8000)
    assert reply.fault is None, reply
    os.close(descriptors[0])
    with socket.create_server(("0.0.0.0", 0)) as machines:
        for host in ("127.0.0.1", "0.0.0.0", "no-such-name.invalid"):
            reply, descriptors = await bridge.ask(Verb.REACH, job, host=host, port=machines.getsockname()[1])
            assert (reply.fault, descriptors) == (Fault.NOT_LISTENING, []), host
    for args in ({"host": "", "port": 80}, {"host": "x" * 256, "port": 80}, {"host": "x", "port": 0}, {"port": 80}):
        assert (await bridge.ask(Verb.REACH, job, **args))[0].fault is Fault.BAD_REQUEST


async def test_listeners_are_inside_the_job(bridge: Bridge, job: str) -> None:
    """What the job's programs connect to comes out at the caller; the machine itself does not meet the port."""
    reply, descriptors = await bridge.ask(Verb.LISTEN, job, port=0)
    assert reply.fault is None, reply
    port = reply.result["port"]
    listeners = [socket.socket(fileno=descriptor) for descriptor in descriptors]
    assert len(listeners) == reply.result["listeners"]
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))
    program = f"import socket; print(socket.create_connection(('localhost', {port})).recv(9).decode())"
    for listener in listeners:
        listener.setblocking(False)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(bridge.run(job, f'python3 -c "{program}"'))
        loop = asyncio.get_running_loop()
        accepting = [tasks.create_task(loop.sock_accept(listener)) for listener in listeners]
        done, left = await asyncio.wait(accepting, timeout=10, return_when=asyncio.FIRST_COMPLETED)
        for task in left:
            task.cancel()
        with done.pop().result()[0] as visitor:
            visitor.send(b"from out")
            assert await running == (b"from out\n", {"status": 0})
    for listener in listeners:
        listener.close()


async def test_the_agents_socket_is_the_jobs_and_goes_with_its_lifeline(bridge: Bridge, job: str) -> None:
    """A path that the job sees, until the caller closes what it was handed."""
    reply, descriptors = await bridge.ask(Verb.LISTEN, job, agent=True)
    path = reply.result["path"]
    assert (await bridge.run(job, f"test -S {path}"))[1] == {"status": 0}
    for descriptor in descriptors:
        os.close(descriptor)
    async with asyncio.timeout(5):
        while (await bridge.run(job, f"test -e {path}"))[1] == {"status": 0}:
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("args", [{}, {"port": 65_536}, {"display": {}}, {"display": {"cookie": "no"}}])
async def test_no_place_to_listen_is_refused(bridge: Bridge, job: str, args: dict[str, object]) -> None:
    """A call that makes no sense is a bad request."""
    reply, _ = await bridge.ask(Verb.LISTEN, job, **args)
    assert reply.fault is Fault.BAD_REQUEST


async def test_the_real_sftp_client_puts_and_gets(bridge: Bridge, job: str, tmp_path: Path) -> None:
    """OpenSSH's sftp speaks through the frames with the server inside the job."""
    content = os.urandom(1 << 20)
    (tmp_path / "sent").write_bytes(content)
    reply, descriptors = await bridge.ask(Verb.SFTP, job)
    assert reply.fault is None, reply
    adapter = tmp_path / "adapter"
    adapter.write_text(f"#!/bin/sh\nexec {sys.executable} -m tests.control.bridge.frames_on_stdio {descriptors[0]}\n")
    adapter.chmod(0o755)
    batch = tmp_path / "batch"
    batch.write_text(f"put {tmp_path}/sent through-sftp\nget through-sftp {tmp_path}/back\nls -l\nbye\n")
    client = await asyncio.create_subprocess_exec(
        "sftp", "-b", str(batch), "-S", str(adapter), "-s", "sftp", "anyone@job",
        pass_fds=descriptors, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    os.close(descriptors[0])
    output, _ = await asyncio.wait_for(client.communicate(), 30)
    assert client.returncode == 0, output
    assert (tmp_path / "back").read_bytes() == content
    assert (bridge.data_dir / "homes/user1/through-sftp").stat().st_size == len(content)


async def test_a_port_of_another_persons_job_is_not_reached(bridge: Bridge, job: str) -> None:
    """An entry onto another's port is refused: inside this job nobody listens there."""
    await bridge.submit("else-1", ["sleep", "1000"], person=2)
    await bridge.running("else-1")
    reply, _ = await bridge.ask(Verb.CONNECT, "else-1", port=8000)
    assert reply.fault is Fault.NOT_LISTENING
