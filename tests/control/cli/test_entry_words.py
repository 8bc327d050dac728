"""The words for access entries, read."""

from __future__ import annotations

import pytest

from control.cli.parser import build
from control.cli.words import Words


def test_limits_and_callers_are_numbers_and_lists() -> None:
    """As the API takes them."""
    line = "entry add web-2 --name w --protocol http --level open --max-body 2M --max-requests 60 --wait 0"
    args = build(Words("en")).parse_args([*line.split(), "--cors-origin", "https://a", "--cors-origin", "https://b"])
    assert (args.max_body, args.max_requests, args.max_connections) == (2 * 2**20, 60, None)
    assert (args.cors_origin, args.wait) == (["https://a", "https://b"], 0.0)


def test_what_is_left_out_changes_nothing() -> None:
    """`entry change` tells "not named" from "none"."""
    args = build(Words("en")).parse_args(["entry", "change", "web-2/w"])
    assert (args.level, args.cors_origin, args.no_cors_origins, args.no_limits) == (None, None, False, False)
    with pytest.raises(SystemExit):
        build(Words("en")).parse_args(["entry", "change", "web-2/w", "--max-connections", "0"])
