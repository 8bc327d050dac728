"""What arguments of the command line may hold."""

from __future__ import annotations

import argparse

import pytest

from control.cli.kinds import entry_spec, host_port, local_port, number, pair, port_or_auto, size, span


@pytest.mark.parametrize(
    ("text", "expected"), [("512", 512), ("64k", 65536), ("64K", 65536), ("2G", 2**31), ("2GiB", 2**31), ("1t", 2**40)]
)
def test_sizes_are_counted_in_powers_of_two(text: str, expected: int) -> None:
    """As memory is."""
    assert size(text) == expected


@pytest.mark.parametrize(("text", "expected"), [("90", 90), ("90s", 90), ("30m", 1800), ("2h", 7200), ("1d", 86400)])
def test_spans_are_counted_in_seconds(text: str, expected: int) -> None:
    """As the API takes them."""
    assert span(text) == expected


@pytest.mark.parametrize("text", ["", "much", "-1", "1.5G", "2x", "１"])
def test_what_is_no_size_is_refused(text: str) -> None:
    """With examples of what is."""
    with pytest.raises(argparse.ArgumentTypeError, match="64k"):
        size(text)


def test_an_entry_is_written_in_one_word() -> None:
    """Ports become numbers, everything else stays for the API to judge."""
    assert entry_spec("name=web,protocol=http,level=private,target_port=8000") == {
        "name": "web",
        "protocol": "http",
        "level": "private",
        "target_port": 8000,
    }
    assert port_or_auto("auto") == "auto"
    for wrong in ("web", "=x", "target_port=eighty"):
        with pytest.raises(argparse.ArgumentTypeError):
            entry_spec(wrong)
    with pytest.raises(argparse.ArgumentTypeError):
        pair("novalue")


@pytest.mark.parametrize(
    ("read", "wrong"), [(number, "0"), (number, "1.5"), (local_port, "65536"), (host_port, "host")]
)
def test_other_numbers_and_addresses_are_refused(read: object, wrong: str) -> None:
    """With an example of what is right."""
    assert callable(read)
    with pytest.raises(argparse.ArgumentTypeError, match=wrong):
        read(wrong)
    assert (number("7"), local_port("0"), host_port("[::1]:8443")) == (7, 0, ("::1", 8443))
