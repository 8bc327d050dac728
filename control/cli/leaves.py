"""Groups and leaves of the command line: what every command has."""

from __future__ import annotations

import argparse
from typing import Any

from control.cli.outcome import Command
from control.cli.words import Words


def group(commands: Any, name: str, help_text: str, say: Words) -> Any:
    """A word that others follow: `starlight job ...`."""
    made = commands.add_parser(name, help=help_text, description=help_text)
    return made.add_subparsers(dest=f"{name}_command", required=True, metavar=say("动作", "ACTION"))


def leaf(commands: Any, name: str, run: Command, help_text: str, say: Words) -> argparse.ArgumentParser:
    """A command. It holds what to run as `run`, and can print JSON."""
    made: argparse.ArgumentParser = commands.add_parser(name, help=help_text, description=help_text)
    made.add_argument("--json", action="store_true", help=say("输出 JSON，供程序使用", "print JSON, for programs"))
    made.set_defaults(run=run)
    return made


def password_option(made: argparse.ArgumentParser, say: Words) -> None:
    """Passwords come from the terminal, or with this option from the input; never from an argument that others see."""
    made.add_argument(
        "--password-stdin",
        action="store_true",
        help=say("从标准输入读取密码，每行一个", "read passwords from the input, one a line"),
    )
