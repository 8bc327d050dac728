"""Brings a job's first process to life: namespaces, network, filter, sandbox, rights, in that order.

All of it happens before the shim's loop runs and before the job's command starts: there is no
moment at which the command could use what it must not.

  child  new network namespace, loopback up, proxy listener  -> tells the shim, waits
  shim   pasta, output filter, cgroup                        -> "go"
  child  becomes bwrap -> setpriv -> the inner half
"""

from __future__ import annotations

import os
import signal
import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from . import kernel, network
from .limits import (
    Cgroup,
    be_ended_first_out_of_memory,
    cgroup_name,
    limit_memory_of_each_process,
    limit_processes_of_the_person,
)
from .neighbours import forbidden, own_addresses
from .outlet import fork_outlet
from .record import words_of
from .sandbox import inner_command, sandbox_command, write_etc
from .spec import Spec

_READY_S: Final = 15
_CREDENTIALS: Final = struct.Struct("3i")
_SO_PASSCRED: Final = 16
_SCM_CREDENTIALS: Final = 2


@dataclass
class Launched:
    """A job's first process and what belongs to it. `pid` is our child, `inner_pid` the process that answers.

    `companions` serve its network from outside; `addresses` are its network namespace's own.
    """

    pid: int
    control: socket.socket
    cgroup: Cgroup
    inner_pid: int = 0
    inner_handle: int | None = None
    namespace: int | None = None
    proxy: str | None = None
    addresses: tuple[str, ...] = ()
    companions: list[int] = field(default_factory=list)

    def kill(self) -> None:
        """Ends the inner half, and with its pid namespace the job. By its handle: a number may be another's by now."""
        if self.inner_handle is not None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.inner_handle, signal.SIGKILL)

    def release(self, job_dir: Path) -> None:
        """Ends what furnished the job's network, closes what is open, gives back its cgroups."""
        for pid in self.companions:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        with suppress(OSError):
            kernel.unbind(job_dir / "netns")
        (job_dir / "netns").unlink(missing_ok=True)
        self.control.close()
        for descriptor in filter(None, (self.namespace, self.inner_handle)):
            os.close(descriptor)
        self.namespace = self.inner_handle = None
        self.cgroup.remove()


def launch(spec: Spec, job_dir: Path) -> Launched:
    """Starts the inner half. Raises OSError with a sentence when some part of it cannot be had."""
    as_root = os.geteuid() == 0
    uid, gid = (spec.uid, spec.uid) if as_root and spec.uid else (os.getuid(), os.getgid())
    write_etc(spec, job_dir / "etc", uid, gid)
    cgroup = Cgroup(cgroup_name(job_dir), spec.limits)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    pid = os.fork()
    if pid == 0:
        ours.close()
        _become_job(spec, job_dir, theirs, cgroup, uid, gid)
    theirs.close()
    ours.settimeout(_READY_S)
    launched = Launched(pid, ours, cgroup)
    try:
        _furnish(spec, job_dir, launched)
    except (OSError, ValueError) as fault:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        launched.release(job_dir)
        words = (job_dir / "sandbox.err").read_text(encoding="utf-8", errors="replace").strip()[-400:]
        raise OSError(words or words_of(fault)) from fault
    return launched


def _furnish(spec: Spec, job_dir: Path, launched: Launched) -> None:
    if spec.sandbox.network != "none":
        message, descriptors, _, _ = socket.recv_fds(launched.control, 100, 2)
        if message != b"network" or not descriptors:
            raise ConnectionError("the network namespace could not be made")
        launched.namespace = descriptors[0]
        if spec.sandbox.network == "pasta":
            _attach(job_dir, launched, launched.namespace)
        else:
            with socket.socket(fileno=descriptors[1]) as listener:
                launched.proxy = "http://{}:{}".format(*listener.getsockname())
                launched.companions.append(fork_outlet(listener, spec.uid if os.geteuid() == 0 else None))
    launched.control.setsockopt(socket.SOL_SOCKET, _SO_PASSCRED, 1)
    launched.control.send(b"go")
    launched.inner_pid = _await_ready(launched.control)
    launched.inner_handle = os.pidfd_open(launched.inner_pid)


