"""Which of the client's environment variables reach the job.

Languages and what programs ask about a terminal, nothing that changes how programs are found or
loaded: the same that Debian's sshd accepts, and a few that git and editors need.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from gateway.entries.ssh.protocol import Connection

_NAMES: Final = frozenset({"LANG", "LANGUAGE", "TZ", "COLORTERM", "NO_COLOR", "EDITOR", "VISUAL", "GIT_PROTOCOL"})


def passed_on(sent: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """The variables to pass on, of those that the client sent."""
    texts = ((name.decode("utf-8", "replace"), value.decode("utf-8", "replace")) for name, value in sent)
    return {name: value for name, value in texts if _wanted(name) and "\0" not in value}


def about_connection(connection: Connection) -> dict[str, str]:
    """SSH_CONNECTION and SSH_CLIENT as sshd sets them: programs ask by these whether they run over ssh."""
    peer, own = connection.get_extra_info("peername"), connection.get_extra_info("sockname")
    if not (isinstance(peer, tuple) and isinstance(own, tuple)):
        return {}  # a connection within another one has no addresses
    return {
        "SSH_CONNECTION": f"{peer[0]} {peer[1]} {own[0]} {own[1]}",
        "SSH_CLIENT": f"{peer[0]} {peer[1]} {own[1]}",
    }


def _wanted(name: str) -> bool:
    return name in _NAMES or (name.startswith("LC_") and name.isidentifier() and name.isascii())
