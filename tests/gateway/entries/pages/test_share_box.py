"""The box for a share code, in both languages."""

from __future__ import annotations

from gateway.entries.pages.share_box import box, lead, script


def test_it_speaks_the_persons_language() -> None:
    """Chinese, or English for everybody else."""
    assert box("zh").button == "使用"
    assert box("fr") == box("en")
    assert lead("zh") != lead("en")


def test_the_code_travels_in_a_fragment() -> None:
    """Never in the part of an address that servers see."""
    said = script("https://c", "ab12")
    assert 'location.assign("https://c/redeem" + "#" + ' in said
    assert 'entry: "ab12", back' in said
