"""What the command line says: language and columns."""

from __future__ import annotations

import pytest

from control.cli.words import Words, language_of, table


@pytest.mark.parametrize(
    ("environ", "language"),
    [
        ({}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"),
        ({"LANG": "en_US.UTF-8", "LC_MESSAGES": "zh_TW"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": ""}, "zh"),
    ],
)
def test_the_locale_picks_the_language(environ: dict[str, str], language: str) -> None:
    """LC_ALL over LC_MESSAGES over LANG; empty counts as unset (POSIX)."""
    assert language_of(environ) == language


def test_a_sentence_is_filled_in() -> None:
    """In the chosen language."""
    assert Words("zh")("共 {n} 个", "{n} in all", n=3) == "共 3 个"
    assert Words("en")("共 {n} 个", "{n} in all", n=3) == "3 in all"


def test_columns_line_up_with_chinese_in_them() -> None:
    """A Chinese character takes two places; nothing is a dash; control characters do no harm to the terminal."""
    assert table(["ID", "NAME", "X"], [["a", "训练", 1], ["bcd", None, "\x1b[31m"]]) == [
        "ID   NAME  X",
        "a    训练  1",
        "bcd  -     ?[31m",
    ]
