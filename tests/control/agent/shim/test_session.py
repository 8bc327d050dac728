"""What a visitor meets in a real job: shells, commands, terminals, signals, and how they end."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import pytest
import pytest_asyncio

from gateway.contract.bridge import FrameKind, Verb
from tests.control.bridge.running import Bridge

pytestmark = pytest.mark.asyncio(loop_scope="module")
TERMINAL = {"term": "xterm-256color", "rows": 30, "cols": 100}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def job(bridge: Bridge) -> AsyncIterator[str]:
    """A job to walk into."""
    await bridge.submit("walk-1", ["sleep", "1000"])
    await bridge.running("walk-1")
    yield "walk-1"


@pytest.mark.parametrize(
    ("command", "fields"),
    [("exit 0", {"status": 0}), ("exit 7", {"status": 7}), ("kill -TERM $$", {"signal": "TERM"})],
)
async def test_a_commands_end_is_told_as_it_was(bridge: Bridge, job: str, command: str, fields: object) -> None:
    """Exit status and signal arrive apart."""
    assert await bridge.run(job, command) == (b"", fields)


async def test_both_outputs_arrive_apart(bridge: Bridge, job: str) -> None:
    """stdout is DATA, stderr is ERROR; then EOF, then EXIT, and nothing after it."""
    stream = await bridge.shell(job, "echo out; echo err >&2")
    frames = await stream.frames()
    assert {(FrameKind.DATA, b"out\n"), (FrameKind.ERROR, b"err\n")} == set(frames[:-2])
    assert frames[-2:] == [(FrameKind.EOF, b""), (FrameKind.EXIT, b'{"status": 0}')]


async def test_a_background_process_that_holds_the_output_holds_the_session(bridge: Bridge, job: str) -> None:
    """As with OpenSSH: the output ends when its last writer ends, and all of it arrives before EOF."""
    stream = await bridge.shell(job, "(sleep 0.3; echo late) & echo early; exit 4")
    assert await stream.rest() == (b"early\nlate\n", {"status": 4})


async def test_the_outputs_end_is_told_before_the_programs(bridge: Bridge, job: str) -> None:
    """A program that closes both outputs and goes on: EOF now, EXIT later."""
    stream = await bridge.shell(job, "echo out; exec >&- 2>&-; read x; exit 4")
    assert await stream.frame() == (FrameKind.DATA, b"out\n")
    assert await stream.frame() == (FrameKind.EOF, b"")
    stream.send(FrameKind.DATA, b"go\n")
    assert await stream.frames() == [(FrameKind.EXIT, b'{"status": 4}')]


async def test_input_ends_where_the_visitor_says(bridge: Bridge, job: str) -> None:
    """Half-close: the program sees the end of its input and still answers."""
    stream = await bridge.shell(job, "wc -c; echo after")
    await stream.send_all(b"x" * 250_000)
    stream.send(FrameKind.EOF)
    output, fields = await stream.rest()
    assert output.split() == [b"250000", b"after"]
    assert fields == {"status": 0}


async def test_ten_megabytes_pass_unchanged_both_ways(bridge: Bridge, job: str) -> None:
    """Every byte value, at a pace that neither side could hold in memory at once."""
    content = os.urandom(1 << 16) * 160
    stream = await bridge.shell(job, "cat")

    async def send() -> None:
        await stream.send_all(content)
        await asyncio.get_running_loop().sock_sendall(stream.sock, bytes([FrameKind.EOF, 0, 0, 0, 0]))

    async with asyncio.TaskGroup() as group:
        group.create_task(send())
        back = group.create_task(stream.rest())
    output, fields = back.result()
    assert hashlib.sha256(output).digest() == hashlib.sha256(content).digest()
    assert fields == {"status": 0}


async def test_a_slow_visitor_holds_the_program_back(bridge: Bridge, job: str) -> None:
    """Nothing is read, so the program stands still soon, and goes on when reading begins."""
    stream = await bridge.shell(job, "head -c 20000000 /dev/zero; echo sent >&2; exit 9")
    await asyncio.sleep(0.5)
    output, fields = await stream.rest()
    assert len(output) == 20_000_000 + len(b"sent\n")
    assert fields == {"status": 9}


async def test_a_program_that_does_not_read_holds_the_visitor_back(bridge: Bridge, job: str) -> None:
    """A visitor cannot fill the shim's memory; leaving is noticed all the same, and hangs up."""
    script = "exec 2> /dev/null; trap 'echo gone > hung-up; exit' HUP; while :; do sleep 0.05; done"
    stream = await bridge.shell(job, script)
    await bridge.run(job, "rm -f hung-up")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1):
            await stream.send_all(b"x" * 20_000_000)
    stream.sock.close()
    await _until_file(bridge, job, "hung-up")


