"""varnishtest plays a person and an app with the gateway between them: what each says and hears, to the byte."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from gateway.contract.routes import Level
from tests.gateway.entries.http.house import App, open_house
from tests.system.product import free_ports

SCRIPTS = sorted((Path(__file__).parent / "vtc").glob("*.vtc"))


async def nobody(*_: object) -> None:
    """The script brings the app."""


@pytest.mark.parametrize("script", SCRIPTS, ids=[script.stem for script in SCRIPTS])
async def test_a_script_of_two_sides_is_kept_to(tmp_path: Path, script: Path) -> None:
    """The script's own first line says what it shows; its log comes with a failure."""
    app: App = nobody
    async with open_house(tmp_path, app, level=Level.OPEN) as house:
        house.app_address = ("127.0.0.1", free_ports(1)[0])
        told = {
            "gateway": f"127.0.0.1:{house.port}",
            "host": house.host,
            "app": f"127.0.0.1:{house.app_address[1]}",
        }
        macros = [f"-D{name}={value}" for name, value in told.items()]
        process = await asyncio.create_subprocess_exec(
            "varnishtest",
            "-t",
            "60",
            *macros,
            str(script),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        said, _ = await process.communicate()
        assert process.returncode == 0, said.decode(errors="replace")
