"""The journal's lines: fixed order, names and numbers, never payload."""

from __future__ import annotations

import logging

import pytest

from gateway.core.refusals import Code, Refusal
from gateway.wire import journal
from tests.gateway import world


def test_a_refused_visitor_is_told_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    """With the entry they asked for, or none when it does not exist."""
    caplog.set_level(logging.INFO, logger="gateway.visit")
    journal.refused(world.entry(), Refusal(Code.NEEDS_TLS), protocol="tcp", address="192.0.2.7")
    journal.refused(None, Refusal(Code.UNKNOWN_HOST), protocol="http", address="192.0.2.7")
    assert caplog.messages == [
        "refused=needs_tls entry=17 job=jupyter-17 protocol=tcp from=192.0.2.7",
        "refused=unknown_host entry=- job=- protocol=http from=192.0.2.7",
    ]


def test_an_ended_visit_is_told_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    """Every field, in one order that programs can rely on."""
    caplog.set_level(logging.INFO, logger="gateway.visit")
    journal.ended(
        journal.Ended("web-0-9", world.admission(world.entry()), "http", "::1", 1.5, 10, 20, "withdrawn"),
    )
    assert caplog.messages == [
        (
            "visit=web-0-9 entry=17 job=jupyter-17 user=1 via=session protocol=http from=::1 "
            "seconds=1.500 in=10 out=20 end=withdrawn"
        )
    ]
