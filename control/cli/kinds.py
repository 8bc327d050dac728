"""What arguments of the command line may hold: each function reads one, and raises ArgumentTypeError with examples."""

from __future__ import annotations

import argparse
import re
from typing import Any, Final

from control.cli.files import FILES, pem_file

_UNITS: Final = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_SPANS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


def size(text: str) -> int:
    """Bytes: `512`, `64k`, `2G`."""
    return _counted(text, _UNITS, "512, 64k, 2G")


def span(text: str) -> int:
    """Seconds: `90`, `30m`, `2h`, `1d`."""
    return _counted(text, _SPANS, "90, 30m, 2h, 1d")


def number(text: str) -> int:
    """A whole number of at least 1."""
    if not re.fullmatch("[1-9][0-9]{0,11}", text, re.ASCII):
        raise argparse.ArgumentTypeError(f"{text!r}: 应为大于 0 的整数 / a whole number above 0")
    return int(text)


def pair(text: str) -> tuple[str, str]:
    """`NAME=VALUE`."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"{text!r}: NAME=VALUE")
    return name, value


def port_or_auto(text: str) -> int | str:
    """A port number, or `auto`."""
    if text == "auto":
        return text
    if not re.fullmatch("[0-9]{1,5}", text, re.ASCII):
        raise argparse.ArgumentTypeError(f"{text!r}: 1-65535, auto")
    return int(text)


def local_port(text: str) -> int:
    """A port number, or 0."""
    if not re.fullmatch("[0-9]{1,5}", text, re.ASCII) or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r}: 0-65535")
    return int(text)


def host_port(text: str) -> tuple[str, int]:
    """`gate.example.com:8443`."""
    host, colon, port = text.rpartition(":")
    if not colon or not host:
        raise argparse.ArgumentTypeError(f"{text!r}: HOST:PORT")
    return host.strip("[]"), local_port(port)


def entry_spec(text: str) -> dict[str, Any]:
    """`name=web,protocol=http,level=private,target_port=8000` as an EntrySpec. The API judges the values.

    `certificate=FILE` and `private_key=FILE` stand for what these files hold.
    """
    spec: dict[str, Any] = dict(pair(part) for part in text.split(","))
    if "target_port" in spec:
        spec["target_port"] = port_or_auto(spec["target_port"])
    if spec.get("acme") == "true":
        spec["acme"] = True
    return spec | {name: pem_file(spec[name]) for name in FILES if name in spec}


def _counted(text: str, units: dict[str, int], examples: str) -> int:
    found = re.fullmatch(r"([0-9]{1,12})([a-z]?)(?:i?b)?", text.lower(), re.ASCII)
    if found is None or found[2] not in units:
        raise argparse.ArgumentTypeError(f"{text!r} 无法识别 / is not understood; 例如 / for example: {examples}")
    return int(found[1]) * units[found[2]]