async def test_a_terminal_is_the_jobs_own(bridge: Bridge, job: str) -> None:
    """`tty` works inside, the size is the one asked for, TERM as well."""
    stream = await bridge.shell(job, "tty; stty size; echo $TERM", TERMINAL)
    output, fields = await stream.rest()
    assert output == b"/dev/pts/0\r\n30 100\r\nxterm-256color\r\n"
    assert fields == {"status": 0}


async def test_a_resize_reaches_the_program(bridge: Bridge, job: str) -> None:
    """The program is told by SIGWINCH and sees the new size."""
    command = "trap 'stty size; exit 0' WINCH; echo ready; while :; do sleep 0.05; done"
    stream = await bridge.shell(job, command, TERMINAL)
    await stream.until(b"ready")
    stream.send(FrameKind.RESIZE, rows=50, cols=132)
    assert (await stream.rest())[0].strip() == b"50 132"


async def test_a_login_shell_reads_and_answers(bridge: Bridge, job: str) -> None:
    """No command: the person's shell, as a login shell, in their home."""
    stream = await bridge.shell(job, None, TERMINAL)
    stream.send(FrameKind.DATA, b"echo $0 $((20+3)) $PWD; exit 3\n")
    output, fields = await stream.rest()
    assert b"-bash 23 " in output
    assert b"/homes/user1\r\n" in output
    assert fields == {"status": 3}


async def test_terminal_modes_are_applied(bridge: Bridge, job: str) -> None:
    """Opcodes of RFC 4254: no echo, another interrupt character."""
    stream = await bridge.shell(job, "stty -a", {**TERMINAL, "modes": {"53": 0, "1": 7, "999": 1}})
    output, _ = await stream.rest()
    assert b"-echo " in output
    assert b"intr = ^G" in output


async def test_the_interrupt_key_reaches_the_foreground(bridge: Bridge, job: str) -> None:
    """Ctrl-C ends what runs in front and leaves the shell."""
    stream = await bridge.shell(job, None, TERMINAL)
    stream.send(FrameKind.DATA, b"echo go$((1+1)); sleep 1000\n")
    await stream.until(b"go2")
    await asyncio.sleep(0.2)
    stream.send(FrameKind.DATA, b"\x03")
    stream.send(FrameKind.DATA, b"echo back$((1+1)); exit\n")
    assert b"back2" in (await stream.rest())[0]


async def test_a_signal_frame_reaches_the_command(bridge: Bridge, job: str) -> None:
    """A named signal is sent; a name that is none is ignored."""
    stream = await bridge.shell(job, "trap 'echo got; exit 5' USR1; echo ready; while :; do sleep 0.05; done")
    assert await stream.frame() == (FrameKind.DATA, b"ready\n")
    stream.send(FrameKind.SIGNAL, name="NONSENSE")
    stream.send(FrameKind.SIGNAL, name="USR1")
    output, fields = await stream.rest()
    assert b"got\n" in output
    assert fields == {"status": 5}


@pytest.mark.parametrize("terminal", [None, TERMINAL])
async def test_leaving_hangs_up(bridge: Bridge, job: str, terminal: dict[str, object] | None) -> None:
    """When the visitor's socket closes, the session's processes get SIGHUP at once."""
    await bridge.run(job, "rm -f left")
    script = "exec 2> /dev/null; trap 'echo yes > left; exit' HUP; echo on; while :; do sleep 0.05; done"
    stream = await bridge.shell(job, script, terminal)
    await stream.frame()
    stream.sock.close()
    await _until_file(bridge, job, "left")


