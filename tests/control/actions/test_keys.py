"""SSH public keys of a profile."""

from __future__ import annotations

import asyncssh
import pytest

from control.actions import keys
from control.actions.context import Context, Person
from control.domain.errors import Code
from tests.control.actions.refused import refused


@pytest.mark.parametrize("algorithm", ["ssh-ed25519", "ecdsa-sha2-nistp256", "ssh-rsa"])
async def test_a_real_key_of_each_usual_kind_is_taken(ctx: Context, alice: Person, algorithm: str) -> None:
    """With OpenSSH's own fingerprint; what is kept is the key alone, in one line."""
    key = asyncssh.generate_private_key(algorithm, comment="alice@laptop")
    row = await keys.add(ctx, alice, key.export_public_key("openssh").decode(), None)
    assert (row.name, row.fingerprint) == ("alice@laptop", key.get_fingerprint("sha256"))
    assert row.public_key.count("\n") == 0


async def test_a_key_is_named_by_its_owner_its_comment_or_its_kind(ctx: Context, alice: Person) -> None:
    """In that order."""
    key = asyncssh.generate_private_key("ssh-ed25519")
    bare = key.export_public_key("openssh").decode()
    assert (await keys.add(ctx, alice, bare, None)).name == "ssh-ed25519"
    other = asyncssh.generate_private_key("ssh-ed25519", comment="mine").export_public_key("openssh").decode()
    assert (await keys.add(ctx, alice, other, "laptop")).name == "laptop"


async def test_a_private_key_is_refused(ctx: Context, alice: Person) -> None:
    """Pasted by mistake, it is kept nowhere."""
    private = asyncssh.generate_private_key("ssh-ed25519").export_private_key().decode()
    for text in (private, private.replace("\n", " "), "AAAA", "ssh-ed25519 \0"):
        with refused(Code.INVALID_INPUT):
            await keys.add(ctx, alice, text, None)
    assert list(await keys.list_keys(ctx, alice)) == []


async def test_nobody_removes_another_persons_key(ctx: Context, alice: Person, bob: Person) -> None:
    """They do not even learn that it is there."""
    text = asyncssh.generate_private_key("ssh-ed25519").export_public_key("openssh").decode()
    row = await keys.add(ctx, alice, text, None)
    with refused(Code.NOT_FOUND):
        await keys.remove(ctx, bob, row.id)
    await keys.remove(ctx, alice, row.id)
    with refused(Code.NOT_FOUND):
        await keys.remove(ctx, alice, row.id)
