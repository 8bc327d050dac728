"""How a person signs in to ssh: a key of their profile or of their home, or their password.

Keys of profiles are known from the table, so that they open the door while control is away; those of
a home's authorized_keys are read there, and open less; a password is control's to judge and to limit.
A key counts when a request was signed with it, never when it was only offered, and an offer is no
failure: an agent may hold many keys. Tries are counted when they begin, so that a client that sends
many at once gains nothing.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from typing import Final

from asyncssh import DISC_NO_MORE_AUTH_METHODS_AVAILABLE, DisconnectError

from gateway.core.grounds import user_ground
from gateway.core.refusals import Code, Refusal, next_step, sentence
from gateway.core.ssh_name import Login, split
from gateway.core.tickets import Visitor, by_home_key, by_key, by_password
from gateway.entries.ssh.home_keys import HomeKey, HomeKeys
from gateway.wire.gate import Gate

TRIES_LIMIT: Final = 6
"""Passwords and bad signatures that one connection may try (OpenSSH's MaxAuthTries)."""
PASSWORD_LIMIT: Final = 1024
"""Characters of a password (contract: passwords have 8 to 1,024); a longer one is not asked about."""


class SignIn:
    """One connection's way to a Visitor. `visitor` is set once, by the request that succeeded."""

    def __init__(self, gate: Gate, home_keys: HomeKeys, address: str, tell: Callable[[str], None]) -> None:
        """`tell` shows a sentence to a person who has not signed in yet."""
        self._gate, self._home_keys, self._address, self._tell = gate, home_keys, address, tell
        self._tries = 0
        self.login: Login | None = None
        self.visitor: Visitor | None = None
        self.home_key: HomeKey | None = None

    def begin(self, login_name: str) -> None:
        """The client named a user; what it proved under another name does not count."""
        self.login = split(login_name)
        self._take(None)

    async def knows_key(self, fingerprint: str) -> bool:
        """Whether the named person has this key. Asked for offers too, so that nothing may change here."""
        return self._by_key(fingerprint) is not None or await self._at_home(fingerprint) is not None

    async def key_signed(self, public_data: bytes, *, good: bool) -> bool:
        """Whether a request that came signed with this key, well or badly, signs the person in.

        Raises DisconnectError after too many bad signatures.
        """
        name, login = fingerprint(public_data), self.login
        visitor, home_key = self._by_key(name), None
        if visitor is None:
            home_key = await self._at_home(name)
            visitor = None if home_key is None else by_home_key(home_key.user, home_key.cluster, self._gate.table)
        if visitor is None or login is not self.login:
            return False  # an offer in other words: some clients sign at once
        self._count_try()
        self._take(None)
        if not good:
            return self._failed()
        if not self._gate.table.stands(user_ground(visitor.user_id or 0), self._gate.now()):
            return self._failed(Refusal(Code.USER_DISABLED))
        if home_key is not None and home_key.line.unmet is not None:
            return self._failed(Refusal(Code.KEY_OPTION))
        self._take(visitor, home_key)
        return True

    async def password(self, password: str) -> bool:
        """Whether control finds the password right. Raises DisconnectError after too many tries."""
        self._count_try()
        self._take(None)
        login = self.login
        if login is None or len(password) > PASSWORD_LIMIT:
            return self._failed()
        answer = await self._gate.ask.password(login.user, password, self._address)
        if isinstance(answer, Refusal):
            return self._failed(answer)
        self._take(by_password(answer, self._gate.table))
        return self.visitor is not None or self._failed(Refusal(Code.CONTROL_AWAY))

    def _take(self, visitor: Visitor | None, home_key: HomeKey | None = None) -> None:
        self.visitor, self.home_key = visitor, home_key

    async def _at_home(self, key: str) -> HomeKey | None:
        return await self._home_keys.find(self.login.user, key, self._address) if self.login is not None else None

    def _by_key(self, key: str) -> Visitor | None:
        return by_key(key, self.login.user, self._gate.table) if self.login is not None else None

    def _failed(self, refusal: Refusal | None = None) -> bool:
        if refusal is not None and refusal.code is not Code.WRONG_PASSWORD:
            self._tell("\n".join(f"{sentence(refusal, word)} {next_step(refusal, word)}" for word in ("zh", "en")))
        self._count_failure()
        return False

    def _count_try(self) -> None:
        self._tries += 1
        if self._tries > TRIES_LIMIT:
            self._send_away()

    def _count_failure(self) -> None:
        if self._tries >= TRIES_LIMIT:
            self._send_away()

    def _send_away(self) -> None:
        raise DisconnectError(DISC_NO_MORE_AUTH_METHODS_AVAILABLE, "Too many authentication failures")


def fingerprint(public_data: bytes) -> str:
    """A public key's fingerprint as OpenSSH writes it: `SHA256:` and unpadded base64."""
    digest = hashlib.sha256(public_data).digest()
    return f"SHA256:{base64.b64encode(digest).rstrip(b'=').decode()}"
