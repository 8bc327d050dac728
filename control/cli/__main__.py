"""The `starlight` command. Exit status: 0 done, 1 refused or failed, 2 wrong usage."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Sequence
from typing import Any, Final

from control.cli import completion, login, parser
from control.cli.client import FailedError, connect
from control.cli.login import Login
from control.cli.outcome import Asked, Outcome
from control.cli.words import Words

_OPTIONS: Final = {
    "private_key_password": "--key-password-stdin",
    "expires_at": "--expires",
    "memory_bytes": "--memory",
    "time_limit_s": "--time",
    "limits.connections": "--max-connections",
    "limits.requests_per_minute": "--max-requests",
    "limits.body_bytes": "--max-body",
}
"""The options that give fields of another name; other options bear their field's."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words and words[0] in parser.LOCAL:
        from control.supervisor.command import main as run_here  # noqa: PLC0415 - not needed to speak the API

        return run_here(words)
    say = Words()
    reader = parser.build(say)
    args = reader.parse_args(words)
    if args.command_name == "completion":
        sys.stdout.write(completion.script(reader, args.shell))
        return 0
    try:
        outcome = asyncio.run(_run(args, say))
    except FailedError as failure:
        return _print_failure(failure.problem, as_json=args.json)
    except EOFError:
        detail = say("输入已结束；脚本请用 --password-stdin", "The input ended; scripts give --password-stdin")
        return _print_failure({"code": "input_ended", "detail": detail}, as_json=args.json)
    except (KeyboardInterrupt, BrokenPipeError):
        return 1
    return _print(outcome, as_json=args.json)


async def _run(args: argparse.Namespace, say: Words) -> Outcome:
    held = _login(args, say)
    async with connect(held, say) as client:
        outcome: Outcome = await args.run(Asked(args, client, say, os.environ))
        return outcome


def _login(args: argparse.Namespace, say: Words) -> Login:
    if args.command_name == "login":
        return Login(args.url, "")
    try:
        held = login.load(os.environ)
    except ValueError as fault:
        raise FailedError({"code": "login_unreadable", "detail": str(fault)}) from fault
    if held is None or not held.url:
        detail = say("尚未登录，请先运行 starlight login 地址", "Not signed in; run starlight login URL first")
        raise FailedError({"code": "sign_in_required", "status": 401, "detail": detail})
    return held


def _print(outcome: Outcome, *, as_json: bool) -> int:
    if not as_json:
        for line in outcome.lines:
            print(line)
    elif outcome.data is not None:
        print(json.dumps(outcome.data, ensure_ascii=False, indent=2))
    return 0


def _print_failure(problem: dict[str, Any], *, as_json: bool) -> int:
    if as_json:
        print(json.dumps(problem, ensure_ascii=False, indent=2))
        return 1
    print(f"starlight: {problem.get('detail') or problem.get('title')}", file=sys.stderr)
    for name, sentence in problem.get("fields", {}).items():
        shown = f"{name} ({_OPTIONS[name]})" if name in _OPTIONS else name
        print(f"  {shown}: {sentence}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
