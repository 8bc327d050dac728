"""Where the local authority is kept: two files in one folder, written so that a crash never leaves half of one.

And which authorities this machine trusts.

`ca.key` (mode 0600) is the authority's key, `ca.pem` (0644) its certificate. The key is written first:
without the certificate it counts as nothing, and the next start makes a new pair.
"""

from __future__ import annotations

import os
import re
import ssl
import warnings
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

from cryptography import x509

from certs.check import CheckFault, check_key
from certs.local_ca import Authority, can_sign, make_authority

CERTIFICATE_FILE = "ca.pem"
KEY_FILE = "ca.key"
_DEBIAN_ROOTS: Final = "/etc/ssl/certs/ca-certificates.crt"
_PEM_BLOCK: Final = re.compile(rb"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)


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


def machine_roots() -> tuple[x509.Certificate, ...]:
    """The authorities that this machine trusts for TLS; none where it has no store of them, or no readable one."""
    file = ssl.get_default_verify_paths().cafile or _DEBIAN_ROOTS
    try:
        blocks = _PEM_BLOCK.findall(Path(file).read_bytes())
    except OSError:
        return ()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some old roots have odd numbers: nothing that we could mend
        return tuple(root for block in blocks if (root := _root(block)) is not None)


def _root(block: bytes) -> x509.Certificate | None:
    try:
        return x509.load_pem_x509_certificate(block)
    except ValueError:
        return None  # one odd root must not cost the others


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
