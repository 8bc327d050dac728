"""The web terminal: a real WebSocket client in front, a bridge's shell frames behind."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from gateway.contract.bridge import Fault, FrameKind, Verb
from gateway.contract.routes import Level, Service
from gateway.entries.http import terminal
from gateway.wire.frames import Frames
from tests.gateway import world
from tests.gateway.entries.http.house import House, open_house, visit
from tests.gateway.entries.http.test_passage import get

Shell = Callable[[Frames], Awaitable[None]]


async def no_app(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A terminal has no app."""
    pytest.fail("an app was dialled")


@asynccontextmanager
async def open_terminal(tmp_path: Path, shell: Shell | None = None, *records: object) -> AsyncIterator[House]:
    """A house whose entry is a web terminal, and whose bridge lends this shell."""
    (tmp_path / "assets").mkdir()
    (tmp_path / "term.html").write_text("<!doctype html><title>t</title>")
    (tmp_path / "assets" / "term-1a2b.js").write_text("export {}")
    (tmp_path / "secret.js").write_text("no")
    entry = {"service": Service.TERMINAL, "target_port": None}
    async with (
        open_house(tmp_path, no_app, *records, entry=entry) as house,  # type: ignore[arg-type] # records of any kind
        asyncio.TaskGroup() as group,
    ):

        async def run(sock: socket.socket) -> None:
            async with await Frames.over(sock) as frames:
                try:
                    await (shell or echo)(frames)
                except ConnectionError:
                    return

        def lend() -> socket.socket:
            mine, theirs = socket.socketpair()
            mine.setblocking(False)
            group.create_task(run(mine))
            return theirs

        house.shell = lend
        yield house


async def echo(frames: Frames) -> None:
    """A shell that says back what it is told, sizes too, and exits at `exit`."""
    while (frame := await frames.read()) is not None:
        kind, payload = frame
        if payload == b"exit":
            await frames.write_json(FrameKind.EXIT, status=7)
            return
        await frames.write(FrameKind.ERROR if kind is FrameKind.RESIZE else FrameKind.DATA, payload)


def dial(house: House, more: str = "", path: str = "/.starlight/terminal") -> connect:
    """A browser's WebSocket, signed in as Alice unless told otherwise."""
    return connect(
        f"ws://{house.host}{path}",
        host="127.0.0.1",
        port=house.port,
        additional_headers={"Cookie": more or house.ticket()},
        proxy=None,
    )


async def hear(client: ClientConnection) -> bytes | str:
    """The next message."""
    async with asyncio.timeout(5):
        return await client.recv()


async def test_bytes_sizes_and_the_exit(tmp_path: Path) -> None:
    """The first size starts the shell, later ones resize it, its end is told."""
    async with open_terminal(tmp_path) as house, dial(house) as client:
        await client.send('{"rows": 40, "cols": 5000}')
        await client.send(b"early")
        assert await hear(client) == b"early"
        call = house.calls[0]
        assert (call.verb, call.args["pty"]["rows"], call.args["pty"]["cols"]) == (Verb.SHELL, 40, 1000)
        await client.send('{"rows": 50, "cols": 90}')
        assert json.loads(await hear(client)) == {"rows": 50, "cols": 90}
        await client.send('{"rows": "x"}')
        await client.send("no json")
        await client.send([b"frag", b"ment"])
        assert await hear(client) == b"fragment"
        await client.send(b"exit")
        assert json.loads(await hear(client)) == {"exit": {"status": 7}}
        with pytest.raises(ConnectionClosed) as caught:
            await hear(client)
        assert caught.value.rcvd is not None
        assert caught.value.rcvd.code == 1000


async def test_a_browser_that_leaves_hangs_up_the_shell(tmp_path: Path) -> None:
    """In order or not."""
    ended = asyncio.Semaphore(0)

    async def shell(frames: Frames) -> None:
        try:
            while await frames.read() is not None:
                pass
        finally:
            ended.release()

    async with open_terminal(tmp_path, shell) as house:
        for leave in ("close", "abort"):
            async with dial(house) as client:
                await client.send(b"x")
                while not house.calls:
                    await asyncio.sleep(0.01)
                if leave == "abort":
                    client.transport.abort()
            async with asyncio.timeout(5):
                await ended.acquire()
            house.calls.clear()


async def test_withdrawal_is_told_and_ends_both_sides(tmp_path: Path) -> None:
    """With its code, a sentence in both languages, and close code 1008."""
    async with (
        open_terminal(tmp_path, None, world.grant()) as house,
        dial(house, house.ticket("s2", 2)) as client,
    ):
        await client.send('{"rows": 40, "cols": 100}')
        await client.send(b"x")
        assert await hear(client) == b"x"
        house.remove(world.grant())
        async with asyncio.timeout(1):
            said = json.loads(await client.recv())["error"]
            assert said["code"] == "withdrawn"
            assert said["zh"]
            assert said["en"]
            with pytest.raises(ConnectionClosed) as caught:
                await client.recv()
        assert caught.value.rcvd is not None
        assert caught.value.rcvd.code == 1008


