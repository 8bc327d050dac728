"""The menu and terminals as a person meets them: the real client on a real pty."""

import asyncio
import hashlib
from pathlib import Path
from unittest import mock

import pytest

from gateway.contract.bridge import Fault
from gateway.contract.people import User
from gateway.contract.routes import JobPhase
from gateway.entries.ssh import menu
from tests.gateway.core.ssh_world import BOB, job
from tests.gateway.entries.ssh.terminal import terminal
from tests.gateway.entries.ssh.test_session import BLOB
from tests.gateway.entries.ssh.world import Grant, lone_job, ssh_entry, world

TWO = (*lone_job(), *lone_job("vim-2", name="lab", number=2))


async def test_one_job_is_entered_straight(tmp_path: Path) -> None:
    """No menu where there is no choice: the shell's prompt, then the shell's status."""
    async with world(tmp_path, *lone_job()) as made, terminal(made) as person:
        await person.sees("$ ")
        person.type(b"echo in $JOB $TERM; exit 5\r")
        await person.sees("in jupyter-17 xterm")
        assert await person.ends() == 5


async def test_a_number_leads_into_a_job_and_resizing_in_the_menu_counts(tmp_path: Path) -> None:
    """B29, B30: the size at the start, in the menu and in the job."""
    async with world(tmp_path, *TWO) as made, terminal(made, size=(101, 33)) as person:
        await person.sees("星光作业 · alice")
        await person.sees("vim-2")
        person.resize(120, 40)
        await person.sees("\x1b[2J")
        person.type(b"2\r")
        await person.sees("正在进入 vim-2")
        await person.sees("$ ")
        person.type(b"stty size\r")
        await person.sees("40 120")
        person.resize(140, 50)
        person.type(b"sleep 0.3; stty size; exit\r")
        await person.sees("50 140")
        assert await person.ends() == 0


async def test_keys_of_all_kinds_are_answered_at_once(tmp_path: Path) -> None:
    """B32: a split character, a long paste, a wrong number, an arrow; each is shown at once."""
    async with world(tmp_path, *TWO) as made, terminal(made) as person:
        await person.sees("> ")
        for byte in "训".encode():
            person.type(bytes([byte]))
        await person.sees("训", within_s=2)
        person.type(b"\x15" + b"x" * 3000)
        await person.sees("xxx", within_s=2)
        person.type(b"\x1599\r")
        await person.sees("没有编号", within_s=2)
        person.type(b"\x1b[B")
        await person.sees("> 1", within_s=2)
        person.type(b"\r")
        await person.sees("正在进入 jupyter-17", within_s=2)
        person.type(b"exit\r")
        assert await person.ends() == 0


@pytest.mark.parametrize("key", [b"q", b"\x03", b"\x04"])
async def test_the_menu_can_be_left(tmp_path: Path, key: bytes) -> None:
    """q, Ctrl-C and Ctrl-D end the connection with status 0."""
    async with world(tmp_path, *TWO) as made, terminal(made) as person:
        await person.sees("> ")
        person.type(key)
        assert await person.ends(within_s=2) == 0
        assert made.bridge.calls == []


async def test_a_command_on_a_terminal_gets_the_menu_too(tmp_path: Path) -> None:
    """B35: wrappers that turn the shell into a command do not hang; what is typed ahead reaches the job."""
    async with world(tmp_path, *TWO) as made, terminal(made, "read x; echo got $x in $JOB") as person:
        await person.sees("> ")
        person.type(b"2\rhello\r")
        await person.sees("got hello in vim-2")
        assert await person.ends() == 0


