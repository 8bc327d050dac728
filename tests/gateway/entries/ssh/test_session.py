"""Sessions through the gateway, driven by the real OpenSSH client; numbers are cases of the ssh research."""

import asyncio
import hashlib
import os
import random
from pathlib import Path

import pytest

from tests.gateway.entries.ssh.world import lone_job, run, world

BLOB = random.Random(17).randbytes(4 * 1024 * 1024)
EVERY_BYTE = bytes(range(256)) + b"\r\n\n\r\0\xff\xfe" * 3


async def test_exit_status_arrives_every_time(tmp_path: Path) -> None:
    """B1, B2, B4: status and output of short commands are never lost."""
    async with world(tmp_path, *lone_job()) as made:
        for _ in range(10):
            done = await made.ssh("echo probe; exit 7")
            assert (done.status, done.out) == (7, b"probe\n")


async def test_output_is_whole_when_the_command_fails(tmp_path: Path) -> None:
    """B3: twenty megabytes, then status 9."""
    async with world(tmp_path, *lone_job()) as made:
        done = await made.ssh("head -c 20000000 /dev/zero; exit 9")
        assert (done.status, len(done.out)) == (9, 20_000_000)


async def test_end_of_input_is_passed_on(tmp_path: Path) -> None:
    """B5: a program that reads to the end sees the end, at once when there is no input."""
    async with world(tmp_path, *lone_job()) as made:
        done = await made.ssh("sha256sum", stdin=BLOB)
        assert done.out.split()[0].decode() == hashlib.sha256(BLOB).hexdigest()
        assert (await made.ssh("cat; echo end", stdin=None)).out == b"end\n"


async def test_input_before_the_job_is_reached_is_kept(tmp_path: Path) -> None:
    """B7: what is sent while the bridge still takes its time arrives."""
    async with world(tmp_path, *lone_job()) as made:
        made.bridge.gate.clear()
        asyncio.get_running_loop().call_later(0.5, made.bridge.gate.set)
        assert (await made.ssh("cat", stdin=b"early")).out == b"early"


async def test_every_byte_passes_unchanged(tmp_path: Path) -> None:
    """B10, B11: no line ending is translated, no encoding assumed, standard error stays apart."""
    async with world(tmp_path, *lone_job()) as made:
        assert (await made.ssh("cat", stdin=EVERY_BYTE)).out == EVERY_BYTE
        done = await made.ssh("echo out; echo err >&2")
        assert (done.out, done.err) == (b"out\n", "err\n")


async def test_a_command_that_is_not_utf8_arrives_byte_for_byte(tmp_path: Path) -> None:
    """B12: file names of other encodings can be named."""
    async with world(tmp_path, *lone_job()) as made:
        done = await made.ssh(b"printf %s \xff\xfe\xe4\xbd\xa0 | od -An -tx1")
        assert done.out.split() == [b"ff", b"fe", b"e4", b"bd", b"a0"]


async def test_a_shell_without_a_terminal_reads_commands(tmp_path: Path) -> None:
    """B9: `ssh -T` with a script on its input gets no tty and the script's status."""
    async with world(tmp_path, *lone_job()) as made:
        done = await made.ssh(options=("-T",), stdin=b"tty; exit 3\n")
        assert (done.status, done.out) == (3, b"not a tty\n")


async def test_a_killed_program_ends_with_its_signal(tmp_path: Path) -> None:
    """B14: exit-signal, not a status out of nowhere; a signal request reaches the program."""
    async with world(tmp_path, *lone_job()) as made, await made.client() as client:
        assert (await client.run("kill -TERM $$")).exit_signal == ("TERM", False, "", "en-US")
        process = await client.create_process("trap 'echo caught; exit 5' INT; echo up; while :; do sleep 0.05; done")
        assert await process.stdout.readline() == "up\n"
        process.send_signal("INT")
        assert (await process.wait()).exit_status == 5


async def test_the_end_of_output_is_passed_on_before_the_exit(tmp_path: Path) -> None:
    """A program that closes its output and goes on: the client reads to the end meanwhile."""
    async with world(tmp_path, *lone_job()) as made, await made.client() as client:
        process = await client.create_process("echo out; exec >&- 2>&-; read x; exit 4")
        async with asyncio.timeout(5):
            assert await process.stdout.read() == "out\n"
        process.stdin.write("go\n")
        assert (await process.wait()).exit_status == 4


async def test_multiplexed_commands_with_input_work(tmp_path: Path) -> None:
    """B8: Ansible's way, three commands over one connection."""
    async with world(tmp_path, *lone_job()) as made:
        control = ("-o", f"ControlPath={made.home}/mux")
        await made.ssh(options=(*control, "-M", "-N", "-f"), stdin=None)
        for _ in range(3):
            assert (await made.ssh("/bin/sh", options=control, stdin=b"echo ok\n")).out == b"ok\n"
        await made.ssh(options=(*control, "-O", "exit"))


async def test_languages_and_gits_protocol_are_passed_on_and_nothing_else(tmp_path: Path) -> None:
    """The client's locale reaches the job; variables that change what runs do not."""
    async with world(tmp_path, *lone_job()) as made, await made.client() as client:
        sent = {"LANG": "zh_CN.UTF-8", "LC_TIME": "C", "GIT_PROTOCOL": "version=2", "LD_PRELOAD": "x", "BASH_ENV": "x"}
        out = str((await client.run("env", env=sent)).stdout).splitlines()
        assert {"LANG=zh_CN.UTF-8", "LC_TIME=C", "GIT_PROTOCOL=version=2", "JOB=jupyter-17"} <= set(out)
        assert not [line for line in out if line.startswith(("LD_PRELOAD", "BASH_ENV"))]
        assert [line for line in out if line.startswith("SSH_CONNECTION=127.0.0.1 ")]


