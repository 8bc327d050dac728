"""When an authority is asked again, where an order stands, and which ports have to lead here."""

from __future__ import annotations

import pytest

from control.domain.acme import (
    DAY_S,
    HOUR_S,
    LONGEST_RETRY_S,
    TRIES_PER_HOUR,
    Complaint,
    Facts,
    Method,
    Stage,
    landing,
    renew_at,
    renews_itself,
    stage,
    wait_for_try_s,
    wait_s,
)

REFUSED = Complaint("unauthorized", "not found")
FRESH = {"is_open": False, "is_shown": False, "goes_on": False, "is_answered": False, "is_final": False}


@pytest.mark.parametrize(
    ("method", "facts", "where"),
    [
        (Method.HTTP, {}, Stage.WAITING),
        (Method.HTTP, {"is_refused": True}, Stage.FAILED),
        (Method.HTTP, {"has_pair": True}, Stage.ISSUED),
        (Method.HTTP, {"has_pair": True, "is_refused": True}, Stage.FAILED),
        (Method.HTTP, {"is_open": True}, Stage.WAITING),
        (Method.HTTP, {"is_open": True, "is_shown": True}, Stage.WAITING),
        (Method.HTTP, {"is_open": True, "is_shown": True, "is_answered": True}, Stage.LOOKING),
        (Method.DNS, {"is_open": True}, Stage.WAITING),
        (Method.DNS, {"is_open": True, "is_shown": True}, Stage.BY_HAND),
        (Method.DNS, {"is_open": True, "is_shown": True, "goes_on": True}, Stage.WAITING),
        (Method.TLS, {"is_open": True, "is_final": True, "is_refused": True}, Stage.ISSUING),
    ],
)
def test_where_an_order_stands(method: Method, facts: dict[str, bool], where: Stage) -> None:
    """One word from what its row says."""
    assert stage(Facts(method, **({"has_pair": False, "is_refused": False} | FRESH | facts))) is where


def test_the_refused_ask_again_later_and_later() -> None:
    """Five minutes, ten, twenty, never more than a day; few failures in the first hour."""
    waits = [wait_s(REFUSED, failures, None, 0.0) for failures in range(1, 12)]
    assert waits[:4] == [300.0, 600.0, 1200.0, 2400.0]
    assert waits[-1] == LONGEST_RETRY_S
    assert sum(waits[:4]) > HOUR_S
    assert wait_s(REFUSED, 1, None, 1.0) == pytest.approx(360.0)


def test_what_the_authority_says_of_when_is_kept_to() -> None:
    """Retry-After is the least; an authority that is away is asked soon, one that says too many after an hour."""
    assert wait_s(REFUSED, 1, 7200.0, 0.0) == 7200.0
    assert wait_s(Complaint("connection", "", away=True), 1, None, 0.0) == 30.0
    assert wait_s(Complaint("connection", "", away=True), 20, None, 0.0) == HOUR_S
    assert wait_s(Complaint("rateLimited", "too many"), 1, None, 0.0) == HOUR_S


def test_a_person_tries_so_often_in_an_hour() -> None:
    """Then waits for the first of them to be an hour old."""
    tries = [1000.0 + n for n in range(TRIES_PER_HOUR)]
    assert wait_for_try_s(tries[:-1], 1010.0) == 0
    assert wait_for_try_s(tries, 1010.0) == 3590
    assert wait_for_try_s(tries, 1000.0 + HOUR_S) == 0


def test_a_certificate_is_renewed_at_two_thirds_of_its_life() -> None:
    """However long that is; its end is warned of only when the next one is late."""
    assert renew_at(0.0, 90 * DAY_S) == 60 * DAY_S
    assert renews_itself(0, 60 * DAY_S, 60.5 * DAY_S)
    assert not renews_itself(0, 60 * DAY_S, 61 * DAY_S)
    assert not renews_itself(1, 60 * DAY_S, 10.0)
    assert not renews_itself(0, None, 10.0)


@pytest.mark.parametrize(
    ("method", "acme_port", "entry_port", "found"),
    [
        (Method.HTTP, None, 8888, (80, 8888)),
        (Method.HTTP, 80, 8888, (80, 80)),
        (Method.TLS, 4443, 8443, (443, 4443)),
        (Method.DNS, None, 0, None),
    ],
)
def test_authorities_call_two_ports_only(
    method: Method, acme_port: int | None, entry_port: int, found: tuple[int, int] | None
) -> None:
    """Behind which ours has to be."""
    assert landing(method, acme_port, entry_port) == found


def test_a_complaint_is_kept_in_its_own_words() -> None:
    """With its kind and time."""
    assert REFUSED.plain(5.0) == {"kind": "unauthorized", "detail": "not found", "away": False, "at": 5.0}
