"""Hostile callers: bytes that are no JSON, shapes and sizes that fit nowhere; and what a person sees of it."""

from __future__ import annotations

import asyncio
import io
import json
import logging
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from control.actions import jobs as job_actions
from control.api.app import ROUTES
from control.api.route import Access
from control.domain.people import Role
from tests.control.api.desk import Caller, Desk

INNER = ("/work/", "/data/", "Traceback", ".py", "sqlite", "127.0.0.1:", "SELECT", "pydantic", "asyncio")
TAKING_BODIES = [route for route in ROUTES if route.body is not None]
PARTS = {"job": "x-1", "entry": "1", "grant": "1", "key": "1", "token": "1", "visit": "1", "user": "nobody"}
PARTS |= {"certificate": "1"}

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=50),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=20), inner, max_size=4),
    max_leaves=12,
)
names = st.sampled_from(
    ["name", "username", "password", "command", "entries", "env", "cpus", "level", "protocol", "target_port", "code",
     "entry", "state", "challenge", "expires_at", "max_uses", "public_key", "scope", "language", "disabled", "app"]
)  # fmt: skip
bodies = st.dictionaries(names, json_values, max_size=6) | json_values


def refused_well(status: int, raw: bytes) -> None:
    """A refusal is a problem of ours, and holds nothing inner."""
    text = raw.decode()
    if status >= 400:
        problem = json.loads(text)
        assert {"type", "code", "status", "title", "detail"} <= problem.keys()
        assert problem["status"] == status
        assert not [word for word in INNER if word in text], text
    assert status < 500, text


@pytest.mark.parametrize("route", TAKING_BODIES, ids=lambda route: route.name)
async def test_any_json_gets_an_answer_of_ours(desk: Desk, admin: Caller, route: Any) -> None:
    """No shape of a body, however odd, is a fault of the platform."""
    seen: list[tuple[int, bytes]] = []

    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(bodies)
    def collect(body: Any) -> None:
        wishes.append(body)

    wishes: list[Any] = []
    collect()
    for wish in wishes:
        async with desk.http.request(
            route.method,
            f"{desk.base}/api/v1{route.path.format_map(PARTS)}",
            data=json.dumps(wish).encode(),
            headers=admin.headers | {"Content-Type": "application/json"},
        ) as answer:
            seen.append((answer.status, await answer.read()))
    for status, raw in seen:
        refused_well(status, raw)


@pytest.mark.parametrize(
    ("raw", "headers", "status", "code"),
    [
        (b"", {}, 400, "malformed"),
        (b"{", {}, 400, "malformed"),
        (b"\xff\xfe", {}, 400, "malformed"),
        (b'{"command": ["\xc3\x28"]}', {}, 400, "malformed"),
        (b'{"command": ["\\ud800"]}', {}, 400, "malformed"),
        (b"[" * 100_000, {}, 400, "malformed"),
        (b'{"a":' * 5_000 + b"1" + b"}" * 5_000, {}, 400, "malformed"),
        (b"null", {}, 422, "invalid_input"),
        (b"[]", {}, 422, "invalid_input"),
        (b'{"command": ["ls"], "cpus": 1e999}', {}, 422, "invalid_input"),
        (b'{"command": ["ls"], "cpus": 99999999999999999999999999}', {}, 422, "invalid_input"),
        (b'{"command": ["ls"], "name": "' + b"x" * 2_000_000 + b'"}', {}, 413, "too_large"),
        (b'{"command": ["ls"]}', {"Content-Type": "text/plain"}, 415, "unsupported_media_type"),
        (b"command=ls", {"Content-Type": "application/x-www-form-urlencoded"}, 415, "unsupported_media_type"),
        (b'{"command": ["ls"]}', {"Content-Encoding": "gzip"}, None, None),
    ],
)
async def test_a_body_that_is_none_is_refused_at_the_edge(
    desk: Desk, admin: Caller, raw: bytes, headers: dict[str, str], status: int | None, code: str | None
) -> None:
    """Bad JSON, bad UTF-8, too deep, too large, of another kind: each has its problem, and nothing is written."""
    sent = admin.headers | {"Content-Type": "application/json"} | headers
    async with desk.http.post(f"{desk.base}/api/v1/jobs", data=io.BytesIO(raw), headers=sent) as answer:
        text = await answer.read()
        assert answer.status == status or (status is None and 400 <= answer.status < 500)
        assert answer.headers["Content-Type"].startswith("application/problem+json")
        if code is not None:
            assert json.loads(text)["code"] == code
        refused_well(answer.status, text)
    assert (await admin.get("/jobs")).body["total"] == 0


async def test_a_body_that_never_ends_is_cut_at_the_limit(desk: Desk, admin: Caller) -> None:
    """Without a length in its head, too: no more is read than the limit."""

    async def endless() -> Any:
        for _ in range(64):
            yield b"x" * 65_536
            await asyncio.sleep(0)

    headers = admin.headers | {"Content-Type": "application/json"}
    async with desk.http.post(f"{desk.base}/api/v1/jobs", data=endless(), headers=headers) as answer:
        assert answer.status == 413


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nothing", 404, "route_not_found"),
        ("DELETE", "/me", 405, "method_not_allowed"),
        ("GET", "/me/keys/1", 405, "method_not_allowed"),
        ("DELETE", "/me/keys/abc", 404, "not_found"),
        ("DELETE", "/me/keys/99999999999999999999999", 404, "not_found"),
        ("DELETE", "/me/keys/%F0%9D%9F%97", 404, "not_found"),
        ("GET", "/entries/99999999999999999999999", 404, "not_found"),
        ("GET", "/entries/%00", 404, "not_found"),
        ("GET", "/jobs/..%2f..%2fetc%2fpasswd", 404, "not_found"),
        ("GET", "/jobs/%ff%fe", 404, "not_found"),
        ("GET", "/jobs/x%00y", 404, "not_found"),
        ("GET", "/users/x%00y", 404, "not_found"),
    ],
)
async def test_addresses_that_are_none_are_told_so(
    both_desks: Desk, method: str, path: str, status: int, code: str
) -> None:
    """Whatever stands in the path, on both databases."""
    admin = await both_desks.person("root", Role.ADMIN)
    refused = await admin.call(method, path)
    assert (refused.status, refused.code) == (status, code)


async def test_a_failure_of_ours_shows_a_number_and_nothing_inner(
    desk: Desk, alice: Caller, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The person gets an incident number, the log gets the stack under the same number."""

    async def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("/data/control/starlight.db on 10.0.0.7 said SELECT")

    monkeypatch.setattr(job_actions, "show", broken)
    with caplog.at_level(logging.ERROR):
        failed = await alice.get("/jobs/x-1")
    assert (failed.status, failed.code) == (500, "internal")
    text = json.dumps(failed.body)
    assert not [word for word in (*INNER, "10.0.0.7") if word in text]
    [record] = [record for record in caplog.records if "incident" in record.getMessage()]
    assert record.args is not None
    assert str(record.args[0]) in text  # type: ignore[index]  # the number is the first argument


async def test_an_answer_names_no_versions(desk: Desk, alice: Caller) -> None:
    """Nobody needs to know what it is made of."""
    answer = await alice.get("/me")
    assert answer.raw.headers["Server"] == "starlight"
    assert answer.raw.headers["Cache-Control"] == "no-store"


def test_every_call_that_changes_something_needs_a_person() -> None:
    """But signing in."""
    open_ones = {route.name for route in ROUTES if route.access is Access.ANYONE and route.method != "GET"}
    assert open_ones == {"sign_in"}
