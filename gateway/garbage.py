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
"""So many new records are worth keeping from the search: about five milliseconds of it."""


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


def keep(fresh: int) -> None:
    """What the process holds now is never searched again, when so many records have come that it pays.

    A cycle among the connections of this moment is never found then, hence not at every list: after a
    reconnection most records are those that the table held before.
    """
    if fresh >= _MANY:
        gc.freeze()
