"""Expecting a refusal by its code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from control.domain.errors import Code, ProblemError


@contextmanager
def refused(code: Code) -> Iterator[None]:
    """The block is refused with this Problem."""
    with pytest.raises(ProblemError) as refusal:
        yield
    assert refusal.value.problem.code is code
