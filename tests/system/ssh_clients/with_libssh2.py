"""libssh2, as curl, git and many programs have it. `with_libssh2.py PORT USER KEY PASSWORD`; 0 when all was right."""

from __future__ import annotations

import os
import socket
import sys

from ssh2.session import Session
from ssh2.sftp import (
    LIBSSH2_FXF_CREAT,
    LIBSSH2_FXF_READ,
    LIBSSH2_FXF_WRITE,
    LIBSSH2_SFTP_S_IRUSR,
    LIBSSH2_SFTP_S_IWUSR,
)

DATA = os.urandom(500_000)


def main(port: int, user: str, key: str, password: str) -> None:
    """By key and by password."""
    for how in ("key", "password"):
        sock = socket.create_connection(("127.0.0.1", port), 20)
        session = Session()
        session.set_timeout(20_000)
        session.handshake(sock)
        if how == "key":
            session.userauth_publickey_fromfile(user, key, "", f"{key}.pub")
        else:
            session.userauth_password(user, password)
        commands(session)
        files(session)
        terminal(session)
        session.disconnect()
        sock.close()


def commands(session: Session) -> None:
    """Output, standard error and status."""
    for number in range(5):
        channel = session.open_session()
        channel.execute(f"echo out; echo err >&2; exit {number}")
        assert (everything(channel), errors(channel)) == (b"out\n", b"err\n")
        channel.wait_eof()
        channel.close()
        channel.wait_closed()
        assert channel.get_exit_status() == number


def files(session: Session) -> None:
    """sftp both ways."""
    sftp = session.sftp_init()
    mode = LIBSSH2_SFTP_S_IRUSR | LIBSSH2_SFTP_S_IWUSR
    with sftp.open("/tmp/by-libssh2", LIBSSH2_FXF_CREAT | LIBSSH2_FXF_WRITE, mode) as file:
        for start in range(0, len(DATA), 30_000):
            file.write(DATA[start : start + 30_000])
    with sftp.open("/tmp/by-libssh2", LIBSSH2_FXF_READ, 0) as file:
        assert b"".join(part for _, part in file) == DATA
    sftp.unlink("/tmp/by-libssh2")


def terminal(session: Session) -> None:
    """A shell on a terminal."""
    channel = session.open_session()
    channel.pty("xterm")
    channel.shell()
    channel.write("tty >/dev/null && echo a=tty; exit 4\n")
    assert b"a=tty" in everything(channel)
    channel.wait_eof()
    channel.close()
    channel.wait_closed()
    assert channel.get_exit_status() == 4


def everything(channel: object) -> bytes:
    """All that is printed."""
    return _all(channel.read)  # type: ignore[attr-defined]  # the library has no types


def errors(channel: object) -> bytes:
    """All of standard error."""
    return _all(channel.read_stderr)  # type: ignore[attr-defined]


def _all(read: object) -> bytes:
    parts = b""
    while True:
        size, part = read()  # type: ignore[operator]
        if size <= 0:
            return parts
        parts += part


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:5])
