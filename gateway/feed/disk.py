"""The last snapshot on disk, so that a gateway serves at once after a restart while control is away.

It holds certificates' keys and the secrets that seal cookies, hence AES-256-GCM under the feed key,
mode 0600. A file is replaced as a whole, so that a crash leaves the older copy; one that does not
open (another key, another version, damage) counts as none.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from gateway.contract.codec import Record, decode_record, encode_record, kind_of
from gateway.contract.routes import CONTRACT_VERSION
from gateway.core.table import Table

log = logging.getLogger(__name__)

_HEAD: Final = f"starlight feed {CONTRACT_VERSION}\n".encode()
_NONCE_BYTES: Final = 12
_REST: Final = 20
"""Rest per time of writing: a large table that changes all the time must not take the visits' processor time."""


@dataclass(frozen=True, slots=True)
class Copy:
    """A snapshot, and when control last confirmed it (epoch seconds)."""

    records: list[Record]
    revision: int
    confirmed_at: float


class Disk:
    """One gateway process's copy. Writes happen in a thread, at most one every `every_s` seconds."""

    def __init__(self, path: Path, key: bytes, *, every_s: float = 1.0, refresh_s: float = 30.0) -> None:
        """`key` has 32 bytes. `refresh_s`: an unchanged snapshot is written again so often, for its `confirmed_at`."""
        self._path = path
        self._cipher = AESGCM(key)
        self._every_s = every_s
        self._refresh_s = refresh_s
        self._edited = asyncio.Event()

    def load(self) -> Copy | None:
        """The copy, or None when there is none that opens."""
        try:
            sealed = self._path.read_bytes()
            plain = json.loads(self._open(sealed))
            records = [decode_record(kind, record) for kind, record in plain["records"]]
            return Copy(records, int(plain["revision"]), float(plain["confirmed_at"]))
        except FileNotFoundError:
            return None
        except (OSError, InvalidTag, ValueError, KeyError, TypeError) as fault:
            log.warning("the snapshot on disk does not open (%s): waiting for control", type(fault).__name__)
            return None

    def save(self, copy: Copy) -> None:
        """Replaces the copy. Raises OSError when the disk refuses. Blocks: call it in a thread."""
        nonce = os.urandom(_NONCE_BYTES)
        sealed = _HEAD + nonce + self._cipher.encrypt(nonce, _plain(copy), _HEAD)
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh = self._path.with_suffix(".new")
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(sealed)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._path)

    def edited(self) -> None:
        """The table changed: its copy is due."""
        self._edited.set()

    async def keep(self, table: Table) -> None:
        """Writes the table's copy when it is due, until cancelled. A full disk is told in the log and tried again."""
        while True:
            try:
                async with asyncio.timeout(self._refresh_s):
                    await self._edited.wait()
            except TimeoutError:
                pass
            self._edited.clear()
            started = asyncio.get_running_loop().time()
            if table.confirmed_at:
                await self._write(Copy(table.records(), table.revision, table.confirmed_at))
            took_s = asyncio.get_running_loop().time() - started
            await asyncio.sleep(max(self._every_s, _REST * took_s))

    async def _write(self, copy: Copy) -> None:
        try:
            await asyncio.to_thread(self.save, copy)
        except OSError as fault:
            log.warning("the snapshot could not be written to disk: %s", fault.strerror)

    def _open(self, sealed: bytes) -> bytes:
        if not sealed.startswith(_HEAD):
            raise ValueError("another version")
        body = sealed[len(_HEAD) :]
        return self._cipher.decrypt(body[:_NONCE_BYTES], body[_NONCE_BYTES:], _HEAD)


def _plain(copy: Copy) -> bytes:
    records = [(kind_of(record), encode_record(record)) for record in copy.records]
    plain: dict[str, Any] = {"records": records, "revision": copy.revision, "confirmed_at": copy.confirmed_at}
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode()