def _attach(job_dir: Path, launched: Launched, namespace: int) -> None:
    # pasta wants a path and may not look into our /proc/PID/fd; it ends by itself when the path goes.
    path = job_dir / "netns"
    path.touch()
    kernel.bind(Path(f"/proc/{launched.pid}/ns/net"), path)
    launched.companions.append(network.attach_pasta(path, job_dir / "pasta.pid"))
    network.apply_filter(namespace, forbidden())
    launched.addresses = _addresses_in(namespace)


def _addresses_in(namespace: int) -> tuple[str, ...]:
    """The namespace's own addresses: an app may listen on one of them and not on loopback."""
    told, telling = os.pipe()
    pid = os.fork()
    if pid == 0:
        with suppress(OSError):
            kernel.setns(namespace, kernel.CLONE_NEWNET)
            usable = [str(a) for a in own_addresses() if not a.is_loopback and not a.is_link_local]
            os.write(telling, " ".join(usable).encode())
        os._exit(0)
    os.close(telling)
    with os.fdopen(told, encoding="ascii") as pipe:
        found = tuple(pipe.read().split())
    os.waitpid(pid, 0)
    return found


def _await_ready(control: socket.socket) -> int:
    """The pid, in our own pid namespace, of whoever says it is ready: the kernel fills it in."""
    message, ancillary, _, _ = control.recvmsg(1000, socket.CMSG_SPACE(_CREDENTIALS.size))
    if not message.startswith(b'{"ready"'):
        raise ConnectionError("the job's first process did not come up")
    control.setsockopt(socket.SOL_SOCKET, _SO_PASSCRED, 0)  # it would crowd out descriptors later
    for _, kind, data in ancillary:
        if kind == _SCM_CREDENTIALS:
            pid: int = _CREDENTIALS.unpack(data[: _CREDENTIALS.size])[0]
            return pid
    raise ConnectionError("the kernel did not say who is ready")


def _become_job(spec: Spec, job_dir: Path, control: socket.socket, cgroup: Cgroup, uid: int, gid: int) -> None:
    try:
        errors = os.open(job_dir / "sandbox.err", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(errors, 2)
        os.dup2(os.open(os.devnull, os.O_RDWR), 0)
        os.dup2(0, 1)
        _step(lambda: _enter(spec, job_dir, control, cgroup, uid, gid))
    finally:
        os._exit(127)


def _step(work: Callable[[], None]) -> None:
    try:
        work()
    except OSError as fault:
        os.write(2, f"{words_of(fault)}\n".encode())


def _enter(spec: Spec, job_dir: Path, control: socket.socket, cgroup: Cgroup, uid: int, gid: int) -> None:
    as_root = os.geteuid() == 0
    if spec.sandbox.isolation == "full":  # without a pid namespace the inner half must live to end the others
        kernel.die_with_parent(signal.SIGKILL)
    os.umask(0o022)  # bwrap makes the way to what it binds, and the job must be able to walk it
    be_ended_first_out_of_memory()
    cgroup.join()
    if spec.limits.memory_bytes and "memory" not in cgroup.held:
        limit_memory_of_each_process(spec.limits.memory_bytes)
    if spec.sandbox.network != "none":
        network.enter_new(uid, gid, as_root=as_root)
        _report_network(control, with_proxy=spec.sandbox.network == "loopback")
        if spec.limits.processes and "processes" not in cgroup.held:
            limit_processes_of_the_person(spec.limits.processes)
    if control.recv(10) != b"go":
        return
    control.set_inheritable(True)
    command = inner_command(spec, control.fileno(), as_root=as_root)
    if spec.sandbox.isolation == "full":
        command = sandbox_command(spec, job_dir / "etc", command, as_root=as_root)
    os.execve(  # noqa: S606 - a list of words, no shell
        network.find(command[0]), command, {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"}
    )


def _report_network(control: socket.socket, *, with_proxy: bool) -> None:
    namespace = os.open("/proc/self/ns/net", os.O_RDONLY)
    descriptors = [namespace]
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        if with_proxy:
            listener.bind(("127.0.0.1", 0))
            listener.listen(64)
            descriptors.append(listener.fileno())
        socket.send_fds(control, [b"network"], descriptors)
