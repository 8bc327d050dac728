"""The accepting end: draining, and peers that are no ssh clients."""

import asyncio
import os
from pathlib import Path
from unittest import mock

from gateway.core.refusals import Code
from gateway.entries.ssh import host_keys
from tests.gateway.entries.ssh.world import lone_job, world


async def test_garbage_and_silence_end_by_themselves(tmp_path: Path) -> None:
    """A web browser, random bytes and a client that hangs up at once disturb nobody."""
    async with world(tmp_path, *lone_job()) as made:
        for said in (b"GET / HTTP/1.1\r\n\r\n" * 100, bytes(range(256)) * 64, b"", b"SSH-2.0-x\r\n" + b"\xff" * 4096):
            reader, writer = await asyncio.open_connection("127.0.0.1", made.port)
            writer.write(said)
            writer.write_eof()
            async with asyncio.timeout(5):
                await reader.read()
            writer.close()
        assert (await made.ssh("echo in")).out == b"in\n"


async def test_nothing_is_left_of_connections_that_ended(tmp_path: Path) -> None:
    """B54: descriptors and tasks are as before, after logins and after clients that died in the handshake."""
    async with world(tmp_path, *lone_job()) as made:
        assert (await made.ssh("true")).status == 0
        await asyncio.sleep(0.2)
        before = len(os.listdir("/proc/self/fd")), len(asyncio.all_tasks())
        for _ in range(10):
            assert (await made.ssh("true")).status == 0
        for _ in range(50):
            _, writer = await asyncio.open_connection("127.0.0.1", made.port)
            writer.write(b"SSH-2.0-x\r\n")
            await writer.drain()
            writer.transport.abort()
        async with asyncio.timeout(5):
            while (len(os.listdir("/proc/self/fd")), len(asyncio.all_tasks())) != before:
                await asyncio.sleep(0.1)


async def test_who_does_not_sign_in_in_time_is_sent_away(tmp_path: Path) -> None:
    """The login grace ends a connection that says nothing, or everything but the password."""
    with mock.patch.object(host_keys, "LOGIN_GRACE_S", 0.5):
        async with world(tmp_path, *lone_job()) as made:
            reader, writer = await asyncio.open_connection("127.0.0.1", made.port)
            async with asyncio.timeout(2):
                assert (await reader.read()).startswith(b"SSH-2.0-Starlight\r\n")
            writer.close()


async def test_without_a_host_key_the_listener_lives(tmp_path: Path) -> None:
    """A connection is closed and logged; once there is a key, people come in."""
    async with world(tmp_path, *lone_job()) as made:
        key = made.table.secrets("ssh-host")[0]
        made.drop(key)
        reader, writer = await asyncio.open_connection("127.0.0.1", made.port)
        assert await reader.read() == b""
        writer.close()
        made.put(key)
        assert (await made.ssh("echo in")).out == b"in\n"


async def test_a_restart_lets_commands_end_and_cuts_the_rest_with_a_sentence(tmp_path: Path) -> None:
    """Cancelled, the service waits for its visits; the server's last call cuts them."""
    async with world(tmp_path, *lone_job()) as made:
        client = await made.client()
        short = await client.create_process("sleep 0.3; echo done")
        long = await client.create_process("echo up; sleep 777")
        await long.stdout.readline()
        idle = await made.client()
        made.stop()
        async with asyncio.timeout(1):
            await idle.wait_closed()
        assert (await short.wait()).stdout == "done\n"
        made.visits.cut_all(Code.RESTARTING)
        async with asyncio.timeout(1):
            assert "网关正在重启" in str(await long.stderr.read())
            assert (await long.wait()).exit_status == 255
        client.close()
