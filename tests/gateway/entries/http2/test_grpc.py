"""gRPC passes: a real client, a real server as the app behind an h2c entry, every kind of call, with its trailers."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import grpc
import pytest

from gateway.contract.routes import AppProtocol, Level
from tests.gateway import tls_client
from tests.gateway.entries.http.house import BEARER, House
from tests.gateway.entries.http2.house import holds, open_https_house

TOKEN = (("x-starlight-token", BEARER),)


@dataclass
class Echo:
    """The app. `cancelled` tells that it heard of a call that was given up."""

    cancelled: threading.Event
    seen: list[dict[str, Any]]

    def unary(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        self.seen.append(dict(context.invocation_metadata()))
        context.set_trailing_metadata((("x-trailer", "t"), ("x-bin-bin", b"\x00\xff")))
        if request == b"fail":
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, "not like this: 100 %")
        return request

    def down(self, request: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
        if request == b"hang":
            context.add_callback(self.cancelled.set)
            yield b"begun"
            self.cancelled.wait(10)
            return
        for number in range(int(request)):
            yield b"%d" % number

    def up(self, requests: Iterator[bytes], context: grpc.ServicerContext) -> bytes:
        return b"%d" % sum(len(request) for request in requests)

    def both(self, requests: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
        for request in requests:
            if request == b"stop":
                context.abort(grpc.StatusCode.ABORTED, "enough")
            yield request


@asynccontextmanager
async def grpc_house(tmp_path: Path, **more: Any) -> AsyncIterator[tuple[House, grpc.Channel, Echo]]:
    """Alice's gRPC server behind her private https entry, and a channel to it."""
    echo = Echo(threading.Event(), [])
    handlers = grpc.method_handlers_generic_handler(
        "echo.Echo",
        {
            "Unary": grpc.unary_unary_rpc_method_handler(echo.unary),
            "Down": grpc.unary_stream_rpc_method_handler(echo.down),
            "Up": grpc.stream_unary_rpc_method_handler(echo.up),
            "Both": grpc.stream_stream_rpc_method_handler(echo.both),
        },
    )
    server = grpc.server(ThreadPoolExecutor(8))
    server.add_generic_rpc_handlers((handlers,))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()

    async def no_app(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        pytest.fail("the wrong app was dialled")

    async with open_https_house(tmp_path, no_app, level=Level.PRIVATE, **more) as house:
        house.change(replace(house.entry, target=replace(house.entry.target, app_protocol=AppProtocol.H2C)))
        house.app_address = ("127.0.0.1", port)
        trusted = grpc.ssl_channel_credentials(tls_client.server_authority().certificate_pem.encode())
        named = [("grpc.ssl_target_name_override", house.entry.host), ("grpc.default_authority", house.host)]
        channel = grpc.secure_channel(f"127.0.0.1:{house.port}", trusted, options=named)
        try:
            yield house, channel, echo
        finally:
            await asyncio.to_thread(channel.close)
            echo.cancelled.set()
            await asyncio.to_thread(server.stop(0).wait)


async def call(what: Callable[[], Any]) -> Any:
    """In a thread, as gRPC waits."""
    async with asyncio.timeout(20):
        return await asyncio.to_thread(what)


async def test_every_kind_of_call(tmp_path: Path) -> None:
    """Unary, streams of either side, and both at once; metadata and trailers of text and of bytes."""
    async with grpc_house(tmp_path) as (_, channel, echo):
        unary = channel.unary_unary("/echo.Echo/Unary")
        answer, done = await call(lambda: unary.with_call(b"x" * 300_000, metadata=(*TOKEN, ("x-mine", "1"))))
        assert answer == b"x" * 300_000
        assert dict(done.trailing_metadata()) == {"x-trailer": "t", "x-bin-bin": b"\x00\xff"}
        assert echo.seen[0]["x-mine"] == "1" and echo.seen[0]["x-starlight-user"] == "alice"
        assert "x-starlight-token" not in echo.seen[0]
        down = channel.unary_stream("/echo.Echo/Down")
        assert await call(lambda: list(down(b"500", metadata=TOKEN))) == [b"%d" % number for number in range(500)]
        up = channel.stream_unary("/echo.Echo/Up")
        assert await call(lambda: up(iter([b"abc"] * 500), metadata=TOKEN)) == b"1500"
        both = channel.stream_stream("/echo.Echo/Both")
        assert await call(lambda: list(both(iter([b"a", b"b"]), metadata=TOKEN))) == [b"a", b"b"]


async def test_answers_come_while_questions_go_on(tmp_path: Path) -> None:
    """One for one, as in a conversation; the app may end it before the person does."""
    async with grpc_house(tmp_path) as (_, channel, _echo):
        asked: queue.Queue[bytes] = queue.Queue()
        both = channel.stream_stream("/echo.Echo/Both")
        answers = both(iter(asked.get, None), metadata=TOKEN)
        for word in (b"one", b"two", b"three"):
            asked.put(word)
            assert await call(lambda: next(answers)) == word
        asked.put(b"stop")
        with pytest.raises(grpc.RpcError) as caught:
            await call(lambda: next(answers))
        assert (caught.value.code(), caught.value.details()) == (grpc.StatusCode.ABORTED, "enough")
        asked.put(None)  # type: ignore[arg-type] # the end, for iter()


async def test_a_status_and_its_words_arrive(tmp_path: Path) -> None:
    """Also in a response that is nothing but trailers."""
    async with grpc_house(tmp_path) as (_, channel, _echo):
        unary = channel.unary_unary("/echo.Echo/Unary")
        with pytest.raises(grpc.RpcError) as caught:
            await call(lambda: unary(b"fail", metadata=TOKEN))
        assert caught.value.code() is grpc.StatusCode.FAILED_PRECONDITION
        assert caught.value.details() == "not like this: 100 %"
        missing = channel.unary_unary("/echo.Echo/Missing")
        with pytest.raises(grpc.RpcError) as caught:
            await call(lambda: missing(b"", metadata=TOKEN))
        assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


async def test_a_call_that_is_given_up_is_cancelled_in_the_app(tmp_path: Path) -> None:
    """At once; and a deadline of the caller's holds."""
    async with grpc_house(tmp_path) as (house, channel, echo):
        down = channel.unary_stream("/echo.Echo/Down")
        answers = down(b"hang", metadata=TOKEN)
        assert await call(lambda: next(answers)) == b"begun"
        answers.cancel()
        assert await call(lambda: echo.cancelled.wait(5))
        await holds(lambda: len(house.gate.visits) == 0)


async def test_who_has_no_right_is_told_in_grpcs_own_terms(tmp_path: Path) -> None:
    """401 is UNAUTHENTICATED to a client, 403 PERMISSION_DENIED."""
    async with grpc_house(tmp_path) as (_, channel, echo):
        unary = channel.unary_unary("/echo.Echo/Unary")
        with pytest.raises(grpc.RpcError) as caught:
            await call(lambda: unary(b"x"))
        assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
        with pytest.raises(grpc.RpcError) as caught:
            await call(lambda: unary(b"x", metadata=(("x-starlight-token", "sl_bob"),)))
        assert caught.value.code() is grpc.StatusCode.PERMISSION_DENIED
        assert not echo.seen


async def test_withdrawing_the_right_ends_a_stream_that_runs(tmp_path: Path) -> None:
    """For the caller and for the app."""
    async with grpc_house(tmp_path) as (house, channel, echo):
        answers = channel.unary_stream("/echo.Echo/Down")(b"hang", metadata=TOKEN)
        assert await call(lambda: next(answers)) == b"begun"
        house.remove(house.entry)
        with pytest.raises(grpc.RpcError):
            await call(lambda: next(answers))
        assert await call(lambda: echo.cancelled.wait(5))
