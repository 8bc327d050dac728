"""`python -m gateway --role web|ssh --name NAME`: one gateway process, started by the supervisor."""

from __future__ import annotations

import asyncio
import os
import sys

import uvloop

from gateway.config import ConfigError, GatewayConfig, Role, read_config
from gateway.contract.log_lines import write_log_lines
from gateway.server import Server
from gateway.services import services


def main() -> int:
    """Runs the process until it is told to end; 2 when its settings cannot be used."""
    try:
        config = read_config(sys.argv[1:], os.environ)
    except ConfigError as fault:
        print(fault, file=sys.stderr)  # noqa: T201 - there is no log yet
        return 2
    write_log_lines(config.name)
    # Beside a bulk stream a keystroke takes 9-13 ms on the stock loop and 44-54 ms on uvloop; for pages it is
    # the other way round.
    run = asyncio.run if config.role is Role.SSH else uvloop.run
    run(_serve(config))
    return 0


async def _serve(config: GatewayConfig) -> None:
    await Server(config, services).run()


if __name__ == "__main__":
    sys.exit(main())
