"""The search for cycles: it waits while a list comes in, and never walks the table."""

from __future__ import annotations

import gc

import pytest

from gateway import garbage


def test_the_search_waits_and_goes_on() -> None:
    """Also when the block fails; and who had turned it off finds it so."""
    assert gc.isenabled()
    with garbage.kept_waiting():
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(KeyError), garbage.kept_waiting():
        raise KeyError
    assert gc.isenabled()
    gc.disable()
    try:
        with garbage.kept_waiting():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_a_great_number_of_new_records_is_kept_from_the_search() -> None:
    """A few are not: whatever else lives at that moment would be kept as well."""
    before = gc.get_freeze_count()
    try:
        garbage.keep(10)
        assert gc.get_freeze_count() == before
        garbage.keep(100_000)
        assert gc.get_freeze_count() > before
    finally:
        gc.unfreeze()
