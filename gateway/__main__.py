"""`python -m gateway --role web|ssh --name NAME`: one gateway process, started by the supervisor."""

from __future__ import annotations

import asyncio
import logging
import os
import sys

import uvloop

from gateway.config import ConfigError, GatewayConfig, Role, read_config
from gateway.server import Server
from gateway.services import services


def main() -> int:
    """Runs the process until it is told to end; 2 when its settings cannot be used."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s", stream=sys.stderr)
    try:
        config = read_config(sys.argv[1:], os.environ)
    except ConfigError as fault:
        logging.getLogger(__name__).error("%s", fault)
        return 2
    # Beside a bulk stream a keystroke takes 9-13 ms on the stock loop and 44-54 ms on uvloop; for pages it is
    # the other way round.
    run = asyncio.run if config.role is Role.SSH else uvloop.run
    run(_serve(config))
    return 0


async def _serve(config: GatewayConfig) -> None:
    await Server(config, services).run()


if __name__ == "__main__":
    sys.exit(main())
