"""What the job sees of the machine: the bubblewrap command line, and the small files laid over /etc.

The machine's files are there, read-only; the masks are empty; then what is the job's own comes back.
The order is the promise: whatever is bound after a mask is all that can be seen below it.
"""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath
from typing import Final

from .network import resolver_file
from .spec import Spec

AGENT_INSIDE: Final = "/run/starlight/agent"
_AGENT: Final = Path(__file__).resolve().parents[1]
_OPEN_TO_ALL: Final = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - the job's own, empty at its start
_ETC: Final = ("passwd", "group", "hosts", "resolv.conf")
_SHELLS: Final = ("/bin/bash", "/bin/sh")


def inner_command(spec: Spec, control_fd: int, *, as_root: bool) -> list[str]:
    """The command line that becomes the job's first process, from dropping root's rights on."""
    agent = AGENT_INSIDE if spec.sandbox.isolation == "full" else str(_AGENT)
    inner = [spec.sandbox.python, "-I", "-S", agent, "inner", str(control_fd)]
    return [*_without_rights(spec.uid, as_root=as_root), *inner]


def sandbox_command(spec: Spec, etc: Path, command: list[str], *, as_root: bool) -> list[str]:
    """The bubblewrap command line around `command`; `etc` is the directory that `write_etc` filled."""
    masks = [*outermost((*spec.sandbox.masks, "/run")), *_OPEN_TO_ALL]
    options = ["--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev"]
    for mask in masks:
        options += ["--perms", "1777" if mask in _OPEN_TO_ALL else "0755", "--tmpfs", mask]
    options += [*_way_to(str(spec.home), masks), "--bind", str(spec.home), str(spec.home)]
    shown = {path: path for path in (*spec.readonly, *filter(None, [spec.sandbox.python_home]))}
    shown |= {AGENT_INSIDE: str(_AGENT)} | {os.path.realpath(f"/etc/{name}"): str(etc / name) for name in _ETC}
    for path, source in shown.items():
        options += [*_way_to(path, masks), "--ro-bind", source, path]
    options += ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--hostname", spec.job]
    options += ["--new-session", "--die-with-parent", "--as-pid-1", "--chdir", "/", "--cap-drop", "ALL"]
    if as_root:  # what setpriv needs to give everything up; it is the next program in this process
        options += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_SETPCAP"]
    else:
        options += ["--unshare-user"]
    return ["bwrap", *options, "--", *command]


def outermost(masks: tuple[str, ...]) -> list[str]:
    """The existing directories among `masks` that lie below no other one, links resolved."""
    real = sorted({os.path.realpath(mask) for mask in masks if Path(mask).is_dir()} - set(_OPEN_TO_ALL))
    return [
        path for path in real if not any(PurePosixPath(path).is_relative_to(other) for other in real if other != path)
    ]


def _way_to(path: str, masks: list[str]) -> list[str]:
    """Makes the directories between a mask and what comes back below it: bwrap would close them to all but root."""
    above = next((mask for mask in masks if PurePosixPath(path).is_relative_to(mask)), path)
    steps = [str(parent) for parent in reversed(PurePosixPath(path).parents) if parent.is_relative_to(above)]
    return [word for step in steps if step != above for word in ("--perms", "0755", "--dir", step)]


def write_etc(spec: Spec, etc: Path, uid: int, gid: int) -> None:
    """Writes the files that make the person known inside: names, hosts, and a resolver that works."""
    etc.mkdir(exist_ok=True)
    person = f"{spec.owner}:x:{uid}:{gid}:{spec.owner}:{spec.home}:{login_shell()}"
    group = f"{spec.owner}:x:{gid}:"
    names = {
        "passwd": _with_line("/etc/passwd", person, uid),
        "group": _with_line("/etc/group", group, gid),
        "hosts": f"127.0.0.1 localhost {spec.job}\n::1 localhost ip6-localhost ip6-loopback {spec.job}\n",
        "resolv.conf": resolver_file(spec.sandbox.network),
    }
    for name, text in names.items():
        path = etc / name
        path.write_text(text, encoding="utf-8")
        path.chmod(0o644)


def login_shell() -> str:
    """The shell that people get."""
    return next((shell for shell in _SHELLS if os.access(shell, os.X_OK)), _SHELLS[-1])


def _with_line(path: str, line: str, number: int) -> str:
    # The first match counts when a number or a name is looked up: ours goes before any other of the same.
    name = line.partition(":")[0]
    try:
        others = Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        others = []
    kept = [other for other in others if other.split(":")[:1] != [name] and other.split(":")[2:3] != [str(number)]]
    return "\n".join([line, *kept]) + "\n"


def _without_rights(uid: int | None, *, as_root: bool) -> list[str]:
    drop = ["setpriv", "--no-new-privs", "--inh-caps=-all", "--ambient-caps=-all"]
    if as_root:
        assert uid, "a job started by root has a person's uid"
        drop += ["--bounding-set=-all", "--reuid", str(uid), "--regid", str(uid), "--clear-groups"]
    return [*drop, "--"]
