"""The client's agent and X display in the job: OpenSSH with -A and -X, real agents, a real X client's handshake."""

import asyncio
import contextlib
import os
import re
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gateway.contract.bridge import Fault
from gateway.entries.ssh.lending import Display, display
from tests.gateway.entries.ssh.world import World, lone_job, run, world

_ASK_X = """
import os, socket, struct
host, _, rest = os.environ["DISPLAY"].partition(":")
wild, *fields = (), open(os.environ["XAUTHORITY"], "rb").read()
data, at, parts = fields[0], 2, []
while at < len(data):
    size, = struct.unpack_from("!H", data, at)
    parts.append(data[at + 2 : at + 2 + size])
    at += 2 + size
_, number, name, cookie = parts
assert number == rest.split(".")[0].encode()
sock = socket.create_connection((host, 6000 + int(number)))
pad = lambda text: text + b"\\0" * (-len(text) % 4)
sock.sendall(struct.pack("<BxHHHHxx", 0x6C, 11, 0, len(name), len(cookie)) + pad(name) + pad(cookie))
print(sock.recv(100).decode(), os.stat(os.environ["XAUTHORITY"]).st_mode & 0o77, os.environ["DISPLAY"])
"""


@contextlib.asynccontextmanager
async def agent(made: World) -> AsyncIterator[dict[str, str]]:
    """A running ssh-agent that holds Alice's key, and its environment."""
    started = await run("ssh-agent", "-s", "-a", str(made.home / "agent.sock"))
    pid = int(re.findall(rb"SSH_AGENT_PID=(\d+)", started.out)[0])
    env = {"SSH_AUTH_SOCK": str(made.home / "agent.sock")}
    try:
        added = await run("ssh-add", "-q", str(made.home / "alice"), env=env)
        assert added.status == 0, added.err
        yield env
    finally:
        os.kill(pid, signal.SIGTERM)


async def test_the_agent_is_used_by_many_programs_at_once(tmp_path: Path) -> None:
    """B49: `ssh -A`: three ssh-add at the same time, each gets the key; the socket goes with the session."""
    command = "ssh-add -L & ssh-add -L & ssh-add -L & wait; echo $SSH_AUTH_SOCK"
    async with world(tmp_path, *lone_job()) as made, agent(made) as env:
        done = await run("ssh", "-A", *made.options(), "alice@127.0.0.1", command, env=env)
        *keys, path = done.out.decode().splitlines()
        assert [key.split()[0] for key in keys] == ["ssh-ed25519"] * 3
        async with asyncio.timeout(5):
            while Path(path).parent.exists():
                await asyncio.sleep(0.01)


async def test_no_agent_is_lent_unasked(tmp_path: Path) -> None:
    """Without -A the job finds none."""
    async with world(tmp_path, *lone_job()) as made, agent(made) as env:
        done = await run("ssh", *made.options(), "alice@127.0.0.1", "echo [$SSH_AUTH_SOCK]", env=env)
        assert done.out == b"[]\n"


async def test_a_job_that_cannot_lend_begins_all_the_same(tmp_path: Path) -> None:
    """An environment without listeners: the session has no agent, and nothing else is missing."""
    async with world(tmp_path, *lone_job()) as made, agent(made) as env:
        made.bridge.cannot_listen = Fault.UNSUPPORTED
        done = await run("ssh", "-A", *made.options(), "alice@127.0.0.1", "echo [$SSH_AUTH_SOCK]", env=env)
        assert (done.out, done.status) == (b"[]\n", 0)


async def test_an_x_client_of_the_job_meets_the_clients_display(tmp_path: Path) -> None:
    """B34: `ssh -X -tt`: DISPLAY and the cookie are set, the handshake comes through, and the keyboard works."""
    script = tmp_path / "ask.py"
    script.write_text(_ASK_X)
    seen: list[bytes] = []
    Path("/tmp/.X11-unix").mkdir(exist_ok=True)

    async def server(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.readexactly(12 + 20 + 16))
        writer.write(b"an X server")
        writer.close()

    async with world(tmp_path, *lone_job()) as made:
        number = os.getpid()
        display_socket = Path(f"/tmp/.X11-unix/X{number}")
        async with await asyncio.start_unix_server(server, display_socket):
            env = {"DISPLAY": f":{number}", "XAUTHORITY": str(made.home / "none")}
            flags = ("-Y", "-tt")
            command = f"read word; echo typed $word; python3 {script}"
            done = await run("ssh", *flags, *made.options(), "alice@127.0.0.1", command, stdin=b"hi\n", env=env)
    display_socket.unlink()
    assert b"typed hi" in done.out
    assert re.search(rb"an X server 0 localhost:\d+\.0", done.out), done
    assert seen[0][12:30] == b"MIT-MAGIC-COOKIE-1"


@pytest.mark.parametrize(
    ("protocol", "cookie", "screen"),
    [(b"XDM-AUTHORIZATION-1", b"00" * 16, 0), (b"MIT-MAGIC-COOKIE-1", b"zz", 0), (b"MIT-MAGIC-COOKIE-1", b"00", 256)],
)
def test_a_display_that_no_program_would_understand_is_refused(protocol: bytes, cookie: bytes, screen: int) -> None:
    """Another protocol, a cookie that is not hex, a screen that no server has."""
    assert display(protocol, cookie, screen) is None
    assert display(b"MIT-MAGIC-COOKIE-1", b"0a" * 16, 1) == Display("MIT-MAGIC-COOKIE-1", "0a" * 16, 1)
