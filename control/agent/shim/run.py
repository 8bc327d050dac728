"""From `shim JOB_DIR` to the job's end: detach, launch, keep."""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import socket
import sys
import traceback
from contextlib import suppress
from pathlib import Path

from . import kernel
from .calls import listen
from .clock import now
from .keeper import Keeper
from .launch import launch
from .record import Record, words_of
from .spec import Spec, read_spec


def main(job_dir: Path) -> None:
    """Says "ready" on stdout when it has detached and listens; returns in the caller's process at once."""
    job_dir = job_dir.absolute()
    if not _detach():
        return
    os.umask(0o077)
    os.chdir("/")
    if not _take_over(job_dir):
        os._exit(3)
    record = Record(job_dir, job_dir.name)
    listener = listen(job_dir)
    if not record.write():
        sys.exit("status.json cannot be written")
    with suppress(OSError):  # who started us may be gone already
        os.write(1, b"ready\n")
    _let_go_of_standard_descriptors(job_dir)
    _keep(job_dir, record, listener)
    os._exit(0)


def _keep(job_dir: Path, record: Record, listener: socket.socket) -> None:
    try:
        spec = read_spec(job_dir / "spec.json")
        _prepare(spec)
        launched = launch(spec, job_dir)
    except (OSError, ValueError, KeyError) as fault:
        detail = words_of(fault)
        record.event("Warning", "StartFailed", detail)
        record.write(state="ended", ended_at=now(), cause="launch_failed", detail=detail)
    else:
        for pid in (launched.pid, launched.inner_pid, *launched.companions):
            record.keep(pid)
        try:
            asyncio.run(Keeper(spec, job_dir, launched, record).keep(listener))
        except BaseException:
            traceback.print_exc()
            record.write(state="ended", ended_at=now(), cause="shim_died", detail="the shim failed; see shim.err")
        finally:
            launched.release(job_dir)
    (job_dir / "shim.sock").unlink(missing_ok=True)


def _prepare(spec: Spec) -> None:
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # a job is stopped through its socket, with a grace and a reason
    kernel.adopt_orphans()
    if os.geteuid() == 0 and spec.sandbox.network == "pasta":
        kernel.keep_mounts_to_myself()


def _detach() -> bool:
    """Whether this is the detached process: own session, no parent that could end it."""
    first = os.fork()
    if first:
        os.waitpid(first, 0)
        return False
    os.setsid()
    if os.fork():
        os._exit(0)
    return True


def _take_over(job_dir: Path) -> bool:
    """One shim a job: the lock is held for life."""
    lock = os.open(job_dir / "shim.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _let_go_of_standard_descriptors(job_dir: Path) -> None:
    silence = os.open(os.devnull, os.O_RDWR)
    errors = os.open(job_dir / "shim.err", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    for number, descriptor in enumerate((silence, silence, errors)):
        os.dup2(descriptor, number)
    sys.stdout = sys.stderr
