"""Which certificate answers a server name."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from certs.choose import choose, matches, normal_name


@dataclass(frozen=True)
class Held:
    """A certificate as the table holds it."""

    id: str
    names: tuple[str, ...]
    default: bool = False


LOCAL = Held("local", ("proxy.test", "*.proxy.test", "console.test"), default=True)
CUSTOM = Held("custom", ("special.proxy.test", "Own.Example.COM"))
WILD = Held("wild", ("*.example.com",))


def find(server_name: str | None, *held: Held) -> Held | None:
    """What is chosen among `held`, indexed as the gateway's table does it."""
    named = {normal_name(name): one for one in reversed(held) for name in one.names}
    return choose(server_name, named.get, lambda: next((one for one in held if one.default), None))


@pytest.mark.parametrize(
    ("server_name", "chosen"),
    [
        ("console.test", LOCAL),
        ("abc.proxy.test", LOCAL),
        ("special.proxy.test", CUSTOM),
        ("SPECIAL.proxy.test.", CUSTOM),
        ("own.example.com", CUSTOM),
        ("other.example.com", WILD),
        ("deep.other.example.com", LOCAL),
        ("nobody.test", LOCAL),
        ("", LOCAL),
        (None, LOCAL),
    ],
)
def test_exact_beats_wildcard_beats_default(server_name: str | None, chosen: Held) -> None:
    """The nearest name wins; unknown names and silent peers get the default."""
    assert find(server_name, LOCAL, CUSTOM, WILD) is chosen


def test_without_a_default_an_unknown_name_gets_nothing() -> None:
    """No certificate is shown to a name that none covers, unless one is the default."""
    assert find("nobody.test", WILD) is None
    assert find(None, WILD) is None
    assert find("x.example.com") is None


@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    [
        ("a.test", "A.test.", True),
        ("*.a.test", "x.a.test", True),
        ("*.a.test", "a.test", False),
        ("*.a.test", "y.x.a.test", False),
        ("*.a.test", ".a.test", False),
        ("*", "test", False),
    ],
)
def test_a_wildcard_is_one_whole_label(pattern: str, name: str, expected: bool) -> None:
    """RFC 9525 section 6.3: the star stands for the left-most label and nothing else."""
    assert matches(pattern, name) is expected