async def test_background_work_neither_holds_the_session_nor_ends_with_it(bridge: Bridge, job: str) -> None:
    """With its outputs elsewhere, `server &` lets the visitor go at once, and goes on."""
    command = "rm -f done-later; (sleep 3; echo yes > done-later) > /dev/null 2>&1 < /dev/null & echo here"
    async with asyncio.timeout(2):
        assert await bridge.run(job, command) == (b"here\n", {"status": 0})
    await _until_file(bridge, job, "done-later")


async def test_end_of_input_on_a_terminal_is_its_end_character(bridge: Bridge, job: str) -> None:
    """A terminal has no half-close; in line mode its own character says it."""
    stream = await bridge.shell(job, "cat; echo over", TERMINAL)
    stream.send(FrameKind.DATA, b"line\n")
    stream.send(FrameKind.EOF)
    output, _ = await stream.rest()
    assert output.endswith(b"over\r\n")


async def test_a_command_of_any_bytes_arrives(bridge: Bridge, job: str) -> None:
    """A file name that is not UTF-8 can be named (PEP 383)."""
    command = b"printf '%s' '\xff\xfe' | od -An -tx1".decode("utf-8", "surrogateescape")
    assert (await bridge.run(job, command))[0].split() == [b"ff", b"fe"]


@pytest.mark.parametrize("payload", [b"", b"[]", b'"x"', b"{}", b'{"rows": "x", "cols": null}', b'{"name": 7}'])
async def test_a_frame_that_makes_no_sense_hurts_only_its_session(bridge: Bridge, job: str, payload: bytes) -> None:
    """Neither the job nor another session depends on what one visitor sends."""
    for kind in (FrameKind.RESIZE, FrameKind.SIGNAL):
        stream = await bridge.shell(job, "sleep 1000", TERMINAL)
        stream.send(kind, payload)
        stream.sock.close()
    assert await bridge.run(job, "echo well") == (b"well\n", {"status": 0})


@pytest.mark.parametrize("pty", ["x", {"modes": "x"}, {"rows": -5, "cols": 1e9}, {"modes": {"1": -1}}, {"term": 7}])
async def test_a_terminal_that_makes_no_sense_hurts_nobody(bridge: Bridge, job: str, pty: Any) -> None:
    """It is refused, or what makes sense of it is used."""
    _, descriptors = await bridge.ask(Verb.SHELL, job, command="true", env={}, pty=pty)
    for descriptor in descriptors:
        os.close(descriptor)
    assert await bridge.run(job, "echo well") == (b"well\n", {"status": 0})


async def test_what_is_no_frame_ends_the_session(bridge: Bridge, job: str) -> None:
    """Garbage is not obeyed, not answered, and does not hurt the job."""
    stream = await bridge.shell(job, "sleep 1000")
    stream.sock.send(b"\xff" * 100)
    with suppress(ConnectionResetError):
        assert await stream.frame() is None
    stream.sock.close()
    assert (await bridge.state(job))["state"] == "running"


async def test_a_session_of_a_job_that_ends_is_told(bridge: Bridge) -> None:
    """The stream ends with EOF and EXIT, not with silence."""
    await bridge.submit("walk-2", ["sleep", "1000"])
    await bridge.running("walk-2")
    stream = await bridge.shell("walk-2", "trap '' TERM; echo in; while :; do sleep 0.05; done")
    await stream.frame()
    await bridge.run("walk-2", "kill -9 2")
    frames = await stream.frames()
    assert frames[-1] == (FrameKind.EXIT, b'{"signal": "KILL"}')


async def test_streams_outlive_the_bridge(bridge: Bridge, job: str) -> None:
    """The bridge only introduced: killed with -9, no stream notices; its successor finds the job."""
    stream = await bridge.shell(job, "cat")
    stream.send(FrameKind.DATA, b"before")
    assert await stream.frame() == (FrameKind.DATA, b"before")
    bridge.kill()
    stream.send(FrameKind.DATA, b"after")
    assert await stream.frame() == (FrameKind.DATA, b"after")
    await bridge.start()
    assert (await bridge.state(job))["state"] == "running"
    stream.send(FrameKind.EOF)
    assert (await stream.rest())[1] == {"status": 0}


async def _until_file(bridge: Bridge, job: str, name: str) -> None:
    async with asyncio.timeout(10):
        while (await bridge.run(job, f"test -s {name}"))[1] != {"status": 0}:
            await asyncio.sleep(0.05)
