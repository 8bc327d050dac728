"""Commands: their output whole, their status true, their input to its end."""

from __future__ import annotations

import asyncio
import os

from tests.system.ssh_conformance.cases import Cases
from tests.system.ssh_conformance.target import Target

COMMANDS = Cases()
EVERY_BYTE = bytes(range(256)) * 64 + b"\r\n\n\r\0\xff\xfe"


@COMMANDS.case()
def the_exit_status_arrives_every_time(target: Target) -> None:
    """B1: thirty times 7."""
    assert [target.ssh("exit 7", stdin=None).status for _ in range(30)] == [7] * 30


@COMMANDS.case()
def the_output_of_a_short_command_is_never_lost(target: Target) -> None:
    """B2: forty times `probe`."""
    assert [target.ssh("echo probe", stdin=None).out for _ in range(40)] == [b"probe\n"] * 40


@COMMANDS.case()
def much_output_of_a_failing_command_is_whole(target: Target) -> None:
    """B3: twenty million bytes, and then status 9."""
    done = target.ssh("head -c 20000000 /dev/zero; exit 9", stdin=None)
    assert (len(done.out), done.status) == (20_000_000, 9)


@COMMANDS.case()
def a_command_ends_at_once(target: Target) -> None:
    """B4: the channel is closed with the command, and not some time later."""
    assert target.ssh("exit 7", stdin=None, deadline_s=10).status == 7


@COMMANDS.case()
def the_end_of_input_is_passed_on(target: Target) -> None:
    """B5: `cat` of an empty input ends; so does a checksum of a long one."""
    assert target.ssh("cat; echo end", stdin=b"", deadline_s=15).out == b"end\n"
    data = os.urandom(8_000_000)
    assert target.ssh("wc -c", stdin=data).out.strip() == b"8000000"


@COMMANDS.case()
def bytes_that_come_early_are_kept(target: Target) -> None:
    """B7: what the client sends before the command runs reaches it, on fifteen fresh connections."""
    assert [target.ssh("cat", stdin=b"early").out for _ in range(15)] == [b"early"] * 15


@COMMANDS.case()
def scripts_are_piped_over_a_shared_connection(target: Target) -> None:
    """B8: what Ansible does: a shell per task over one connection, its script on stdin."""
    with target.master() as shared:
        assert [shared.ssh("/bin/sh", stdin=b"echo ok").out for _ in range(3)] == [b"ok\n"] * 3


@COMMANDS.case()
def a_shell_without_a_terminal_has_none(target: Target) -> None:
    """B9: `ssh -T` without a command is a shell on pipes, whose status comes back."""
    done = target.ssh(flags=("-T",), stdin=b"tty; exit 3\n")
    assert (done.out.strip().splitlines()[-1], done.status) == (b"not a tty", 3)


@COMMANDS.case()
def every_byte_passes_both_ways(target: Target) -> None:
    """B10, B11: no byte is added, dropped or changed without a terminal."""
    assert target.ssh("cat", stdin=EVERY_BYTE).out == EVERY_BYTE


@COMMANDS.case()
def commands_are_bytes(target: Target) -> None:
    """B12: a command that is not UTF-8 arrives as it was typed."""
    done = target.ssh(b"printf %s \xff\xfe | od -An -tx1", stdin=None)
    assert done.out.split() == [b"ff", b"fe"]


@COMMANDS.case()
def a_signal_is_told_as_one(target: Target) -> None:
    """B14: a command that dies by a signal has an exit-signal, not a status."""

    async def judge() -> None:
        async with target.asyncssh() as client:
            result = await client.run("kill -TERM $$; sleep 5")
            assert result.exit_signal is not None, result
            assert result.exit_signal[0] == "TERM"

    asyncio.run(judge())


@COMMANDS.case()
def nothing_is_printed_that_the_command_did_not(target: Target) -> None:
    """B16: `true` prints nothing, on neither output."""
    done = target.ssh("true", stdin=None)
    assert (done.out, done.err) == (b"", b"")


@COMMANDS.case()
def standard_error_is_apart(target: Target) -> None:
    """Both outputs arrive, each where it belongs."""
    done = target.ssh("echo out; echo err >&2", stdin=None)
    assert (done.out, done.err) == (b"out\n", b"err\n")


@COMMANDS.case()
def input_and_output_may_both_be_full(target: Target) -> None:
    """B52: forty megabytes into `cat` of which nothing is read for a while, and then all."""

    async def judge() -> None:
        async with target.asyncssh() as client:
            process = await client.create_process("cat", encoding=None)

            async def feed() -> None:
                for _ in range(400):
                    process.stdin.write(b"x" * 100_000)
                    await process.stdin.drain()
                process.stdin.write_eof()

            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(feed())
                await asyncio.sleep(3)
                assert len(await process.stdout.read()) == 40_000_000

    asyncio.run(judge())


@COMMANDS.case()
def the_languages_of_the_client_arrive(target: Target) -> None:
    """What sshd of most systems accepts: LANG and LC_*."""
    assert target.ssh("echo $LC_MONETARY", flags=("-o", "SetEnv=LC_MONETARY=C.UTF-8")).out == b"C.UTF-8\n"


@COMMANDS.case()
def what_runs_on_in_the_background_holds_nobody(target: Target) -> None:
    """A program that is left behind with its outputs elsewhere does not keep the session open."""
    done = target.ssh("sleep 30 >/dev/null 2>&1 </dev/null & echo done", stdin=None, deadline_s=20)
    assert (done.out, done.status) == (b"done\n", 0)
