"""What `make fuzz` feeds for hours, fed for a moment: each target's seeds, and what damage makes of them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.targets import TARGETS


@pytest.mark.parametrize("name", TARGETS)
def test_seeds_and_damaged_seeds_are_read_or_refused(name: str) -> None:
    """Bytes are flipped, put in, taken out and doubled: no parser does what its docstring does not say."""
    target = TARGETS[name]

    @settings(max_examples=60)
    @given(st.sampled_from(target.seeds), st.data())
    def damage(seed: bytes, data: st.DataObject) -> None:
        damaged = bytearray(seed)
        for _ in range(data.draw(st.integers(0, 4))):
            at, end = sorted(data.draw(st.tuples(*[st.integers(0, len(damaged))] * 2)))
            damaged[at:end] = data.draw(st.one_of(st.binary(max_size=4), st.just(bytes(damaged[at:end][:64]) * 2)))
        target.feed(bytes(damaged))

    for seed in target.seeds:
        target.feed(seed)
    damage()
