"""A worker as small as can be: asks for a listener, says ready, answers each client with its name and pid.

Its text is given to `python -c` with the listener's name, so that it needs nothing but the houses. With the
second argument `stubborn` it ignores SIGTERM; with `crash` it ends at once.
"""

import asyncio
import json
import os
import signal
import socket
import sys

from gateway.contract.calls import call


async def ask(**asked: object) -> list[int]:
    """One call to the supervisor; the descriptors of its answer."""
    path = os.environ["STARLIGHT_RUN_DIR"] + "/supervisor.sock"
    reply, descriptors = await call(path, json.dumps(asked).encode(), deadline_s=5)
    assert json.loads(reply)["ok"], reply
    return descriptors


async def main(listener_name: str, manner: str) -> None:
    """Serves until the lifeline breaks or SIGTERM comes."""
    loop = asyncio.get_running_loop()
    done = asyncio.Event()
    loop.add_reader(int(os.environ["STARLIGHT_LIFELINE_FD"]), done.set)
    if manner == "crash":
        sys.exit(3)
    loop.add_signal_handler(signal.SIGTERM, (lambda: None) if manner == "stubborn" else done.set)
    (descriptor,) = await ask(verb="listener", name=listener_name)
    listener = socket.socket(fileno=descriptor)
    listener.setblocking(False)

    def accept() -> None:
        try:
            client, _ = listener.accept()
        except BlockingIOError:
            return
        client.sendall(f"{os.environ['STARLIGHT_NAME']} {os.getpid()} {os.getuid()}\n".encode())
        client.close()

    loop.add_reader(listener, accept)
    await ask(verb="ready")
    await done.wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""))
