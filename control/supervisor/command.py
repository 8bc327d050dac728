"""The words of `starlight up`, `down` and `doctor`: read, done, told. Exit status 0 done, 1 refused, 2 misused."""

from __future__ import annotations

import argparse
import asyncio
import os
import select
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, Final

from control import usage_words
from control.config import Settings, SettingsError, read_settings
from control.supervisor import doctor
from control.supervisor.data import LOG_FILE
from control.supervisor.down import down, end_jobs
from control.supervisor.locks import HeldError
from control.supervisor.up import up
from control.supervisor.words import banner, ended, language_of, stopped
from gateway.contract.log_lines import write_log_lines

_LOG_LIMIT_BYTES: Final = 16 * 1024 * 1024
_TAIL_BYTES: Final = 4096
_DETACHED_START_S: Final = 90
"""A start that takes longer has a worker that keeps crashing: it is taken back, and its log told."""


def main(words: Sequence[str]) -> int:
    """Does what the words say; returns the exit status."""
    asked = _parser(language_of(os.environ)).parse_args(words)
    try:
        settings = read_settings(os.environ, asked.config)
    except SettingsError as fault:
        return _refuse(fault.faults, 2)
    try:
        match asked.verb:
            case "up" if asked.detach:
                return _detach(settings, asked.config)
            case "up":
                return _up(settings, asked.ready_fd)
            case "down":
                return _down(settings, also_jobs=asked.jobs)
            case _:
                return doctor.tell(settings, os.environ, as_json=asked.json)
    except (HeldError, OSError, ValueError) as fault:
        return _refuse(getattr(fault, "sentences", (str(fault),)), 1)


def _parser(language: str) -> argparse.ArgumentParser:
    def say(zh: str, en: str) -> str:
        return zh if language == "zh" else en

    usage_words.speak(language)
    parser = argparse.ArgumentParser(prog="starlight")
    verbs = parser.add_subparsers(dest="verb", required=True)

    def verb(name: str, zh: str, en: str) -> argparse.ArgumentParser:
        return verbs.add_parser(name, help=say(zh, en), description=say(zh, en))

    starting = verb(
        "up",
        "启动平台；Ctrl-C 或 SIGTERM 停止，作业继续运行",
        "start everything; Ctrl-C or SIGTERM drains and stops, jobs live on",
    )
    starting.add_argument(
        "--detach",
        action="store_true",
        help=say("在后台运行，就绪后返回；日志在数据目录", "return once everything serves; log in the data dir"),
    )
    starting.add_argument("--ready-fd", type=int, default=None, help=argparse.SUPPRESS)
    stopping = verb(
        "down", "停止此数据目录上的平台，作业继续运行", "stop what runs on the data directory; jobs live on"
    )
    stopping.add_argument("--jobs", action="store_true", help=say("同时结束所有作业", "end the jobs too"))
    looking = verb("doctor", "检查缺什么、如何补", "what is missing and how to mend it")
    looking.add_argument("--json", action="store_true", help=say("输出 JSON，供程序使用", "print JSON, for programs"))
    where = say("设置文件，默认 ./starlight.toml", "the settings file; ./starlight.toml unless told otherwise")
    for made in (starting, stopping, looking):
        made.add_argument("--config", type=Path, default=Path("starlight.toml"), metavar="FILE", help=where)
    return parser


def _up(settings: Settings, ready_fd: int | None) -> int:
    write_log_lines("supervisor")

    def tell_ready() -> None:
        print(banner(settings, language_of(os.environ)), flush=True)
        if ready_fd is not None:
            os.write(ready_fd, b"ready\n")
            os.close(ready_fd)

    asyncio.run(up(settings, os.environ, tell_ready))
    return 0


def _detach(settings: Settings, config: Path) -> int:
    """Starts `up` in a session of its own and waits for its word; on failure tells the end of its log."""
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    log_file = settings.data_dir / LOG_FILE
    if log_file.exists() and log_file.stat().st_size > _LOG_LIMIT_BYTES:
        log_file.replace(log_file.with_suffix(".log.1"))
    reading, writing = os.pipe()
    log_file.touch(mode=0o600)
    with log_file.open("ab") as log, os.fdopen(reading, "rb") as ready:
        began = log.tell()
        process = _start_detached(config, log, writing)
        os.close(writing)
        # Readable means a word, or the end of a start that failed.
        if select.select([ready], [], [], _DETACHED_START_S)[0] and ready.readline() == b"ready\n":
            print(banner(settings, language_of(os.environ)))
            return 0
        process.terminate()
        process.wait()
    with log_file.open("rb") as log:
        log.seek(max(began, log_file.stat().st_size - _TAIL_BYTES))
        sys.stderr.write(log.read().decode(errors="replace"))
    return 1


def _start_detached(config: Path, log: BinaryIO, ready_fd: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "control.supervisor", "up", "--config", config, "--ready-fd", str(ready_fd)],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        pass_fds=[ready_fd],
        start_new_session=True,
    )


def _down(settings: Settings, *, also_jobs: bool) -> int:
    write_log_lines("supervisor")
    language = language_of(os.environ)
    living = asyncio.run(down(settings))
    # With --jobs those that live are ended next: that they live on is not to be told.
    print(stopped(() if also_jobs and living else living, settings, language))
    if also_jobs:
        print(ended(asyncio.run(end_jobs(settings, os.environ)), language))
    return 0


def _refuse(sentences: Sequence[str], status: int) -> int:
    for sentence in sentences:
        print(f"starlight: {sentence}", file=sys.stderr)
    return status
