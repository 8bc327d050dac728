"""Domains as they are written, whose they may not be, and when their certificates' owners are warned."""

from __future__ import annotations

from typing import Any

import pytest

from control.domain.domains import (
    Pointing,
    days_left,
    due_warning,
    is_ours,
    lineage,
    pointing,
    read_domain,
    read_wish,
    txt_name,
)

DAY = 24 * 3600.0


@pytest.mark.parametrize(
    ("text", "domain"),
    [
        ("lab.example.org", "lab.example.org"),
        (" Lab.Example.ORG. ", "lab.example.org"),
        ("实验室.中国", "xn--qbtm5249b.xn--fiqs8s"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("localhost", None),
        ("", None),
        ("a..example.org", None),
        ("-a.example.org", None),
        ("a_b.example.org", None),
        ("*.example.org", None),
        ("127.0.0.1", None),
        ("[::1]", None),
        ("a.example.org:443", None),
        ("https://a.example.org", None),
        ("a.example.org\n", "a.example.org"),
        ("a\x00.example.org", None),
        ("x" * 64 + ".org", None),
        ("a." * 130 + "org", None),
        ("界" * 80 + ".org", None),
        ("\u2024.org", None),
    ],
)
def test_a_domain_is_read_in_one_form(text: str, domain: str | None) -> None:
    """Lower case, other scripts as `xn--`, nothing that is no plain host name."""
    assert read_domain(text) == domain


@pytest.mark.parametrize(
    ("domain", "ours"),
    [
        ("proxy.test", True),
        ("a.b.proxy.test", True),
        ("console.test", True),
        ("x.console.test", True),
        ("notproxy.test", False),
        ("example.org", False),
    ],
)
def test_our_own_names_and_what_lies_below_are_nobodys(domain: str, ours: bool) -> None:
    """An empty setting names nothing."""
    assert is_ours(domain, ["proxy.test", "console.test", ""]) is ours


@pytest.mark.parametrize(
    ("plain", "has_domain", "faults"),
    [
        ({}, False, []),
        ({"domain": "", "certificate": None}, False, []),
        ({"domain": "a.test"}, False, ["certificate", "private_key"]),
        ({"certificate": "c", "private_key": "k"}, False, ["domain"]),
        ({"certificate": "c", "private_key": "k"}, True, []),
        ({"certificate": "c"}, True, ["private_key"]),
        ({"domain": 5, "certificate": "c", "private_key": "k"}, False, ["domain"]),
        ({"domain": "a", "certificate": "c", "private_key": "k"}, False, ["domain"]),
        ({"domain": "a.test", "certificate": "c" * 300_000, "private_key": "k"}, False, ["certificate"]),
        (
            {"domain": "a.test", "certificate": "c", "private_key": "k", "private_key_password": "p" * 2000},
            False,
            ["private_key_password"],
        ),
    ],
)
def test_what_belongs_together_comes_together(plain: dict[str, Any], has_domain: bool, faults: list[str]) -> None:
    """Domain, certificate and key; for a domain that is there already the pair alone."""
    wish, found = read_wish(plain, "e.", has_domain=has_domain)
    assert [fault.name for fault in found] == [f"e.{name}" for name in faults]
    assert (wish is None) == (bool(faults) or not any(plain.values()))
    assert "k" not in repr(wish).replace("DomainWish", "")


def test_a_domain_points_here_by_any_of_its_addresses() -> None:
    """Compared as addresses, not as texts; without one of ours nothing can be said."""
    assert pointing(["10.0.0.1", "2001:db8::1"], ["2001:0db8::0001"]) is Pointing.YES
    assert pointing(["10.0.0.1"], ["10.0.0.2"]) is Pointing.NO
    assert pointing([], ["gate.test"]) is Pointing.NO
    assert pointing(["10.0.0.1"], []) is Pointing.UNKNOWN


@pytest.mark.parametrize(
    ("days", "due"),
    [(31, None), (30, 30), (29.5, 30), (14.5, 30), (14, 14), (7.1, 14), (6, 7), (1, 1), (0.1, 1), (0, 0), (-3, 0)],
)
def test_warnings_come_at_30_14_7_and_1_days(days: float, due: int | None) -> None:
    """The nearest that has come; 0 is the end."""
    assert due_warning(1000.0 + days * DAY, 1000.0) == due
    assert days_left(1000.0 + days * DAY, 1000.0) == int(days // 1)


def test_the_record_stands_below_the_domain() -> None:
    """Only who keeps the domain's zone can set it."""
    assert txt_name("lab.example.org") == "_starlight.lab.example.org"


def test_the_names_above_a_domain_end_before_the_last_label() -> None:
    """A top-level domain is nobody's."""
    assert lineage("x.lab.example.org") == ("x.lab.example.org", "lab.example.org", "example.org")