async def test_the_list_follows_jobs_and_speaks_the_clients_language(tmp_path: Path) -> None:
    """A job that comes is shown while the menu is open, one that ends goes; LC_ALL decides the language."""
    english = ("-o", "SetEnv=LC_ALL=en_US.UTF-8")
    async with world(tmp_path, *TWO) as made, terminal(made, options=english) as person:
        await person.sees("Starlight jobs of alice")
        await person.sees("> ")
        shared = job("b-9", name="theirs", owner=BOB)
        entry = ssh_entry(9, shared)
        made.put(shared, entry, Grant(1, entry.id, 1, None))
        await person.sees("theirs  bob", within_s=3)
        made.put(job("vim-2", phase=JobPhase.ENDED))
        await person.sees("q leaves", within_s=3)
        assert b"vim-2" not in person.shown
        person.type(b"theirs\r")
        await person.sees("$ ")
        assert made.bridge.calls[-1].subject == "b-9"


async def test_a_job_that_is_not_reached_leads_back_to_the_menu(tmp_path: Path) -> None:
    """B33: the reason is shown, and another job can be picked."""
    async with world(tmp_path, *TWO) as made, terminal(made) as person:
        await person.sees("> ")
        made.bridge.fault = Fault.FAILED
        person.type(b"1\r")
        await person.sees("暂时无法连接到作业")
        await person.sees("> ")
        made.bridge.fault = None
        person.type(b"2\rexit\r")
        await person.sees("正在进入 vim-2")
        assert await person.ends() == 0


async def test_a_disabled_person_is_sent_out_of_the_menu(tmp_path: Path) -> None:
    """Whoever loses their right while choosing is told so."""
    async with world(tmp_path, *TWO) as made, terminal(made) as person:
        await person.sees("> ")
        made.put(User(1, "alice", "user", disabled=True))
        await person.sees("访问权限已被收回", within_s=3)
        assert await person.ends() == 1


async def test_an_untouched_menu_goes_away(tmp_path: Path) -> None:
    """Nobody sits at it; the connection ends with a sentence."""
    with mock.patch.object(menu, "_IDLE_S", 0.5):
        async with world(tmp_path, *TWO) as made, terminal(made) as person:
            await person.sees("> ")
            assert await person.ends(within_s=5) == 1


@pytest.mark.parametrize("signal", ["INT", None])
async def test_requests_end_the_menu_as_keys_do(tmp_path: Path, signal: str | None) -> None:
    """An interrupt, or the end of input, leaves it; another signal does not."""
    async with world(tmp_path, *TWO) as made, await made.client() as client:
        process = await client.create_process(term_type="xterm", encoding=None)
        await process.stdout.readuntil(b"> ")
        process.send_signal("WINCH")
        if signal is None:
            process.stdin.write_eof()
        else:
            process.send_signal(signal)
        async with asyncio.timeout(5):
            assert (await process.wait()).exit_status == 0


async def test_a_size_of_zero_counts_as_80x24(tmp_path: Path) -> None:
    """Clients without a size get the usual one."""
    async with world(tmp_path, *lone_job()) as made, await made.client() as client:
        process = await client.create_process("stty size", term_type="vt100", term_size=(0, 0))
        assert await process.stdout.readline() == "24 80\r\n"


async def test_a_terminal_passes_every_byte(tmp_path: Path) -> None:
    """B58: a raw terminal is binary clean, so that rz and sz work."""
    async with world(tmp_path, *lone_job()) as made, await made.client() as client:
        (made.home / "blob").write_bytes(BLOB)
        process = await client.create_process("stty raw -echo; cat blob", term_type="xterm", encoding=None)
        out = await process.stdout.read()
        assert hashlib.sha256(out).digest() == hashlib.sha256(BLOB).digest()


async def test_five_hundred_resizes_end_with_the_last(tmp_path: Path) -> None:
    """B29: none is lost at the end, none freezes the session; terminal modes reach the bridge."""
    async with world(tmp_path, *lone_job()) as made, await made.client() as client:
        process = await client.create_process("read x; stty size", term_type="xterm", term_modes={53: 0})
        for columns in range(100, 600):
            process.change_terminal_size(columns, 50)
        process.stdin.write("\n")
        async with asyncio.timeout(10):
            assert "50 599" in str(await process.stdout.read())
        assert made.bridge.calls[0].args["pty"]["modes"] == {"53": 0}
