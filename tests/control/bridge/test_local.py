"""Who may ask the local bridge what."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from control.apps.environments import Environments
from control.bridge.capabilities import Capabilities
from control.bridge.home_visits import HomeVisits
from control.bridge.launch import Launcher
from control.bridge.local import Callers, LocalBridge
from control.bridge.places import Places
from gateway.contract.bridge import Call, Fault, Reply, Verb, decode_reply, encode_call
from gateway.contract.calls import Peer

ROOT, CONTROL, GATEWAY, STRANGER = (Peer(1, uid, uid) for uid in (0, 11, 12, 13))
HERE = Capabilities("none", "none", {}, False, {"sftp": "it is not installed"}, (), "/usr/bin/python3", None)
NOW = 1000.0
JOB_UID = 700001001 if os.geteuid() == 0 else os.getuid()


@pytest_asyncio.fixture
async def local(tmp_path: Path) -> AsyncIterator[LocalBridge]:
    """A bridge that knows one job, which never had a shim."""
    places = Places(tmp_path)
    places.prepare()
    (places.jobs / "job-1").mkdir()
    async with asyncio.TaskGroup() as tasks:
        launcher = Launcher(places, HERE, Environments(places.apps), lambda: NOW, tasks)
        callers = Callers(launch=frozenset({0, 11}), stream=frozenset({12}))
        homes = HomeVisits(places, HERE, None, lambda: NOW)
        yield LocalBridge(places, HERE, launcher, homes, callers, lambda: NOW)
        launcher.leave()


async def asked(local: LocalBridge, peer: Peer, verb: Verb, subject: str = "job-1", **fields: Any) -> Reply:
    """One call's reply; its descriptors are closed."""
    expires_at = fields.pop("expires_at", 0.0)
    answer, descriptors = await local.handle(encode_call(Call(verb, subject, fields, expires_at=expires_at)), peer)
    for descriptor in descriptors:
        os.close(descriptor)
    return decode_reply(answer)


@pytest.mark.parametrize("verb", [Verb.START, Verb.STOP, Verb.SIGNAL, Verb.PROBE, Verb.FORGET, Verb.CAPABILITIES])
@pytest.mark.parametrize(("peer", "allowed"), [(ROOT, True), (CONTROL, True), (GATEWAY, False), (STRANGER, False)])
async def test_only_control_launches(local: LocalBridge, verb: Verb, peer: Peer, allowed: bool) -> None:
    """A gateway parses what strangers send: it may never start or stop anything."""
    assert ((await asked(local, peer, verb)).fault is not Fault.FORBIDDEN) is allowed


@pytest.mark.parametrize("verb", [Verb.CONNECT, Verb.REACH, Verb.LISTEN, Verb.SHELL, Verb.SFTP, Verb.LOG])
@pytest.mark.parametrize(("peer", "allowed"), [(ROOT, True), (CONTROL, True), (GATEWAY, True), (STRANGER, False)])
async def test_streams_are_for_both_houses(local: LocalBridge, verb: Verb, peer: Peer, allowed: bool) -> None:
    """And for nobody else, jobs included."""
    assert ((await asked(local, peer, verb)).fault is not Fault.FORBIDDEN) is allowed


async def test_a_call_that_comes_too_late_is_refused(local: LocalBridge) -> None:
    """A right that has run out is not used."""
    assert (await asked(local, GATEWAY, Verb.CONNECT, expires_at=NOW - 1)).fault is Fault.FORBIDDEN
    assert (await asked(local, GATEWAY, Verb.CONNECT, expires_at=NOW + 1)).fault is Fault.NOT_RUNNING


@pytest.mark.parametrize("subject", ["job-2", "job-1.elsewhere", "local"])
async def test_what_is_not_here_is_not_found(local: LocalBridge, subject: str) -> None:
    """Another node, an unknown job, the cluster itself."""
    assert (await asked(local, GATEWAY, Verb.CONNECT, subject)).fault is Fault.NOT_FOUND


@pytest.mark.parametrize("subject", ["../../etc", "", "a/b"])
async def test_a_subject_that_is_no_id_is_refused(local: LocalBridge, subject: str) -> None:
    """It never becomes a path."""
    assert (await asked(local, GATEWAY, Verb.LOG, subject)).fault in (Fault.BAD_REQUEST, Fault.NOT_FOUND)


@pytest.mark.parametrize("message", [b"", b"{}", b"\xff", b'{"v": 1, "verb": "dance", "subject": "x"}', b"[1]"])
async def test_what_is_no_call_is_a_bad_request(local: LocalBridge, message: bytes) -> None:
    """And never the end of the bridge."""
    answer, _ = await local.handle(message, ROOT)
    assert decode_reply(answer).fault is Fault.BAD_REQUEST


async def test_capabilities_say_what_is_missing_and_why(local: LocalBridge) -> None:
    """As they were probed."""
    assert (await asked(local, CONTROL, Verb.CAPABILITIES, "local")).result == HERE.report()


async def test_a_log_before_the_first_byte_is_empty(local: LocalBridge) -> None:
    """Two descriptors, nothing in them."""
    answer, descriptors = await local.handle(encode_call(Call(Verb.LOG, "job-1")), GATEWAY)
    assert json.loads(answer)["ok"] is True
    assert [os.read(descriptor, 1) for descriptor in descriptors] == [b"", b""]
    for descriptor in descriptors:
        os.close(descriptor)


async def test_an_unknown_app_is_not_found(local: LocalBridge) -> None:
    """`app:NAME` begins a build; a name is not a path either."""
    for subject in ("app:nothing", "app:../../x", "app:"):
        assert (await asked(local, CONTROL, Verb.START, subject)).fault is Fault.NOT_FOUND


@pytest.mark.parametrize("peer", [CONTROL, GATEWAY])
async def test_keys_of_a_home_are_lent_as_a_file(local: LocalBridge, tmp_path: Path, peer: Peer) -> None:
    """What the file holds at this moment; a home without keys has none."""
    assert (await asked(local, peer, Verb.KEYS, "home:alice@local")).fault is Fault.NOT_FOUND
    place = tmp_path / "homes" / "alice" / ".ssh"
    place.mkdir(parents=True)
    (place / "authorized_keys").write_text("ssh-ed25519 AAAA")
    for path in (place.parent, place, place / "authorized_keys"):
        os.chown(path, JOB_UID, JOB_UID)
    answer, descriptors = await local.handle(encode_call(Call(Verb.KEYS, "home:alice@local")), peer)
    assert decode_reply(answer) == Reply()
    assert os.pread(descriptors[0], 100, 0) == b"ssh-ed25519 AAAA"
    os.close(descriptors[0])
    place.chmod(0o777)
    assert (await asked(local, peer, Verb.KEYS, "home:alice@local")).fault is Fault.FORBIDDEN


@pytest.mark.parametrize(
    "subject", ["home:alice@elsewhere", "home:../x@local", "home:@local", "home:Alice@local", "home:a/b@local", "job-1"]
)
async def test_keys_of_what_is_no_home_are_refused(local: LocalBridge, subject: str) -> None:
    """A name that leads out of the homes is no name."""
    assert (await asked(local, GATEWAY, Verb.KEYS, subject)).fault is Fault.BAD_REQUEST