async def test_a_stalled_channel_stalls_no_other(tmp_path: Path) -> None:
    """B51: beside a command whose output nobody reads, another answers."""
    async with world(tmp_path, *lone_job()) as made, await made.client() as client:
        stalled = await client.create_process("cat /dev/zero", encoding=None)
        await stalled.stdout.readexactly(1)
        async with asyncio.timeout(3):
            assert (await client.run("echo ok")).stdout == "ok\n"
        stalled.channel.abort()


async def test_both_directions_full_do_not_lock(tmp_path: Path) -> None:
    """B52: forty megabytes into cat while nothing is read for a while, then all of it."""
    async with world(tmp_path, *lone_job()) as made, await made.client() as client:
        process = await client.create_process("cat", encoding=None)
        process.stdin.write(BLOB * 10)
        process.stdin.write_eof()
        await asyncio.sleep(1)
        assert len(await process.stdout.read()) == 10 * len(BLOB)


async def test_a_client_that_vanishes_takes_its_program_along(tmp_path: Path) -> None:
    """B55: no shell lives on in the job when its client is killed, or closes its channel with input unread."""
    async with world(tmp_path, *lone_job()) as made:
        client = await made.client()
        process = await client.create_process("echo up; sleep 777", encoding=None)
        assert await process.stdout.readline() == b"up\n"
        process.stdin.write(BLOB)
        process.channel.abort()
        async with asyncio.timeout(5):
            await made.visits.wait_none()
        process = await client.create_process("echo up; sleep 777")
        await process.stdout.readline()
        client.abort()
        async with asyncio.timeout(5):
            await made.visits.wait_none()


@pytest.mark.parametrize(("protocol", "name"), [([], "数据 é 🚀 (1).txt"), (["-O"], "数据-é-🚀.txt")])
async def test_scp_copies_both_ways(tmp_path: Path, protocol: list[str], name: str) -> None:
    """B18, B24: the modern and the old protocol, with a Chinese name; status 0."""
    async with world(tmp_path, *lone_job()) as made:
        (tmp_path / name).write_bytes(BLOB)
        remote = f"alice@127.0.0.1:{made.home}/copy-{name}"
        done = await run("scp", *made.options(), *protocol, str(tmp_path / name), remote)
        assert (done.status, done.err) == (0, "")
        done = await run("scp", *made.options(), *protocol, remote, str(tmp_path / "back"))
        assert (done.status, done.err) == (0, "")
        assert (tmp_path / "back").read_bytes() == BLOB


async def test_sftp_is_a_first_and_only_channel(tmp_path: Path) -> None:
    """B19, B20, B24: a batch works on a fresh connection, a bad get is status 1, odd names are byte-exact."""
    async with world(tmp_path, *lone_job()) as made:
        odd = os.fsencode(made.home) + b"/\xe9\xff"
        await made.ssh(b"printf odd > " + odd)
        done = await run("sftp", *made.options(), "-b", "-", "alice@127.0.0.1", stdin=b"ls -1\nbye\n")
        assert done.status == 0
        assert b"\\351\\377" in done.out or b"\xe9\xff" in done.out or b"??" in done.out
        done = await run("sftp", *made.options(), "-b", "-", "alice@127.0.0.1", stdin=b"get nothing-here\n")
        assert done.status == 1
        async with await made.client() as client, client.start_sftp_client() as sftp:
            assert b"\xe9\xff" in await sftp.listdir(os.fsencode(made.home))
            async with sftp.open(odd) as file:
                assert await file.read() == "odd"


async def test_sftp_runs_beside_a_shell_on_one_connection_and_on_two(tmp_path: Path) -> None:
    """B23: MobaXterm's file browser."""
    async with world(tmp_path, *lone_job()) as made, await made.client() as client:
        shell = await client.create_process("read x; echo got $x", term_type="xterm")
        async with client.start_sftp_client() as sftp:
            await sftp.put(__file__, f"{made.home}/one")
        done = await run("sftp", *made.options(), "-b", "-", "alice@127.0.0.1", stdin=f"put {__file__} two\n".encode())
        assert done.status == 0
        assert (made.home / "one").stat().st_size == (made.home / "two").stat().st_size > 1000
        shell.stdin.write("it\n")
        assert "got it" in str((await shell.wait()).stdout)


async def test_rsync_and_git_work(tmp_path: Path) -> None:
    """B7, B27: a tree goes over and back; a clone and a push arrive."""
    async with world(tmp_path, *lone_job()) as made:
        tree = tmp_path / "tree"
        tree.mkdir()
        for number in range(20):
            (tree / f"f{number}").write_bytes(BLOB[: number * 1000])
        shell = " ".join(["ssh", *made.options()])
        done = await run("rsync", "-a", "-e", shell, f"{tree}/", f"alice@127.0.0.1:{made.home}/tree/")
        assert (done.status, done.err) == (0, "")
        assert (made.home / "tree" / "f19").read_bytes() == BLOB[:19000]
        done = await run("ssh", *made.options(), "alice@127.0.0.1", "git init -q --bare g.git")
        assert done.status == 0
        git = {"GIT_SSH_COMMAND": shell, "GIT_CONFIG_GLOBAL": "/dev/null"}
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        clone = tmp_path / "clone"
        assert (await run("git", "clone", "-q", f"alice@127.0.0.1:{made.home}/g.git", str(clone), env=git)).status == 0
        assert (await run("git", *who, "commit", "-q", "--allow-empty", "-m", "x", env=git, cwd=clone)).status == 0
        assert (await run("git", "push", "-q", "origin", "HEAD:main", env=git, cwd=clone)).status == 0
        assert (await run("git", "ls-remote", "origin", "main", env=git, cwd=clone)).out
