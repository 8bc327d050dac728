"""The connection itself: requests, key exchange, many channels at once, clients that stop or vanish."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import socket
import time
from concurrent.futures import ThreadPoolExecutor

from tests.system.ssh_conformance.cases import Cases
from tests.system.ssh_conformance.target import Target, eventually

TRANSPORT = Cases()
WEAK = (
    ("Ciphers", "aes128-cbc"),
    ("Ciphers", "3des-cbc"),
    ("KexAlgorithms", "diffie-hellman-group1-sha1"),
    ("MACs", "hmac-md5"),
)
OLD_BUT_SOUND = (
    ("KexAlgorithms", "ecdh-sha2-nistp256"),
    ("Ciphers", "aes256-ctr"),
    ("MACs", "hmac-sha2-256"),
    ("PubkeyAcceptedAlgorithms", "ssh-ed25519,rsa-sha2-256"),
)


@TRANSPORT.case()
def a_channel_that_is_not_read_stalls_no_other(target: Target) -> None:
    """B51: endless output that nobody reads on one channel, a command on the next of the same connection."""

    async def judge() -> None:
        async with target.asyncssh() as client:
            stalled = await client.create_process("cat /dev/zero", encoding=None)
            await asyncio.sleep(1)
            async with asyncio.timeout(5):
                assert (await client.run("echo ok")).stdout == "ok\n"
            stalled.kill()
            stalled.close()

    asyncio.run(judge())


@TRANSPORT.case()
def many_channels_fit_on_one_connection(target: Target) -> None:
    """Eight sessions at the same time, as sshd's own limit of ten allows, twice."""

    async def judge() -> None:
        async with target.asyncssh() as client:
            for _ in range(2):
                results = await asyncio.gather(*(client.run(f"echo {number}") for number in range(8)))
                assert [result.stdout for result in results] == [f"{number}\n" for number in range(8)]

    asyncio.run(judge())


@TRANSPORT.case()
def the_programs_of_a_client_that_vanishes_end(target: Target) -> None:
    """B55: the client is killed; what it ran on a terminal is gone within five seconds."""
    mark = f"{10_000 + os.getpid()}.75"
    with target.started(f"sleep {mark}", flags=("-tt",)) as ssh:
        count = f"ps -eo args 2>/dev/null | grep -c '^sleep {mark}' || true"
        assert eventually(lambda: int(target.ssh(count).out) > 0)
        ssh.kill()
        assert eventually(lambda: int(target.ssh(count).out) == 0, 8)


@TRANSPORT.case()
def requests_that_nobody_knows_are_refused(target: Target) -> None:
    """B59: PuTTY's window adjustment is answered FAILURE, in order; unknown global requests too; all goes on."""

    async def judge() -> None:
        async with target.asyncssh() as client:
            process = await client.create_process("read x; echo still $x")
            channel = process.channel
            assert await channel._make_request(b"winadj@putty.projects.tartarus.org") is False
            channel._send_request(b"simple@putty.projects.tartarus.org")
            assert (await client._make_global_request(b"unheard-of@example.org"))[0] == 82
            process.stdin.write("here\n")
            assert (await process.wait()).stdout == "still here\n"

    asyncio.run(judge())


@TRANSPORT.case()
def keepalives_are_answered(target: Target) -> None:
    """B60: a client that asks every second and gives up after two silences stays for five."""
    flags = ("-o", "ServerAliveInterval=1", "-o", "ServerAliveCountMax=2")
    assert target.ssh("sleep 5; echo alive", flags=flags, stdin=None).out == b"alive\n"


@TRANSPORT.case()
def new_keys_lose_nothing(target: Target) -> None:
    """B61: a key exchange for each megabyte, up and down, and while other channels are busy."""
    data = os.urandom(16_000_000)
    flags = ("-o", "RekeyLimit=1M")
    done = target.ssh("sha256sum", flags=flags, stdin=data)
    assert done.out.split()[0].decode() == hashlib.sha256(data).hexdigest()
    assert len(target.ssh("head -c 16000000 /dev/zero", flags=flags, stdin=None).out) == 16_000_000

    async def judge() -> None:
        async with target.asyncssh(rekey_bytes=500_000) as client:
            results = await asyncio.gather(*(client.run("head -c 2000000 /dev/zero", encoding=None) for _ in range(8)))
            assert [len(result.stdout) for result in results] == [2_000_000] * 8

    asyncio.run(judge())


@TRANSPORT.case()
def nobody_can_truncate_the_handshake_and_weak_algorithms_are_refused(target: Target) -> None:
    """B63: key exchange is strict (or no cipher that needs it is offered); CBC, 3DES, group 1 and MD5 are refused."""
    said = target.ssh("true", flags=("-vvv", "-o", "LogLevel=DEBUG3")).err
    assert b"strict KEX" in said or b"kex-strict-s-v00" in said
    for option, value in WEAK:
        assert target.ssh("true", flags=("-o", f"{option}={value}")).status == 255, value


@TRANSPORT.case()
def older_clients_find_what_they_need(target: Target) -> None:
    """B71: NIST curves, CTR with a plain SHA-2 MAC, SHA-2 signatures."""
    for option, value in OLD_BUT_SOUND:
        assert target.ssh("echo in", flags=("-o", f"{option}={value}")).out == b"in\n", value
    ctr = ("-o", "Ciphers=aes128-ctr", "-o", "MACs=hmac-sha2-512")
    assert target.ssh("echo in", flags=ctr).out == b"in\n"


@TRANSPORT.case()
def no_extension_is_offered_that_is_not_kept(target: Target) -> None:
    """B64: a server that says it answers `ping@openssh.com` must; one that is silent about it is right too."""

    async def judge() -> None:
        async with target.asyncssh() as client:
            process = await client.create_process("cat", term_type="xterm", encoding=None)
            for key in b"twenty keys of a word":
                process.stdin.write(bytes([key]))
                assert await asyncio.wait_for(process.stdout.readexactly(1), 10) == bytes([key])
                await asyncio.sleep(0.02)
            process.close()

    asyncio.run(judge())


@TRANSPORT.case()
def only_methods_that_work_are_named(target: Target) -> None:
    """B73: a stranger is told which methods can continue, and publickey is one of them."""
    flags = ("-o", "LogLevel=DEBUG1", "-o", "PreferredAuthentications=none", "-v")
    said = target.ssh("true", flags=flags).err
    named = re.search(rb"Authentications that can continue: ([\w,-]+)", said)
    assert named is not None, said
    assert b"publickey" in named[1].split(b",")


@TRANSPORT.case()
def two_connections_at_once_come_out_at_the_same_place(target: Target) -> None:
    """B47: what VS Code needs: the same machine, the same home, the same host key."""
    with ThreadPoolExecutor(4) as many:
        places = set(many.map(lambda _: target.ssh("hostname; pwd; id -u").out, range(4)))
    assert len(places) == 1


@TRANSPORT.case(heavy=True)
def two_hundred_short_connections_leave_no_trace(target: Target) -> None:
    """B54: as many one after another, and as many that break off within the handshake; then one as ever."""
    for _ in range(200):
        with socket.create_connection((target.host, target.port), 10) as sock:
            sock.sendall(b"SSH-2.0-breaks-off\r\n")
    with ThreadPoolExecutor(6) as many:
        assert set(many.map(lambda _: target.ssh("exit 3").status, range(200))) == {3}
    began = time.monotonic()
    assert target.ssh("echo in").out == b"in\n"
    assert time.monotonic() - began < 5
