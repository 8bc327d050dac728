"""GET /ssh-host-keys: by which keys ssh knows the gateway."""

from __future__ import annotations

from typing import Final

from control.actions import host_keys
from control.api.asked import Asked
from control.api.route import Access, Shape, route


class SshKey(Shape):
    """A key. `sshfp` is the data of the DNS record for it (RFC 4255); null where the record has no number for it."""

    public_key: str
    fingerprint: str
    sshfp: str | None


class SshHostKeys(Shape):
    """The keys of the ssh port, the newest first; `known_hosts` are the lines that make ssh ask nothing.

    `authority` signed the newest one, and vouches for every job that is reached by a jump.
    """

    place: str
    keys: list[SshKey]
    authority: SshKey | None
    known_hosts: list[str]


async def show_host_keys(asked: Asked) -> SshHostKeys:
    """The keys by which people know the ssh gateway. Public, as such keys are."""
    known = await host_keys.known(asked.ctx)
    return SshHostKeys(
        place=known.place,
        keys=[_print(key) for key in known.keys],
        authority=None if known.authority is None else _print(known.authority),
        known_hosts=known.lines(),
    )


def _print(key: host_keys.HostKey) -> SshKey:
    return SshKey(public_key=key.public_key, fingerprint=key.fingerprint, sshfp=key.sshfp)


ROUTES: Final = (route("GET", "/ssh-host-keys", show_host_keys, access=Access.ANYONE),)
