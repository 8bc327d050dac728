"""A bridge as small as can be: jobs are folders whose status.json it reads and writes. Given to `python -c`."""

import asyncio
import json
import os
import signal
import socket
from pathlib import Path

from gateway.contract.bridge import Reply, Verb, decode_call, encode_reply
from gateway.contract.calls import Answer, Peer, call, serve

JOBS = Path(os.environ["STARLIGHT_DATA_DIR"]) / "bridge" / "jobs"


async def answer(message: bytes, peer: Peer) -> Answer:
    """Probes and stops."""
    asked = decode_call(message)
    if asked.verb is Verb.STOP:
        (JOBS / asked.subject / "status.json").write_text('{"state": "ended"}')
        return encode_reply(Reply()), ()
    assert len(asked.args["jobs"]) <= 20
    jobs = {job: json.loads((JOBS / job / "status.json").read_text()) for job in asked.args["jobs"]}
    return encode_reply(Reply({"jobs": jobs})), ()


async def main() -> None:
    """Serves until SIGTERM."""
    path = os.environ["STARLIGHT_RUN_DIR"] + "/supervisor.sock"
    _, (descriptor,) = await call(path, b'{"verb": "listener", "name": "bridge-local"}', deadline_s=5)
    async with asyncio.TaskGroup() as group:
        serving = group.create_task(serve(socket.socket(fileno=descriptor), answer, deadline_s=5))
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, serving.cancel)


if __name__ == "__main__":
    asyncio.run(main())
