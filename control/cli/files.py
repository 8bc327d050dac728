"""Certificates and keys that stand in files, as options of the command line."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, Final

FILE_LIMIT_BYTES: Final = 256 * 1024
FILES: Final = ("certificate", "private_key")


def pem_file(text: str) -> str:
    """The text of the PEM file at this path. Raises ArgumentTypeError when it cannot be read."""
    try:
        with Path(text).open("rb") as file:
            held = file.read(FILE_LIMIT_BYTES + 1)
        if len(held) > FILE_LIMIT_BYTES:
            raise argparse.ArgumentTypeError(f"{text}: > {FILE_LIMIT_BYTES} bytes")
        return held.decode()
    except OSError as fault:
        raise argparse.ArgumentTypeError(f"{text}: {fault.strerror}") from fault
    except UnicodeDecodeError as fault:
        raise argparse.ArgumentTypeError(f"{text}: not PEM") from fault


def domain_wish(args: argparse.Namespace) -> dict[str, Any]:
    """The fields of an entry that its options give. The password of a locked key is a line of the input."""
    password = sys.stdin.readline().rstrip("\n") if args.key_password_stdin else None
    body = {
        "domain": args.domain,
        "certificate": args.certificate,
        "private_key": args.private_key,
        "private_key_password": password,
        "acme": True if args.acme or args.acme_challenge else None,
        "acme_challenge": args.acme_challenge,
    }
    return {name: value for name, value in body.items() if value is not None}
