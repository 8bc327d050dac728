"""Where the local authority is kept: two files in one folder, written so that a crash never leaves half of one.

`ca.key` (mode 0600) is the authority's key, `ca.pem` (0644) its certificate. The key is written first:
without the certificate it counts as nothing, and the next start makes a new pair.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from certs.check import CheckFault, check_key
from certs.local_ca import Authority, can_sign, make_authority

CERTIFICATE_FILE = "ca.pem"
KEY_FILE = "ca.key"


def load_authority(folder: Path) -> Authority | None:
    """The authority kept in `folder`, or None when there is none, or the two files do not belong together."""
    try:
        authority = Authority((folder / CERTIFICATE_FILE).read_text(), (folder / KEY_FILE).read_text())
        check_key(authority.certificate_pem, authority.key_pem)
    except (FileNotFoundError, CheckFault, UnicodeDecodeError):
        return None
    return authority


def load_or_make(folder: Path, names: Sequence[str], *, now: datetime) -> tuple[Authority, bool]:
    """The authority of `folder`, and whether it is new: none was kept, or the kept one may not sign `names`."""
    kept = load_authority(folder)
    if kept is not None and can_sign(kept, names):
        return kept, False
    authority = make_authority(names, now=now)
    write_private(folder / KEY_FILE, authority.key_pem)
    write_public(folder / CERTIFICATE_FILE, authority.certificate_pem)
    return authority, True


def write_private(path: Path, text: str) -> None:
    """Puts `text` at `path`, whole or not at all, readable by its owner alone."""
    _write(path, text, 0o600)


def write_public(path: Path, text: str) -> None:
    """Puts `text` at `path`, whole or not at all, readable by everybody."""
    _write(path, text, 0o644)


def _write(path: Path, text: str, mode: int) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fchmod(descriptor, mode)
        os.fsync(descriptor)
    draft.replace(path)
