"""Names, passwords, and how long a wrong password makes the next one wait."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from control.domain.people import (
    ADDRESS_FAILURES,
    FAILURE_WINDOW_S,
    PAIR_FAILURES,
    counted_address,
    password_fault,
    user_name_fault,
    wait_before_attempt_s,
)

NOW = 10_000.0


@pytest.mark.parametrize("name", ["a", "alice", "a-b_c9", "a" * 32])
def test_good_user_names(name: str) -> None:
    """`[a-z][a-z0-9_-]{0,31}`."""
    assert user_name_fault(name) is None


@pytest.mark.parametrize("name", ["", "A", "9a", "-a", "a" * 33, "a b", "a\n", "用户", "a.b"])
def test_bad_user_names(name: str) -> None:
    """Everything else, a trailing newline included."""
    assert user_name_fault(name) is not None


@pytest.mark.parametrize(
    ("password", "fits"), [("x" * 7, False), ("x" * 8, True), ("口" * 1024, True), ("x" * 1025, False)]
)
def test_password_length_is_the_only_rule(password: str, fits: bool) -> None:
    """8 to 1024 characters of any kind."""
    assert (password_fault(password) is None) is fits


@given(st.lists(st.floats(min_value=NOW - FAILURE_WINDOW_S, max_value=NOW), max_size=5))
def test_five_wrong_ones_never_make_anyone_wait(failures: list[float]) -> None:
    """The contract's promise to owners with clumsy fingers."""
    assert wait_before_attempt_s(failures, failures, NOW) == 0


def test_many_wrong_ones_from_one_address_have_to_wait() -> None:
    """The pair waits until its oldest counted failure leaves the window."""
    failures = [NOW - second for second in range(PAIR_FAILURES)]
    assert wait_before_attempt_s(failures, failures, NOW) == FAILURE_WINDOW_S - (PAIR_FAILURES - 1)


def test_an_address_that_tries_many_accounts_has_to_wait() -> None:
    """Spraying one password over all accounts is limited as well."""
    assert wait_before_attempt_s([], [NOW] * ADDRESS_FAILURES, NOW) == FAILURE_WINDOW_S


def test_old_failures_are_forgotten() -> None:
    """The window moves on."""
    assert wait_before_attempt_s([NOW - FAILURE_WINDOW_S] * 100, [], NOW) == 0


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::1", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::1", "2001:db8:1:3::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("unix", "unix"),
        ("", ""),
    ],
)
def test_all_addresses_of_one_line_are_counted_as_one(address: str, counted: str) -> None:
    """Who is given an IPv6 network has no more guesses than who is given one IPv4 address."""
    assert counted_address(address) == counted
