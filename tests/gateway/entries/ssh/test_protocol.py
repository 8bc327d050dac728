"""What our connection and channel add to asyncssh, and that an upgrade has not moved what they override."""

import asyncio
import inspect
import os
import signal
import socket
import sys
from pathlib import Path
from unittest import mock

import asyncssh
from asyncssh.connection import SSHConnection

from gateway.entries.ssh import protocol
from gateway.entries.ssh.protocol import Connection, SessionChannel
from tests.gateway.entries.ssh.world import World, lone_job, world

_HUGE_WINDOW = """
import asyncio, sys, asyncssh
async def main():
    async with await asyncssh.connect("127.0.0.1", int(sys.argv[1]), username="alice", client_keys=[sys.argv[2]],
                                      known_hosts=None, config=None, agent_path=None) as client:
        process = await client.create_process("head -c 600000000 /dev/zero", encoding=None, window=2**31 - 1)
        await process.stdout.readexactly(1)
        print("up", flush=True)
        await asyncio.sleep(100)
asyncio.run(main())
"""


def test_overridden_private_methods_still_exist() -> None:
    """asyncssh calls these by these names and arguments; a change of them must be looked at by a person."""
    overridden = {
        SSHConnection: ["_send_deferred_packets", "send_packet", "_force_close"],
        asyncssh.SSHServerConnection: [
            "reload_config",
            "validate_public_key",
            "_process_cancel_tcpip_forward_global_request",
            "_process_cancel_streamlocal_forward_at_openssh_dot_com_global_request",
            "_process_direct_tcpip_open",
            "_process_direct_streamlocal_at_openssh_dot_com_open",
            "_process_tcpip_forward_global_request",
            "_process_streamlocal_forward_at_openssh_dot_com_global_request",
            "_finish_port_forward",
            "_finish_path_forward",
        ],
        asyncssh.SSHServerChannel: [
            "_process_exec_request",
            "_process_env_request",
            "_process_auth_agent_req_at_openssh_dot_com_request",
            "_process_x11_req_request",
            "_report_response",
            "_process_close",
            "_start_session",
            "_discard_recv",
        ],
    }
    overridden[asyncssh.SSHTCPChannel] = ["_open_forward"]
    for owner, names in overridden.items():
        for name in names:
            assert inspect.isfunction(inspect.getattr_static(owner, name)), f"{owner.__name__}.{name} is gone"
    for ours, theirs in ((Connection, asyncssh.SSHServerConnection), (SessionChannel, asyncssh.SSHServerChannel)):
        for name, method in vars(ours).items():
            if inspect.isfunction(method) and name != "__init__" and hasattr(theirs, name):
                count = len(inspect.signature(getattr(theirs, name)).parameters)
                assert len(inspect.signature(method).parameters) == count, f"{name} takes other arguments now"


async def test_a_stopped_client_with_a_huge_window_costs_no_memory(tmp_path: Path) -> None:
    """B53: six hundred megabytes for a client that was stopped wait in the job, not in the gateway."""
    async with world(tmp_path, *lone_job()) as made:
        argv = [sys.executable, "-c", _HUGE_WINDOW, str(made.port), str(made.home / "alice")]
        process = await asyncio.create_subprocess_exec(*argv, stdout=asyncio.subprocess.PIPE)
        assert process.stdout is not None
        assert await process.stdout.readline() == b"up\n"
        process.send_signal(signal.SIGSTOP)
        before = _resident_bytes()
        await _until_quiet(made)
        grown = _resident_bytes() - before
        process.kill()
        await process.communicate()
        assert grown < 16 * 1024 * 1024


async def test_a_reader_that_pauses_gets_everything_afterwards(tmp_path: Path) -> None:
    """Back-pressure ends with its cause: thirty megabytes arrive whole, though nothing was read for a while."""
    async with world(tmp_path, *lone_job()) as made, await made.client() as client:
        process = await client.create_process("head -c 30000000 /dev/zero", encoding=None, window=2**31 - 1)
        transport = client._transport
        assert transport is not None
        await process.stdout.readexactly(1)
        transport.pause_reading()
        await _until_quiet(made)
        transport.resume_reading()
        assert len(await process.stdout.read()) == 29_999_999
        assert (await process.wait()).exit_status == 0


async def test_a_flood_of_environment_is_refused(tmp_path: Path) -> None:
    """A client can set as many variables as fit in sixteen kilobytes; the session works all the same."""
    async with world(tmp_path, *lone_job()) as made, await made.client() as client:
        many = {f"LC_{number}": "x" * 1000 for number in range(100)}
        out = str((await client.run("env", env=many)).stdout)
        assert 10 < out.count("LC_") < 20


async def test_requests_of_who_does_not_read_the_answers_are_not_read_either(tmp_path: Path) -> None:
    """A client that only asks is made to wait; what we owe it stays bounded."""
    small = mock.patch.object(protocol, "_ANSWERS_LIMIT_BYTES", 64 * 1024)
    async with world(tmp_path, *lone_job(), narrow=True) as made:
        narrow = socket.socket()
        for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            narrow.setsockopt(socket.SOL_SOCKET, option, 8192)
        narrow.connect(("127.0.0.1", made.port))
        client = await made.client(sock=narrow)
        transport = client._transport
        assert transport is not None
        transport.pause_reading()
        with small:
            for _ in range(10_000):
                client._send_global_request(b"keepalive@openssh.com", want_reply=True)
            pending, quiet = 0, 0
            while quiet < 3:
                await asyncio.sleep(0.3)
                pending, before = transport.get_write_buffer_size(), pending
                quiet = quiet + 1 if pending == before else 0
        client.abort()
        assert pending > 0


async def _until_quiet(made: World) -> None:
    """Waits until the job's output has stopped flowing: no byte in half a second."""
    seen = -1
    while seen != (now := sum(visit.outward for visit in made.visits._live.values())):
        seen = now
        await asyncio.sleep(0.5)


def _resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE")
