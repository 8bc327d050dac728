"""SSH public keys of a person's profile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import asyncssh

from control.actions.acting import acting, reached, settle
from control.actions.context import Context, Person
from control.domain.errors import Code, FieldCode, fault, invalid, problem
from control.store import people
from control.store.tables import SshKey, User

_NAME_CHARACTERS: Final = 200
_KEY_CHARACTERS: Final = 16 * 1024


async def list_keys(ctx: Context, who: Person) -> Sequence[SshKey]:
    """The person's keys, oldest first."""
    async with ctx.db.read() as session:
        return await people.keys(session, who.id)


async def add(ctx: Context, who: Person, text: str, name: str | None) -> SshKey:
    """Adds a key given as one line of OpenSSH. Raises ProblemError INVALID_INPUT or KEY_EXISTS."""
    key, comment = _parse(text)
    shown = (name or comment or key.get_algorithm()).strip()[:_NAME_CHARACTERS]
    async with acting(ctx, who, "key.add", f"user:{who.id}") as act:
        user = await act.session.get_one(User, who.id)
        row = await people.add_key(
            act.session,
            user,
            name=shown,
            public_key=_line(key),
            fingerprint=key.get_fingerprint("sha256"),
            now=act.now,
        )
        act.detail["fingerprint"] = row.fingerprint
        revision = await reached(act)
    await settle(ctx, revision)
    return row


async def remove(ctx: Context, who: Person, key_id: int) -> None:
    """Removes a key of the person; ssh sessions that rest on it end within a second."""
    async with acting(ctx, who, "key.remove", f"key:{key_id}") as act:
        row = await act.session.get(SshKey, key_id)
        if row is None or row.user_id != who.id:
            raise problem(Code.NOT_FOUND, what=f"#{key_id}")
        revision = await people.drop_key(act.session, row, act.now)
    await settle(ctx, revision)


def _parse(text: str) -> tuple[asyncssh.SSHKey, str]:
    line = text.strip()
    if not line or "\n" in line or "PRIVATE" in line or len(line) > _KEY_CHARACTERS:
        raise invalid(fault("public_key", FieldCode.PUBLIC_KEY))
    try:
        key = asyncssh.import_public_key(line)
    except (asyncssh.KeyImportError, ValueError):
        raise invalid(fault("public_key", FieldCode.PUBLIC_KEY)) from None
    comment = key.get_comment() or ""
    return key, comment if comment.isprintable() else ""


def _line(key: asyncssh.SSHKey) -> str:
    return key.export_public_key("openssh").decode("ascii", "replace").strip()
