"""argparse's own words, in Chinese."""

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Iterator

import pytest

from control.usage_words import ZH, speak

TO_PROGRAMMERS = re.compile(
    "invalid (argument for positionals|option string)|not callable|__call__|cannot |conflict|dest= is|mode %r"
    "|must (be|start)|merge"
)
"""Faults of whoever writes a parser, which no person meets."""


@pytest.fixture(autouse=True)
def _english_again() -> Iterator[None]:
    yield
    speak("en")


def test_every_sentence_that_a_person_can_meet_is_there() -> None:
    """Of the argparse that runs these tests."""
    source = inspect.getsource(argparse)
    said = {match[1] or match[2] for match in re.finditer(r"""\b_\(\s*(?:'([^']+)'|"([^"]+)")""", source)}
    said = {text.replace("\\n", "\n") for text in said}
    missing = {text for text in said if text not in ZH and not TO_PROGRAMMERS.search(text)}
    assert not missing
    holes = re.compile(r"%(?:\(\w+\))?[rs]")
    assert all(sorted(holes.findall(one)) == sorted(holes.findall(other)) for one, other in ZH.items())


def test_usage_and_faults_are_chinese_only_when_asked(capsys: pytest.CaptureFixture[str]) -> None:
    """And English again afterwards."""
    for language, word in (("zh", "缺少必需的参数：name"), ("en", "the following arguments are required: name")):
        speak(language)
        parser = argparse.ArgumentParser(prog="p")
        parser.add_argument("name")
        parser.add_argument("--pair", nargs=2)
        with pytest.raises(SystemExit):
            parser.parse_args([])
        assert word in capsys.readouterr().err
        with pytest.raises(SystemExit):
            parser.parse_args(["x", "--pair", "1"])
        assert ("需要 2 个值" if language == "zh" else "expected 2 arguments") in capsys.readouterr().err
