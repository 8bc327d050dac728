"""The shim's talk with the inner half (control/agent/inner/serve.py has the messages).

State: requests that wait for their answer, and programs that have not ended.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
from collections.abc import Sequence
from typing import Any, Final

from .waiting import readable, writable

_MESSAGE_LIMIT: Final = 128 * 1024
_KILLED: Final = int(signal.SIGKILL)
"""The wait status of a program about which nothing more can be learned: its namespace was ended."""


class Inside:
    """Asks the inner half to do things in the job. Raises OSError (its words) when it could not."""

    def __init__(self, control: socket.socket) -> None:
        control.setblocking(False)
        self._control = control
        self._next = 0
        self._answers: dict[int, asyncio.Future[tuple[dict[str, Any], list[int]]]] = {}
        self._exits: dict[int, asyncio.Future[int]] = {}
        self._over = False

    async def listen(self) -> None:
        """Takes what the inner half says until it is gone; then nothing waits for it any more."""
        try:
            while await self._take_one():
                pass
        finally:
            self._over = True
            for answer in self._answers.values():
                if not answer.done():
                    answer.set_exception(ConnectionError("the job has ended"))
            for ended in self._exits.values():
                if not ended.done():
                    ended.set_result(_KILLED)

    async def terminal(self, deadline_s: float, **program: Any) -> tuple[int, int]:
        """Starts a program on a terminal; its pid and the terminal's master side."""
        answer, descriptors = await self._ask({"do": "terminal", **program}, (), deadline_s)
        return int(answer["pid"]), descriptors[0]

    async def program(self, descriptors: Sequence[int], deadline_s: float, **program: Any) -> int:
        """Starts a program on three descriptors; its pid."""
        answer, _ = await self._ask({"do": "run", **program}, descriptors, deadline_s)
        return int(answer["pid"])

    async def ended(self, pid: int) -> int:
        """The wait status of a program that was started here, once it has ended. May be asked until `forget`."""
        return await asyncio.shield(self._exits[pid])

    def forget(self, pid: int) -> None:
        """Nobody will ask about this program any more."""
        self._exits.pop(pid, None)

    async def connect(self, deadline_s: float, **where: Any) -> int:
        """A socket connected inside the job."""
        _, descriptors = await self._ask({"do": "connect", **where}, (), deadline_s)
        return descriptors[0]

    async def reach(self, deadline_s: float, host: str, port: int) -> int:
        """A socket connected from inside the job to another machine."""
        _, descriptors = await self._ask({"do": "reach", "host": host, "port": port}, (), deadline_s)
        return descriptors[0]

    async def listener(self, deadline_s: float, **where: Any) -> tuple[dict[str, Any], list[int]]:
        """Sockets that listen inside the job: what is to be known of them, and their descriptors."""
        answer, descriptors = await self._ask({"do": "listen", **where}, (), deadline_s)
        return {name: value for name, value in answer.items() if name != "id"}, descriptors

    async def signal(self, name: str, pid: int | None = None) -> None:
        """Signals a session, or the whole job. Nobody there to hear it is no fault."""
        if not self._over:
            await self._send({"do": "signal", "name": name, "pid": pid}, ())

    async def _ask(
        self, request: dict[str, Any], descriptors: Sequence[int], deadline_s: float
    ) -> tuple[dict[str, Any], list[int]]:
        if self._over:
            raise ConnectionError("the job has ended")
        self._next += 1
        number = self._next
        self._answers[number] = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(deadline_s):
                await self._send({"id": number, **request}, descriptors)
                answer, received = await self._answers[number]
        finally:
            del self._answers[number]
        if "error" in answer:
            raise OSError(str(answer["error"]))
        return answer, received

    async def _send(self, message: dict[str, Any], descriptors: Sequence[int]) -> None:
        while True:
            try:
                socket.send_fds(self._control, [json.dumps(message).encode()], descriptors)
                return
            except BlockingIOError:
                await writable(self._control.fileno())

    async def _take_one(self) -> bool:
        await readable(self._control.fileno())
        try:
            message, descriptors, _, _ = socket.recv_fds(self._control, _MESSAGE_LIMIT, 4)
        except BlockingIOError:
            return True
        except ConnectionResetError:
            return False
        if message:
            self._take(json.loads(message), descriptors)
        return bool(message)

    def _take(self, said: dict[str, Any], descriptors: list[int]) -> None:
        if "exit" in said:
            ended = self._exits.get(int(said["exit"]))
            if ended is not None and not ended.done():
                ended.set_result(int(said["status"]))
            return
        if "pid" in said:
            # Here, not where the answer is awaited: the program may have ended before that task runs again.
            self._exits[int(said["pid"])] = asyncio.get_running_loop().create_future()
        answer = self._answers.get(said.get("id", 0))
        if answer is not None and not answer.done():
            answer.set_result((said, descriptors))
            return
        for descriptor in descriptors:
            os.close(descriptor)
