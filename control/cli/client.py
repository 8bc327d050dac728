"""The API from the outside, over HTTP: JSON in, JSON out, and every failure as one sentence."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import aiohttp

from control.cli.login import Login
from control.cli.words import Words

_PREFIX: Final = "/api/v1"
_DEADLINE_S: Final = 30.0
_CONNECT_S: Final = 10.0


class FailedError(Exception):
    """The call failed. `problem` is the API's own, or one made here when it could not be reached."""

    def __init__(self, problem: dict[str, Any]) -> None:
        super().__init__(problem.get("detail") or problem.get("title"))
        self.problem = problem


class Client:
    """A signed-in caller."""

    def __init__(self, http: aiohttp.ClientSession, url: str, words: Words) -> None:
        self._http = http
        self._url = url
        self._say = words

    async def call(self, method: str, path: str, body: Any = None, query: Mapping[str, Any] | None = None) -> Any:
        """The answer's JSON, None when it has none. Raises FailedError."""
        async with self._answer(method, path, json=body, params=_without_none(query)) as answer:
            return None if answer.status == 204 else await self._json(answer)

    async def read(self, path: str, query: Mapping[str, Any]) -> tuple[bytes, Mapping[str, str]]:
        """The answer's bytes and headers. Raises FailedError."""
        async with self._answer("GET", path, params=_without_none(query)) as answer:
            return await answer.read(), dict(answer.headers)

    async def listen(self, path: str, query: Mapping[str, Any]) -> AsyncIterator[str | bytes]:
        """The messages of a WebSocket until it ends. Raises FailedError."""
        try:
            socket = await self._http.ws_connect(self._url + _PREFIX + path, params=_without_none(query), heartbeat=30)
        except aiohttp.WSServerHandshakeError as refusal:
            await self.call("GET", path.removesuffix("/stream"))  # the same refusal, with its sentence
            raise self._unreachable(refusal) from refusal
        except aiohttp.ClientError as fault:
            raise self._unreachable(fault) from fault
        async with socket:
            async for message in socket:
                yield message.data

    @asynccontextmanager
    async def _answer(self, method: str, path: str, **more: Any) -> AsyncIterator[aiohttp.ClientResponse]:
        try:
            async with self._http.request(method, self._url + _PREFIX + path, allow_redirects=False, **more) as answer:
                if answer.status >= 300:
                    raise FailedError(await self._problem(answer))
                yield answer
        except (aiohttp.ClientError, TimeoutError, ValueError) as fault:
            raise self._unreachable(fault) from fault

    async def _problem(self, answer: aiohttp.ClientResponse) -> dict[str, Any]:
        try:
            plain = await answer.json(content_type=None)
        except ValueError:
            plain = None
        if isinstance(plain, dict) and "code" in plain:
            return plain
        return self._stranger(answer)

    async def _json(self, answer: aiohttp.ClientResponse) -> Any:
        try:
            return await answer.json()
        except (aiohttp.ContentTypeError, ValueError):
            raise FailedError(self._stranger(answer)) from None

    def _stranger(self, answer: aiohttp.ClientResponse) -> dict[str, Any]:
        detail = self._say(
            "{url} 的应答不像星光平台（状态 {status}），请检查地址。",
            "{url} does not answer like Starlight (status {status}); check the address.",
            url=self._url,
            status=answer.status,
        )
        return {"code": "not_starlight", "status": answer.status, "title": detail, "detail": detail}

    def _unreachable(self, fault: Exception) -> FailedError:
        reason = str(fault) or type(fault).__name__
        detail = self._say("无法连接 {url}：{why}", "{url} cannot be reached: {why}", url=self._url, why=reason)
        return FailedError({"code": "unreachable", "status": 0, "title": detail, "detail": detail})


@asynccontextmanager
async def connect(login: Login, words: Words) -> AsyncIterator[Client]:
    """A client of the console at the login's address."""
    headers: dict[str, str] = {"Accept-Language": words.language}
    if login.token:
        headers["Authorization"] = f"Bearer {login.token}"
    context = ssl.create_default_context(cafile=login.ca)
    deadline = aiohttp.ClientTimeout(total=_DEADLINE_S, connect=_CONNECT_S)
    connector = aiohttp.TCPConnector(ssl=context)
    async with aiohttp.ClientSession(headers=headers, timeout=deadline, connector=connector) as http:
        yield Client(http, login.url.rstrip("/"), words)
        await asyncio.sleep(0)  # lets the connector close its transports before the loop ends


def _without_none(query: Mapping[str, Any] | None) -> dict[str, Any]:
    plain = {name: value for name, value in (query or {}).items() if value is not None}
    return {
        name: [str(each) for each in value] if isinstance(value, list) else str(value) for name, value in plain.items()
    }
