"""The apps as control offers them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from control.apps.catalog import Catalog
from control.apps.environments import Environments
from control.domain.apps import Installed
from gateway.contract.bridge import Reply, Verb, decode_call, encode_reply
from gateway.contract.calls import Answer, Peer, listen, serve


def test_all_apps_are_offered_filled_in(tmp_path: Path) -> None:
    """Each with its entries, its command for this machine and what it may read."""
    apps = {app.name: app for app in Catalog(tmp_path).known()}
    assert apps.keys() == {"jupyterlab", "terminal"}
    assert str(tmp_path) in apps["jupyterlab"].command[-1]
    assert apps["jupyterlab"].readonly == (str(tmp_path / "jupyterlab"),)


@pytest.mark.parametrize(
    ("told", "state", "progress"),
    [
        (None, Installed.ABSENT, None),
        ({"state": "building", "done": 3, "total": 12}, Installed.INSTALLING, 0.25),
        ({"state": "failed", "message": "no network"}, Installed.FAILED, None),
    ],
)
def test_the_state_is_what_the_builder_told(
    tmp_path: Path, told: dict[str, object] | None, state: Installed, progress: float | None
) -> None:
    """An app without an environment is always ready."""
    if told is not None:
        (tmp_path / "jupyterlab.progress.json").write_text(json.dumps(told))
    catalog = Catalog(tmp_path)
    found = catalog.state("jupyterlab")
    assert (found.state, found.progress) == (state, progress)
    assert (found.message is not None) is (state is Installed.FAILED)
    assert catalog.state("terminal").state is Installed.READY
    with pytest.raises(KeyError):
        catalog.state("nothing")


def test_a_built_environment_is_ready(tmp_path: Path) -> None:
    """It bears the mark of the lock file that it was built from."""
    (tmp_path / "jupyterlab").mkdir()
    mark = Environments(tmp_path)._digest("jupyterlab")
    (tmp_path / "jupyterlab/starlight-lock").write_text(mark)
    assert Catalog(tmp_path).state("jupyterlab").state is Installed.READY


async def test_an_installation_is_asked_of_the_bridge(tmp_path: Path) -> None:
    """Once for each call; a bridge that is away is no fault."""
    asked: list[tuple[Verb, str]] = []

    async def answer(message: bytes, _peer: Peer) -> Answer:
        call = decode_call(message)
        asked.append((call.verb, call.subject))
        return encode_reply(Reply({"state": "building"})), []

    catalog = Catalog(tmp_path, tmp_path)
    await catalog.install("jupyterlab")
    with listen(str(tmp_path / "bridge-local.sock")) as listener:
        async with asyncio.TaskGroup() as group:
            serving = group.create_task(serve(listener, answer, deadline_s=5))
            await catalog.install("jupyterlab")
            await catalog.install("terminal")
            serving.cancel()
    assert asked == [(Verb.START, "app:jupyterlab")]
    with pytest.raises(KeyError):
        await catalog.install("nothing")
