"""A WebSocket server that sends back what comes, as the Autobahn cases want it."""

import asyncio
import logging
import os

from websockets.asyncio.server import ServerConnection, serve


async def echo(connection: ServerConnection) -> None:
    async for message in connection:
        await connection.send(message)


async def main() -> None:
    port = int(os.environ["STARLIGHT_PORT_WEB"])
    async with serve(echo, "127.0.0.1", port, max_size=None, ping_interval=None):
        print("serving", flush=True)
        await asyncio.get_running_loop().create_future()


logging.disable()  # each case is a fault that would be told
asyncio.run(main())
