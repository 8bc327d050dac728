"""Names of jobs: what people may call them, and the readable id made from it."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from control.domain.errors import FieldCode, FieldFault, fault

JOB_NAME_CHARACTERS: Final = 128
_FORBIDDEN: Final = frozenset("+%#@:/")
_RESERVED: Final = frozenset({"home"})
"""`USER+home` on the ssh port is the home without a job."""
_SLUG_CHARACTERS: Final = 40


def job_name_fault(name: str, field: str = "name") -> FieldFault | None:
    """What is wrong with a job's name, or None."""
    if not name:
        return fault(field, FieldCode.REQUIRED)
    if len(name) > JOB_NAME_CHARACTERS:
        return fault(field, FieldCode.TOO_LONG, maximum=JOB_NAME_CHARACTERS)
    if name != name.strip() or any(_is_forbidden(character) for character in name):
        return fault(field, FieldCode.JOB_NAME)
    if name.lower() in _RESERVED:
        return fault(field, FieldCode.RESERVED, value=name)
    return None


def job_id(name: str, number: int) -> str:
    """The id of job `number`: readable and safe as a host name, such as `jupyter-17`."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:_SLUG_CHARACTERS].rstrip("-")
    return f"{slug or 'job'}-{number}"


def default_name(app: str | None, command: list[str] | None) -> str:
    """The name of a job whose owner gave none: its app, or its command's base name."""
    base = app or (command[0].rsplit("/", 1)[-1] if command else "")
    kept = "".join(character for character in base if not _is_forbidden(character)).strip()[:JOB_NAME_CHARACTERS]
    return kept if kept and kept.lower() not in _RESERVED else "job"


def _is_forbidden(character: str) -> bool:
    return character in _FORBIDDEN or unicodedata.category(character) in {"Cc", "Cf", "Cs", "Zl", "Zp"}
