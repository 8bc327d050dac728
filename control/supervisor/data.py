"""The data directory: made at the first start, mended at every other, each folder its reader's alone.

Sockets and process ids lie in `run/`, control's things in `control/`, the gateways' in `gateway/`, the
bridge's and the jobs' beside them. An interrupted first start leaves nothing that the next cannot use.
"""

from __future__ import annotations

import logging
import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from certs.store import CERTIFICATE_FILE, load_or_make, write_private, write_public
from control.clock import utcnow
from control.config import Settings
from control.supervisor.identity import Identities

ADMIN_PASSWORD_FILE: Final = "admin-password"  # noqa: S105 - a file name
FEED_KEY_FILE: Final = "feed.key"
AUTHORITY_FILE: Final = CERTIFICATE_FILE
LOG_FILE: Final = "starlight.log"
_PASSWORD_LETTERS: Final = "abcdefghijkmnpqrstuvwxyz23456789"  # noqa: S105 - none that look alike
_PASSWORD_LENGTH: Final = 20
_FEED_KEY_BYTES: Final = 32
_log = logging.getLogger("starlight.supervisor")


@dataclass(frozen=True, slots=True)
class Prepared:
    """What the data directory holds for this start. `admin_password` None: its owner has taken it away."""

    feed_key: str = field(repr=False)
    admin_password: str | None = field(repr=False)


def make_run_dir(settings: Settings, who: Identities) -> None:
    """Makes the data directory and `run/`, which must be there before anything can be locked.

    Raises OSError when another user's data lies there, or it cannot be written.
    """
    # As root, the workers' uids must be able to pass through; as a normal user nobody else needs to.
    mode = 0o711 if who.separate else 0o700
    for folder in (settings.data_dir, settings.run_dir):
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(mode)


def prepare(settings: Settings, who: Identities) -> Prepared:
    """Makes what is missing, with its owner and mode, under the supervisor's lock. Raises OSError."""
    data = settings.data_dir
    feed_key = _kept(data / FEED_KEY_FILE, secrets.token_hex(_FEED_KEY_BYTES))
    # Before control/: a start that is interrupted here is still a first start for the next.
    password = _admin_password(settings)
    _folder(data / "control", who, who.control_uid)
    _folder(data / "gateway", who, who.gateway_uid)
    for name in ("bridge", "bridge/jobs"):
        _folder(data / name, who, os.geteuid())
    for name in ("homes", "apps"):
        (data / name).mkdir(mode=0o711 if who.separate else 0o700, exist_ok=True)
    _authority(settings, who)
    if settings.acme_ca_bundle is not None and settings.acme_trusted is not None:
        write_public(settings.acme_trusted, settings.acme_ca_bundle.read_text())
        who.give(settings.acme_trusted, who.control_uid)
    return Prepared(feed_key, password)


def _admin_password(settings: Settings) -> str | None:
    file = settings.data_dir / ADMIN_PASSWORD_FILE
    if settings.admin_password:
        return settings.admin_password
    if file.exists():
        return file.read_text().strip()
    if (settings.data_dir / "control").exists():
        return None
    return _kept(file, "".join(secrets.choice(_PASSWORD_LETTERS) for _ in range(_PASSWORD_LENGTH)))


def _kept(path: Path, fresh: str) -> str:
    if not path.exists():
        write_private(path, fresh + "\n")
    return path.read_text().strip()


def _folder(path: Path, who: Identities, uid: int) -> None:
    path.mkdir(mode=0o700, exist_ok=True)
    path.chmod(0o700)
    if path.stat().st_uid != uid:
        # Made just now, or by a start with another uid base: everything in it goes with it.
        for inner in (path, *path.rglob("*")):
            who.give(inner, uid)


def _authority(settings: Settings, who: Identities) -> None:
    folder = settings.data_dir / "control" / "tls"
    _folder(folder, who, who.control_uid)
    authority, new = load_or_make(folder, settings.certificate_names, now=utcnow())
    if new:
        for path in folder.iterdir():
            who.give(path, who.control_uid)
        _log.info("made a certificate authority for %s and %s", settings.base_domain, settings.console_name)
    write_public(settings.data_dir / AUTHORITY_FILE, authority.certificate_pem)
