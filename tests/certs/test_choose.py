"""Which certificate answers a server name."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from certs.choose import Choice, matches


@dataclass(frozen=True)
class Held:
    """A certificate as the table holds it."""

    id: str
    names: tuple[str, ...]
    default: bool = False


LOCAL = Held("local", ("proxy.test", "*.proxy.test", "console.test"), default=True)
CUSTOM = Held("custom", ("special.proxy.test", "Own.Example.COM"))
WILD = Held("wild", ("*.example.com",))
CHOICE = Choice([LOCAL, CUSTOM, WILD])


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
    assert CHOICE.find(server_name) is chosen


def test_without_a_default_an_unknown_name_gets_nothing() -> None:
    """No certificate is shown to a name that none covers, unless one is the default."""
    choice = Choice([WILD])
    assert choice.find("nobody.test") is None
    assert choice.find(None) is None
    assert Choice[Held]([]).find("x.example.com") is None


def test_covers_does_not_count_the_default() -> None:
    """A custom domain is covered only by a certificate that names it."""
    assert CHOICE.covers("x.proxy.test")
    assert not CHOICE.covers("nobody.test")


def test_of_two_with_one_name_the_first_wins() -> None:
    """The order of certificates is the order of precedence."""
    second = Held("second", ("proxy.test",), default=True)
    assert Choice([LOCAL, second]).find("proxy.test") is LOCAL
    assert Choice([LOCAL, second]).find(None) is LOCAL


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
