"""Who belongs to a job, and what a signal to a session reaches."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress

import pytest

from control.agent.inner.members import descendants, foreground_group, signal_session

FAMILY = "sleep 1000 & setsid sleep 1000 & echo ready; wait"


@pytest.fixture
def family() -> Iterator[subprocess.Popen[bytes]]:
    """A shell with two children, one of them in a session of its own."""
    with subprocess.Popen(["sh", "-c", FAMILY], stdout=subprocess.PIPE, start_new_session=True) as shell:
        assert shell.stdout is not None
        shell.stdout.readline()
        while len(descendants(shell.pid)) < 2:
            pass
        members = descendants(shell.pid)
        yield shell
        shell.kill()
        for pid in members:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def test_descendants_are_found_whatever_their_session(family: subprocess.Popen[bytes]) -> None:
    """A process that left the session is still a member; strangers are not."""
    found = descendants(os.getpid())
    assert family.pid in found
    assert descendants(family.pid) < found
    assert os.getpid() not in found


def test_without_a_terminal_the_leaders_group_is_reached(family: subprocess.Popen[bytes]) -> None:
    """A session on pipes has no foreground: its own group is meant."""
    assert foreground_group(family.pid) == family.pid
    (stranger,) = (pid for pid in descendants(family.pid) if os.getsid(pid) != family.pid)
    signal_session(family.pid, signal.SIGKILL)
    assert family.wait(10) == -signal.SIGKILL
    os.kill(stranger, 0)  # it was not reached


def test_a_signal_to_the_job_spares_only_the_sender() -> None:
    """Every descendant of the process that sends is reached, those that left its session included."""
    script = f"""
import os, signal, subprocess, time
from control.agent.inner.members import descendants, signal_job

def lives(pid):
    try:
        return open(f"/proc/{{pid}}/stat").read().split()[2] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False

shell = subprocess.Popen(["sh", "-c", {FAMILY!r}], stdout=subprocess.PIPE)
shell.stdout.readline()
while len(family := list(descendants(os.getpid()))) < 3:
    time.sleep(0.01)
signal_job(signal.SIGKILL)
print(shell.wait(), len(family))
while any(map(lives, family)):  # one that was spared is waited for until the test's time is up
    time.sleep(0.01)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=20, check=True)
    assert done.stdout.split() == ["-9", "3"]


def test_a_process_that_is_gone_is_no_fault() -> None:
    """Between the look and the signal anybody may end."""
    with subprocess.Popen(["true"]) as ended:
        ended.wait()
    signal_session(ended.pid, signal.SIGHUP)
    assert foreground_group(ended.pid) == ended.pid
