"""Files: scp by both protocols, sftp, rsync, git; names of any bytes."""

from __future__ import annotations

import asyncio
import hashlib
import os
import time
from pathlib import Path

from tests.system.ssh_conformance.cases import Cases
from tests.system.ssh_conformance.target import Done, Target, run

FILES = Cases()
NAME = "数据 é 🚀 (1).txt"


def blob(target: Target, size: int, name: str = "blob") -> Path:
    """A file of this side."""
    path = target.scratch / name
    path.write_bytes(os.urandom(size))
    return path


def remote(target: Target) -> str:
    """A fresh directory of the server's side."""
    return target.ssh("mktemp -d").out.decode().strip()


def scp(target: Target, *words: object, flags: tuple[str, ...] = ()) -> Done:
    """Runs scp; a word that begins with a colon is a path of the server's side."""
    named = [f"{target.where}{word}" if str(word).startswith(":") else str(word) for word in words]
    return run(["scp", *flags, *target.options("-P"), *named])


def sftp(target: Target, batch: str, *, deadline_s: float = 60.0) -> Done:
    """Runs sftp with these commands, ending at the first that fails."""
    return run(["sftp", *target.options("-P"), "-b", "-", target.where], stdin=batch.encode(), deadline_s=deadline_s)


def shell(target: Target) -> str:
    """The ssh that rsync and git are to use."""
    return " ".join(["ssh", *target.options()])


def same(target: Target, path: Path, there: str) -> bool:
    """Whether the two files hold the same."""
    there_sum = target.ssh(f"sha256sum < '{there}'").out.split()[0].decode()
    return hashlib.sha256(path.read_bytes()).hexdigest() == there_sum


@FILES.case()
def scp_ends_well_both_ways_by_both_protocols(target: Target) -> None:
    """B18: status 0 and the same bytes, by sftp and by the old protocol."""
    source, place = blob(target, 3_000_000), remote(target)
    for flags in ((), ("-O",)):
        assert scp(target, source, f":{place}/there", flags=flags).status == 0
        assert scp(target, f":{place}/there", target.scratch / "back", flags=flags).status == 0
        assert (target.scratch / "back").read_bytes() == source.read_bytes()


@FILES.case()
def sftp_says_goodbye_at_once_and_failure_truly(target: Target) -> None:
    """B19, B20: `bye` as the only word of a fresh connection ends with 0 within two seconds; a bad get with 1."""
    began = time.monotonic()
    assert sftp(target, "bye\n", deadline_s=15).status == 0
    assert time.monotonic() - began < 5
    assert sftp(target, "get /no/such/file\n").status == 1


@FILES.case(heavy=True)
def a_large_file_arrives(target: Target) -> None:
    """B22: two hundred megabytes and their checksum."""
    source, place = blob(target, 200_000_000, "large"), remote(target)
    assert scp(target, source, f":{place}/large").status == 0
    assert same(target, source, f"{place}/large")
    target.ssh(f"rm -rf {place}")
    source.unlink()


@FILES.case()
def files_go_while_a_shell_is_open(target: Target) -> None:
    """B23: as MobaXterm's browser does: over a second connection, and over a second channel of the first."""
    source, place = blob(target, 1_000_000), remote(target)
    with target.started("cat") as open_shell, target.master() as shared:
        assert sftp(target, f'put "{source}" {place}/by-connection\n').status == 0
        over = ["sftp", *target.options("-P"), "-o", f"ControlPath={shared.flags[1]}", "-b", "-", target.where]
        assert run(over, stdin=f'put "{source}" {place}/by-channel\n'.encode()).status == 0
        assert same(target, source, f"{place}/by-connection")
        assert same(target, source, f"{place}/by-channel")
        assert open_shell.poll() is None


@FILES.case()
def names_of_any_script_and_any_bytes(target: Target) -> None:
    """B24: Chinese, accents, emoji, spaces by both protocols; bytes that are no UTF-8 by sftp."""
    source, place = blob(target, 1000, NAME), remote(target)
    assert scp(target, source, f":{place}/").status == 0
    assert target.ssh(f"ls {place}").out.decode().strip() == NAME
    assert scp(target, source, f":{place}/", flags=("-O",)).status == 0

    async def judge() -> None:
        async with target.asyncssh() as client, client.start_sftp_client(path_encoding=None) as files:
            name = os.fsencode(place) + b"/\xe9\xff"
            async with files.open(name, "wb") as writing:
                await writing.write(b"x")
            assert b"\xe9\xff" in await files.listdir(os.fsencode(place))

    asyncio.run(judge())


@FILES.case(heavy=True)
def a_large_tree_arrives_with_status_0(target: Target) -> None:
    """B25: two thousand files and a hundred megabytes by `scp -r`."""
    tree, place = target.scratch / "tree", remote(target)
    for number in range(2000):
        (tree / str(number % 40)).mkdir(parents=True, exist_ok=True)
        (tree / str(number % 40) / str(number)).write_bytes(b"x" * 50_000)
    assert scp(target, tree, f":{place}/", flags=("-r",)).status == 0
    assert target.ssh(f"find {place} -type f | wc -l; rm -rf {place}").out.split() == [b"2000"]


@FILES.case()
def rsync_copies_both_ways(target: Target) -> None:
    """A tree there and back, and only what changed the second time."""
    source, place = blob(target, 2_000_000), remote(target)
    there = f"{target.where}:{place}/x"
    for _ in range(2):
        assert run(["rsync", "-a", "-e", shell(target), str(source), there]).status == 0
    assert run(["rsync", "-a", "-e", shell(target), there, str(target.scratch / "rsynced")]).status == 0
    assert (target.scratch / "rsynced").read_bytes() == source.read_bytes()


@FILES.case()
def git_clones_and_pushes(target: Target) -> None:
    """B27: protocol version 2 included, whose variable must pass."""
    place = remote(target)
    assert target.ssh(f"git init -q --bare {place}/g.git").status == 0
    here, env = target.scratch / "clone", {"GIT_SSH_COMMAND": shell(target), "GIT_PROTOCOL": "version=2"}
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    url = f"{target.where}:{place}/g.git"
    assert run(["git", "clone", "-q", url, str(here)], env=env).status == 0
    (here / "f").write_bytes(os.urandom(500_000))
    for words in (["add", "f"], ["commit", "-qm", "one"], ["push", "-q", "origin", "HEAD:refs/heads/one"]):
        done = run(["git", *identity, *words], env=env, cwd=here)
        assert done.status == 0, done
    again = run(["git", "clone", "-q", "-b", "one", url, str(target.scratch / "again")], env=env)
    assert again.status == 0, again
    assert (target.scratch / "again" / "f").read_bytes() == (here / "f").read_bytes()
