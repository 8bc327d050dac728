"""Origins: one spelling, and nothing but an origin."""

from __future__ import annotations

from typing import Any

import pytest

from control.domain.origins import ORIGINS_LIMIT, read_origins


def test_origins_are_written_as_browsers_send_them() -> None:
    """Lower case, without the implied port, each once."""
    plain = ["https://App.Example:443", "https://app.example", "http://localhost:3000", "http://[::1]:80"]
    assert read_origins(plain) == (("https://app.example", "http://localhost:3000", "http://[::1]"), None)
    assert read_origins(None) == ((), None)


@pytest.mark.parametrize(
    "plain",
    [
        "https://app.example",
        ["*"],
        ["null"],
        ["https://app.example/"],
        ["https://app.example:99999"],
        ["https://user@app.example"],
        ["ftp://app.example"],
        ["https://*.example"],
        ["https://a\r\nX: y"],
        [7],
        ["https://a.example"] * (ORIGINS_LIMIT + 1),
    ],
)
def test_anything_else_is_no_origin(plain: Any) -> None:
    """Neither wildcards nor paths: whoever is let in is named."""
    origins, why = read_origins(plain)
    assert origins == ()
    assert why is not None
