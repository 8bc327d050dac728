"""A bucket that fills again with time."""

from __future__ import annotations

from gateway.core.patience import Patience


def test_what_is_spent_too_fast_is_refused() -> None:
    """As much at once as it holds, and no more."""
    patience = Patience(3, 1, now=10)
    assert [patience.spend(10) for _ in range(4)] == [True, True, True, False]


def test_it_fills_again_with_time_up_to_what_it_holds() -> None:
    """One a second here, and never more than three."""
    patience = Patience(3, 1, now=10)
    assert all(patience.spend(10) for _ in range(3))
    assert patience.spend(11)
    assert not patience.spend(11.5)
    assert [patience.spend(100) for _ in range(4)] == [True, True, True, False]


def test_worthy_work_earns_some_of_it_back() -> None:
    """Up to what it holds."""
    patience = Patience(2, 0, now=0)
    assert patience.spend(0, cost=2)
    patience.earn(1)
    assert patience.spend(0)
    patience.earn(50)
    assert [patience.spend(0) for _ in range(3)] == [True, True, False]
