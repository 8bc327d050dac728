"""The words of the command line: each command and each of its arguments is explained, in both languages."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator

import pytest

from control.cli.parser import LOCAL, build
from control.cli.words import Words

CHINESE = re.compile("[\u4e00-\u9fff]")


def leaves(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Every command below this one, and itself."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for child in action.choices.values():
                yield from leaves(child)


@pytest.mark.parametrize("language", ["zh", "en"])
def test_every_argument_of_every_command_is_explained(language: str) -> None:
    """In the language of the person, and in no other."""
    for parser in leaves(build(Words("zh" if language == "zh" else "en"))):
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                words = [choice.help for choice in action._choices_actions]
            else:
                words = [action.help]
            for said in words:
                assert said, f"{parser.prog} {action.dest}"
                assert bool(CHINESE.search(said)) == (language == "zh"), f"{parser.prog} {action.dest}: {said}"


@pytest.mark.parametrize("language", ["zh", "en"])
def test_every_command_has_help(language: str, capsys: pytest.CaptureFixture[str]) -> None:
    """In both languages, down to the leaves."""
    parser = build(Words("zh" if language == "zh" else "en"))
    for words in (["--help"], ["job", "--help"], ["job", "submit", "--help"], ["entry", "share", "--help"]):
        with pytest.raises(SystemExit) as end:
            parser.parse_args(words)
        assert end.value.code == 0
    printed = capsys.readouterr().out
    assert ("提交作业" in printed) == (language == "zh")
    assert ("usage: " in printed) == (language == "en")


def test_local_commands_are_named_like_the_others() -> None:
    """They are handed over before their arguments are read."""
    commands = next(a for a in build(Words("en"))._actions if isinstance(a, argparse._SubParsersAction))
    assert set(LOCAL) <= set(commands.choices)
