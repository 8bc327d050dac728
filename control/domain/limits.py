"""Limits that an entry's owner may set: how many connections, how many requests of one visitor, how large a body."""

from __future__ import annotations

from typing import Any, Final

from control.domain.errors import FieldCode, FieldFault, fault
from gateway.contract.routes import EntryLimits

LIMITS: Final[dict[str, int]] = {"connections": 100_000, "requests_per_minute": 1_000_000, "body_bytes": 2**50}
"""Each limit with the most that can be set; the least is 1."""
_WEB_ONLY: Final = ("requests_per_minute", "body_bytes")


def read_limits(plain: Any, path: str, *, is_web: bool) -> tuple[EntryLimits | None, list[FieldFault]]:
    """The limits in plain data, None when none is set, and what is wrong with them.

    `path` is put before the field names. Requests and bodies are counted at web entries only.
    """
    if plain is None:
        return None, []
    if not isinstance(plain, dict):
        return None, [fault(f"{path}limits", FieldCode.TYPE, wanted="object")]
    faults = [fault(f"{path}limits.{str(name)[:63]}", FieldCode.UNKNOWN) for name in plain if name not in LIMITS]
    held: dict[str, int] = {}
    for name, most in LIMITS.items():
        value = plain.get(name)
        if value is None:
            continue
        if not isinstance(value, int) or isinstance(value, bool):
            faults.append(fault(f"{path}limits.{name}", FieldCode.TYPE, wanted=f"1-{most}"))
        elif not 1 <= value <= most:
            faults.append(fault(f"{path}limits.{name}", FieldCode.OUT_OF_RANGE, minimum=1, maximum=most))
        elif name in _WEB_ONLY and not is_web:
            faults.append(fault(f"{path}limits.{name}", FieldCode.NOT_ALLOWED))
        else:
            held[name] = value
    return (EntryLimits(**held) if held and not faults else None), faults


def print_limits(limits: EntryLimits | None) -> dict[str, int]:
    """The limits that are set, as plain data."""
    if limits is None:
        return {}
    values = {name: getattr(limits, name) for name in LIMITS}
    return {name: value for name, value in values.items() if value is not None}
