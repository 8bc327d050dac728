"""The gateway's own responses."""

from __future__ import annotations

import json

import pytest

from gateway.contract.challenges import Challenge, ChallengeKind
from gateway.core.http1 import parse_request
from gateway.core.refusals import Code, Refusal
from gateway.entries.http import answers
from tests.gateway import world
from tests.gateway.core.test_http1 import parsed


@pytest.mark.parametrize(
    ("accepted", "language"),
    [
        (None, "zh"),
        ("en-GB,en;q=0.9", "en"),
        ("zh-TW,zh", "zh"),
        ("fr,en;q=0.5,zh;q=0.4", "en"),
        ("fr", "zh"),
        ("", "zh"),
    ],
)
def test_language(accepted: str | None, language: str) -> None:
    """The first of zh and en that the person names, else zh."""
    head = None if accepted is None else parsed(f"Accept-Language: {accepted}")
    assert answers.language_of(head) == language


@pytest.mark.parametrize(
    ("lines", "start", "navigation"),
    [
        (["Sec-Fetch-Mode: navigate"], "GET / HTTP/1.1", True),
        (["Sec-Fetch-Mode: navigate"], "POST / HTTP/1.1", False),
        (["Sec-Fetch-Mode: cors", "Accept: text/html"], "GET / HTTP/1.1", False),
        (["Accept: text/html,*/*;q=0.8"], "GET / HTTP/1.1", True),
        (["Accept: text/html", "Upgrade: websocket"], "GET / HTTP/1.1", False),
        (["Accept: */*"], "GET / HTTP/1.1", False),
        ([], "HEAD / HTTP/1.1", False),
    ],
)
def test_navigations(lines: list[str], start: str, navigation: bool) -> None:
    """Only a browser that loads a page is one."""
    assert answers.is_navigation(parsed(*lines, start=start)) is navigation


def test_a_refusal_for_a_program() -> None:
    """RFC 9457, in the caller's language, never cached."""
    head = parsed("Accept-Language: en")
    said = answers.refuse(head, Refusal(Code.JOB_STARTING, "j-1", "web"), console_url="http://c", closes=True)
    fields, _, body = said.partition(b"\r\n\r\n")
    assert fields.startswith(b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\n")
    for line in (
        b"X-Starlight-Reason: job_starting",
        b"Retry-After: 3",
        b"Cache-Control: no-store",
        b"Connection: close",
    ):
        assert line in fields.split(b"\r\n")
    problem = json.loads(body)
    assert (problem["code"], problem["status"], problem["job"], problem["entry"]) == ("job_starting", 503, "j-1", "web")
    assert problem["title"] == "The job is not running yet."


def test_a_refusal_of_head_has_no_body() -> None:
    """Its length is told all the same."""
    said = answers.refuse(
        parsed(start="HEAD / HTTP/1.1"), Refusal(Code.FORBIDDEN), console_url="http://c", closes=False
    )
    assert said.endswith(b"\r\n\r\n")
    assert b"Content-Length: 0" not in said


def test_statuses_of_malformed_requests() -> None:
    """Too large is told apart."""
    assert answers.malformed(431).code is Code.TOO_LARGE
    assert answers.malformed(400).code is Code.BAD_REQUEST


def test_a_certificate_authority_is_answered_only_where_nobody_lives() -> None:
    """The path of an open challenge, where the name has no entry on the port; every other refusal stays one."""
    table = world.table(Challenge("lab.example.org", ChallengeKind.HTTP, "t", "t.thumb"))
    head = parse_request(b"GET /.well-known/acme-challenge/t HTTP/1.1\r\nHost: lab.example.org\r\n\r\n")
    said = answers.validation(table, head, Refusal(Code.UNKNOWN_HOST), closes=True)
    assert said is not None
    assert said.endswith(b"\r\n\r\nt.thumb")
    assert answers.validation(table, head, Refusal(Code.SIGN_IN), closes=True) is None
    assert answers.validation(table, None, Refusal(Code.UNKNOWN_HOST), closes=True) is None
    assert answers.validation(world.table(), head, Refusal(Code.UNKNOWN_HOST), closes=True) is None
