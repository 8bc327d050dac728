"""Which of the two languages a caller reads."""

from __future__ import annotations

import pytest
from aiohttp.test_utils import make_mocked_request
from hypothesis import given
from hypothesis import strategies as st

from control.api.language import choose, language_of


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("", "zh"),
        ("zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        ("en-US,en;q=0.9", "en"),
        ("fr-FR, fr;q=0.9, en;q=0.5", "en"),
        ("en;q=0.4, zh;q=0.6", "zh"),
        ("en;q=0, zh-TW", "zh"),
        ("de", "zh"),
        ("EN", "en"),
        ("en;q=nonsense", "zh"),
        ("en;q=nan", "zh"),
        ("en;q=7", "zh"),
        ("*", "zh"),
    ],
)
def test_the_better_liked_language_is_chosen(header: str, language: str) -> None:
    """Weights count, regions do not, and who names neither language reads Chinese."""
    assert choose(header) == language


@given(st.text(max_size=300))
def test_any_header_gives_a_language(header: str) -> None:
    """Nonsense in Accept-Language is no reason to fail."""
    assert choose(header) in ("zh", "en")


def test_the_query_wins_over_the_header() -> None:
    """A page's WebSocket cannot set headers, so it names its language in the address."""
    asked = make_mocked_request("GET", "/live?language=en", headers={"Accept-Language": "zh"})
    unknown = make_mocked_request("GET", "/live?language=tlh", headers={"Accept-Language": "en"})
    assert language_of(asked) == "en"
    assert language_of(unknown) == "en"
