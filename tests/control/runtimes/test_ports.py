"""Random ports are bound before anyone is told of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from control.domain.errors import Code, ProblemError
from control.runtimes.ports import Ports
from control.runtimes.supervisor import Supervisor
from tests.control.stage import staged


async def held() -> set[int]:
    """Held for other entries."""
    return {40000}


async def test_free_port_is_reserved(tmp_path: Path) -> None:
    """Neither held, nor busy on the machine, and outside the outgoing range if possible."""
    outgoing = tmp_path / "range"
    outgoing.write_text("40002\t40009\n")
    async with staged(tmp_path) as stage:
        ports = Ports(Supervisor(stage.run_dir), range(40000, 40004), held, outgoing)
        assert await ports.reserve() == 40001
        assert stage.reserved == {40001}
        await ports.release(40001)
        stage.busy = {40001, 40002}
        assert await ports.reserve() == 40003


async def test_no_free_port_is_a_problem(tmp_path: Path) -> None:
    """That names the range."""
    async with staged(tmp_path) as stage:
        stage.busy = {40001}
        ports = Ports(Supervisor(stage.run_dir), range(40000, 40002), held, tmp_path / "unknown")
        with pytest.raises(ProblemError) as caught:
            await ports.reserve()
    assert caught.value.problem.code is Code.NO_FREE_PORT
    assert caught.value.problem.params == {"ports": "40000-40001"}


async def test_supervisor_that_is_away_is_temporary(tmp_path: Path) -> None:
    """Reserving fails with a sentence; giving back does no harm."""
    ports = Ports(Supervisor(tmp_path), range(40000, 40002), held)
    with pytest.raises(ProblemError) as caught:
        await ports.reserve()
    assert caught.value.problem.code is Code.UNAVAILABLE
    await ports.release(40001)
