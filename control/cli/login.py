"""Where the command line is signed in: an address and a token in a file that only its owner can read.

`STARLIGHT_URL` and `STARLIGHT_TOKEN` in the environment win over the file, for scripts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

_FILE: Final = Path("starlight") / "login.json"


@dataclass(frozen=True, slots=True)
class Login:
    """A console's address, the token for it, and the certificate authority to trust if the system does not."""

    url: str
    token: str = field(repr=False)
    user: str = ""
    ca: str | None = None


def load(environ: Mapping[str, str]) -> Login | None:
    """The login in use; None when there is none. Raises ValueError for a file that cannot be read."""
    stored = _read(_path(environ))
    url, token = environ.get("STARLIGHT_URL"), environ.get("STARLIGHT_TOKEN")
    if url is None and token is None:
        return stored
    if token is None:
        return stored if stored is not None and stored.url == url else None
    return Login(url or (stored.url if stored is not None else ""), token, ca=stored.ca if stored is not None else None)


def save(environ: Mapping[str, str], login: Login) -> Path:
    """Keeps the login, mode 0600, in place of an older one."""
    path = _path(environ)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    aside = path.with_suffix(".new")
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        os.fchmod(descriptor, 0o600)  # a leftover of an interrupted save may have been made by someone laxer
        json.dump(asdict(login), file)
    aside.replace(path)
    return path


def _path(environ: Mapping[str, str]) -> Path:
    base = environ.get("XDG_CONFIG_HOME") or str(Path(environ.get("HOME", "~")).expanduser() / ".config")
    return Path(base) / _FILE


def _read(path: Path) -> Login | None:
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
        return Login(str(plain["url"]), str(plain["token"]), str(plain.get("user", "")), plain.get("ca"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as fault:
        raise ValueError(f"{path}: {fault}") from fault
