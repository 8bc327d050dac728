"""Keeps Python's search for cycles away from the table.

A search of the oldest generation walks every object that the process holds; with a table of 100,000
entries that stops everything for half a second. The table has no cycles: it need not be searched.

State: the interpreter's own, of which there is one in a process.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_MANY: Final = 5000
"""So many records are worth keeping from the search: about a millisecond of it."""


@contextmanager
def kept_waiting() -> Iterator[None]:
    """No search within the block, in which a great number of objects comes that will stay."""
    searching = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if searching:
            gc.enable()


def keep(records: int) -> None:
    """What the process holds now is never searched again, when a list has brought so many records that it pays.

    The price: a cycle among the connections of this moment is never found. It is paid at a list only, of
    which there is one for each connection of the feed.
    """
    if records >= _MANY:
        gc.freeze()
