"""Files that options name: read whole, or refused with the reason."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from control.cli.files import FILE_LIMIT_BYTES, pem_file


def test_a_file_is_read(tmp_path: Path) -> None:
    """As text."""
    (tmp_path / "c.pem").write_text("-----BEGIN")
    assert pem_file(str(tmp_path / "c.pem")) == "-----BEGIN"


@pytest.mark.parametrize("content", [None, b"\xff\xfe", b"x" * (FILE_LIMIT_BYTES + 1)])
def test_what_is_no_pem_file_is_refused(tmp_path: Path, content: bytes | None) -> None:
    """Missing, binary (a DER file), or larger than any chain."""
    if content is not None:
        (tmp_path / "c.pem").write_bytes(content)
    with pytest.raises(argparse.ArgumentTypeError):
        pem_file(str(tmp_path / "c.pem"))