async def test_withdrawal_before_the_shell_runs(tmp_path: Path) -> None:
    """While the browser has not told its size, and while the bridge is asked."""
    for told_size in (False, True):
        folder = tmp_path / str(told_size)
        folder.mkdir()
        async with open_terminal(folder, None, world.grant()) as house:

            def lend_late(house: House = house) -> socket.socket:
                house.remove(world.grant())
                mine, theirs = socket.socketpair()
                mine.close()
                return theirs

            house.shell = lend_late
            async with dial(house, house.ticket("s2", 2)) as client:
                if told_size:
                    await client.send('{"rows": 40, "cols": 100}')
                else:
                    house.remove(world.grant())
                assert json.loads(await hear(client))["error"]["code"] == "withdrawn"
                with pytest.raises(ConnectionClosed):
                    await hear(client)


async def test_a_bridge_that_says_no(tmp_path: Path) -> None:
    """The reason is told in the terminal."""
    async with open_terminal(tmp_path) as house:
        house.fault = Fault.UNSUPPORTED
        async with dial(house) as client:
            await client.send('{"rows": 40, "cols": 100}')
            assert json.loads(await hear(client))["error"]["code"] == "unsupported"


async def test_no_size_starts_the_usual_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that tells none still gets a shell."""
    monkeypatch.setattr(terminal, "SIZE_S", 0.1)
    async with open_terminal(tmp_path) as house, dial(house) as client:
        while not house.calls:
            await asyncio.sleep(0.01)
        await client.send(b"x")
        assert await hear(client) == b"x"
        assert house.calls[0].args["pty"]["rows"] == 24


async def test_a_silent_browser_is_pinged_and_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A living one answers pings; one that does not is gone after the second next."""
    monkeypatch.setattr(terminal, "PING_S", 0.1)
    async with open_terminal(tmp_path) as house:
        async with dial(house) as client:
            await client.send(b"x")
            assert await hear(client) == b"x"
            await asyncio.sleep(0.5)
            await client.send(b"y")
            assert await hear(client) == b"y"
        async with visit(house) as peer:
            key = "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\nSec-WebSocket-Version: 13\n"
            upgrade = f"Connection: Upgrade\nUpgrade: websocket\n{key}Cookie: {house.ticket()}\n"
            await peer.send(get(house, "/.starlight/terminal", upgrade))
            assert (await peer.head()).startswith(b"HTTP/1.1 101 ")
            await peer.send(b"\x82\x81\x00\x00\x00\x00x")
            async with asyncio.timeout(5):
                while True:
                    try:
                        if not await peer.reader.read(100):
                            break
                    except ConnectionResetError:
                        break


async def test_who_may_not_pass_gets_no_socket(tmp_path: Path) -> None:
    """401 without a session, 403 without a right, also at level open."""
    async with open_terminal(tmp_path) as house:
        for cookie, status in (("a=1", 401), (house.ticket("s2", 2), 403)):
            with pytest.raises(InvalidStatus) as caught:
                async with dial(house, cookie):
                    pass
            assert caught.value.response.status_code == status
        house.change(world.entry(17, level=Level.OPEN, port=house.port, service=Service.TERMINAL, target_port=None))
        with pytest.raises(InvalidStatus) as caught:
            async with dial(house, "a=1"):
                pass
        assert caught.value.response.status_code == 401


@pytest.mark.parametrize(
    ("path", "status", "media_type"),
    [
        ("/", 200, b"text/html; charset=utf-8"),
        ("/?theme=dark", 200, b"text/html; charset=utf-8"),
        ("/.starlight/assets/term-1a2b.js", 200, b"text/javascript; charset=utf-8"),
        ("/.starlight/assets/none.js", 404, b"application/problem+json"),
        ("/.starlight/assets/../secret.js", 404, b"application/problem+json"),
        ("/.starlight/assets/..%2Fsecret.js", 404, b"application/problem+json"),
        ("/.starlight/assets/", 404, b"application/problem+json"),
        ("/.starlight/terminal", 404, b"application/problem+json"),
        ("/other", 404, b"application/problem+json"),
    ],
)
async def test_the_page_and_its_files(tmp_path: Path, path: str, status: int, media_type: bytes) -> None:
    """Only those of the built terminal, by one-part names."""
    async with open_terminal(tmp_path) as house, visit(house) as peer:
        await peer.send(get(house, path, f"Cookie: {house.ticket()}\n"))
        got, head, _ = await peer.response()
        assert got == status
        assert b"Content-Type: " + media_type + b"\r\n" in head
        assert (b"immutable" in head) == (b"javascript" in media_type)


async def test_strangers_get_no_files(tmp_path: Path) -> None:
    """The page and its files stand behind the same door."""
    async with open_terminal(tmp_path) as house, visit(house) as peer:
        await peer.send(get(house, "/.starlight/assets/term-1a2b.js"))
        assert (await peer.response())[0] == 401
