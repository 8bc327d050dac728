"""A file of sealed frames: made whole, then only grown, and read as far as it holds.

    HEAD, 16 random bytes that name the file, then for each frame: length (4 bytes), nonce (12), AES-256-GCM

Every frame is bound to its file and its place, so that frames can neither be moved nor come from another file. A frame
that does not open ends the file for its reader: after a crash that is the one which was being written.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_NAME_BYTES: Final = 16
_NONCE_BYTES: Final = 12
_LENGTH: Final = struct.Struct(">I")


class SealedFile:
    """One file that is written by one process. Every method blocks: call it in a thread."""

    def __init__(self, path: Path, key: bytes, head: bytes) -> None:
        """`key` has 32 bytes. Files that begin with another `head` are not read."""
        self._path = path
        self._cipher = AESGCM(key)
        self._head = head
        self._name = b""
        self._frames = 0

    def begin(self) -> None:
        """Begins a new file beside the present one, mode 0600. Raises OSError when the disk refuses."""
        self._name, self._frames = os.urandom(_NAME_BYTES), 0
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(self._fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(self._head + self._name)

    def add(self, plain: bytes) -> None:
        """Adds a frame to the new file."""
        with self._fresh.open("ab") as file:
            file.write(self._sealed(plain))

    def finish(self) -> None:
        """Puts the new file in the place of the present one; a crash leaves the older or the newer."""
        with self._fresh.open("rb") as file:
            os.fsync(file.fileno())
        self._fresh.replace(self._path)

    def grow(self, plain: bytes) -> None:
        """Adds a frame to the file in place. Raises OSError when it is gone or the disk refuses: then make it anew."""
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND)
        with os.fdopen(descriptor, "ab") as file:
            file.write(self._sealed(plain))
            file.flush()
            os.fsync(file.fileno())

    def read(self) -> Iterator[bytes]:
        """The frames in order, as far as they open. Raises OSError, or ValueError for another head."""
        sealed = self._path.read_bytes()
        if not sealed.startswith(self._head):
            raise ValueError("another version")
        place = len(self._head) + _NAME_BYTES
        name, number = sealed[len(self._head) : place], 0
        while (frame := _frame(sealed, place)) is not None:
            try:
                plain = self._cipher.decrypt(frame[:_NONCE_BYTES], frame[_NONCE_BYTES:], self._bound(name, number))
            except (InvalidTag, ValueError):
                return
            yield plain
            place, number = place + _LENGTH.size + len(frame), number + 1

    @property
    def _fresh(self) -> Path:
        return self._path.with_suffix(".new")

    def _sealed(self, plain: bytes) -> bytes:
        nonce = os.urandom(_NONCE_BYTES)
        sealed = nonce + self._cipher.encrypt(nonce, plain, self._bound(self._name, self._frames))
        self._frames += 1
        return _LENGTH.pack(len(sealed)) + sealed

    def _bound(self, name: bytes, number: int) -> bytes:
        """What a frame is bound to."""
        return b"%b%b%d" % (self._head, name, number)


def _frame(sealed: bytes, place: int) -> bytes | None:
    """The frame that begins at a place; None when it is not whole."""
    begin = place + _LENGTH.size
    if len(sealed) < begin:
        return None
    (length,) = _LENGTH.unpack(sealed[place:begin])
    return sealed[begin : begin + length] if length and len(sealed) >= begin + length else None
