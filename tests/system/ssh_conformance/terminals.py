"""Pseudo-terminals: their size, their bytes, their keys."""

from __future__ import annotations

import asyncio
import hashlib
import os

from tests.system.ssh_conformance.cases import Cases
from tests.system.ssh_conformance.target import Target

TERMINALS = Cases()


@TERMINALS.case()
def a_command_gets_a_terminal_when_it_is_forced(target: Target) -> None:
    """`ssh -tt`: there is a tty, and the status comes back."""
    done = target.ssh("tty >/dev/null && echo tty; exit 5", flags=("-tt",))
    assert (b"tty" in done.out, done.status) == (True, 5)


@TERMINALS.case()
def the_size_is_right_from_the_start_and_follows(target: Target) -> None:
    """B29: 101x33, then 140x50, then five hundred sizes in a row of which the last counts."""

    async def judge() -> None:
        async with target.asyncssh() as client:
            process = await client.create_process("bash --norc", term_type="xterm", term_size=(101, 33))

            async def size() -> str:
                process.stdin.write("echo a=$(stty size)=b\n")
                text = await asyncio.wait_for(process.stdout.readuntil("=b\r\n"), 15)
                while "$(stty" in text.rpartition("a=")[2]:
                    text = await asyncio.wait_for(process.stdout.readuntil("=b\r\n"), 15)
                return str(text).rpartition("a=")[2].partition("=b")[0]

            assert await size() == "33 101"
            process.change_terminal_size(140, 50)
            assert await size() == "50 140"
            for columns in range(500):
                process.change_terminal_size(20 + columns, 40)
            assert await size() == "40 519"
            process.stdin.write("exit 4\n")
            assert (await process.wait()).exit_status == 4

    asyncio.run(judge())


@TERMINALS.case()
def a_raw_terminal_passes_every_byte(target: Target) -> None:
    """B58: what rz and sz need: no byte of four megabytes is changed once the terminal is raw."""
    command = 'stty raw -echo; python3 -c \'import os; os.write(1, b"="); d = bytes(range(256)) * 16384; '
    command += "v = memoryview(d)\nwhile v: v = v[os.write(1, v):]'"
    done = target.ssh(command, flags=("-tt", "-e", "none"))
    wanted = bytes(range(256)) * 16384
    assert hashlib.sha256(done.out.partition(b"=")[2]).digest() == hashlib.sha256(wanted).digest()


@TERMINALS.case()
def keys_that_are_typed_one_by_one_arrive(target: Target) -> None:
    """B64: twenty keys, each echoed before the next, as a person types them."""

    async def judge() -> None:
        async with target.asyncssh() as client:
            process = await client.create_process("cat", term_type="xterm", encoding=None)
            for key in b"abcdefghijklmnopqrst":
                process.stdin.write(bytes([key]))
                assert await asyncio.wait_for(process.stdout.readexactly(1), 10) == bytes([key])
            process.stdin.write(b"\x03")
            result = await process.wait()
            assert result.exit_signal is not None or result.exit_status in {130, 2}

    asyncio.run(judge())


@TERMINALS.case()
def the_keyboard_works_beside_x11(target: Target) -> None:
    """B34: with -X, when X11 is granted or refused: what is typed arrives."""
    env = {"DISPLAY": ":99"} | {name: "" for name in ("XAUTHORITY",) if name not in os.environ}
    done = target.ssh("read word; echo typed $word", flags=("-X", "-tt"), stdin=b"hi\n", env=env)
    assert b"typed hi" in done.out


@TERMINALS.case()
def the_end_key_ends_the_input(target: Target) -> None:
    """Ctrl-D on a terminal is the end of what is typed, and the command goes on."""
    done = target.ssh("cat >/dev/null; exit 6", flags=("-tt",), stdin=b"typed\n\x04")
    assert done.status == 6
