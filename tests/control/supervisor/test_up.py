"""`starlight up` as a program: real workers, killed, drained and replaced while clients come."""

from __future__ import annotations

import os
import select
import signal
import socket
import time
from pathlib import Path

import pytest

from control.supervisor.locks import is_supervised
from tests.control.supervisor.running import instance

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="uids of their own need root")


def gone(pid: int, within_s: float = 15) -> bool:
    """Whether the process has ended, waiting for it."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], within_s)[0])
    finally:
        os.close(descriptor)


def test_every_worker_serves_and_the_banner_tells_where(tmp_path: Path) -> None:
    """Ready is told when all workers said so; pid files name them; clients are answered."""
    with instance(tmp_path / "data") as running:
        running.wait_for("Starlight Gateway is ready.")
        running.wait_for(f"http://127.0.0.1:{running.ports['CONSOLE']}")
        running.wait_for(f"first password in {tmp_path}/data/admin-password")
        running.wait_for("update-ca-certificates")
        assert running.pid("supervisor") == running.process.pid
        name, pid, _ = running.ask()
        assert running.pid(name) == int(pid)
        assert running.ask_control()[0] == "control"
    assert running.process.returncode == 0
    assert not list((tmp_path / "data" / "run").glob("*.pid"))


def test_a_killed_worker_is_replaced_and_no_client_is_refused(tmp_path: Path) -> None:
    """kill -9 of a role's only worker: a client that comes meanwhile waits in the backlog and is answered."""
    with instance(tmp_path / "data") as running:
        running.wait_for("ready.")
        before = running.ask_control()[1]
        running.kill("control")
        name, after, _ = running.ask_control()
        assert (name, after == before) == ("control", False)
        running.wait_for("control ended after")
        running.wait_for("signal SIGKILL")


def test_siblings_accept_for_a_stopped_worker(tmp_path: Path) -> None:
    """Both web workers hold the one listener: with one stopped, the other takes every client."""
    with instance(tmp_path / "data") as running:
        running.wait_for("ready.")
        running.kill("web-0", signal.SIGSTOP)
        assert {running.ask()[0] for _ in range(20)} == {"web-1"}
        running.kill("web-0", signal.SIGCONT)


def test_workers_end_when_the_supervisor_is_killed_and_the_next_start_takes_over(tmp_path: Path) -> None:
    """The lifeline breaks, the workers go, and a start at once afterwards waits for them by the lock."""
    data = tmp_path / "data"
    with instance(data) as first:
        first.wait_for("ready.")
        old = [first.pid(name) for name in ("control", "web-0", "web-1")]
        first.kill("supervisor")
        with instance(data, ports=first.ports) as second:
            second.wait_for("ready.")
            assert all(gone(pid, 0) for pid in old)
            assert int(second.ask()[1]) not in old


def test_a_worker_that_hangs_after_the_supervisor_is_killed(tmp_path: Path) -> None:
    """A stopped process cannot see its lifeline break: the next start kills it rather than wait for ever."""
    data = tmp_path / "data"
    with instance(data) as first:
        first.wait_for("ready.")
        stopped = first.pid("control")
        first.kill("control", signal.SIGSTOP)
        first.kill("supervisor")
        with instance(data, ports=first.ports) as second:
            second.wait_for("waiting for the workers of an earlier start")
            second.wait_for(f"killing pid {stopped}", within_s=30)
            second.wait_for("ready.")


def test_a_second_instance_on_the_same_data_is_refused(tmp_path: Path) -> None:
    """One supervisor a data directory; the sentence names the one that runs."""
    with instance(tmp_path / "data") as first:
        first.wait_for("ready.")
        with instance(tmp_path / "data") as second:
            assert second.process.wait(20) == 1
            second.wait_for(f"already runs on {tmp_path}/data (pid {first.process.pid})")
        assert first.ask()


def test_two_instances_run_side_by_side(tmp_path: Path) -> None:
    """Other ports and another data directory make another platform."""
    with instance(tmp_path / "one") as one, instance(tmp_path / "two") as two:
        one.wait_for("ready.")
        two.wait_for("ready.")
        assert one.ask()[1] != two.ask()[1]


def test_busy_ports_are_all_named_with_their_holder(tmp_path: Path) -> None:
    """Two ports taken: both are told, with who holds them and which setting changes them."""
    with socket.create_server(("127.0.0.1", 0)) as held, instance(tmp_path / "seed") as seed:
        seed.wait_for("ready.")
        ports = {**seed.ports, "HTTP": held.getsockname()[1]}
        with instance(tmp_path / "data", ports=ports) as refused:
            assert refused.process.wait(20) == 1
            refused.wait_for(f"port {ports['HTTP']} is taken by ")
            refused.wait_for(f"(pid {os.getpid()}). STARLIGHT_HTTP_PORT sets another")
            refused.wait_for(f"port {ports['SSH']} is taken by")
        assert not is_supervised(tmp_path / "data" / "run")


def test_a_worker_that_will_not_drain_is_killed(tmp_path: Path) -> None:
    """SIGTERM gives 10 s, not more; a second signal does not wait for them."""
    with instance(tmp_path / "data", "stubborn") as running:
        running.wait_for("ready.")
        running.process.terminate()
        running.wait_for("SIGTERM: draining")
        time.sleep(1.1)  # a signal sent twice at once (to a group, and by make) counts as one
        began = time.monotonic()
        running.process.send_signal(signal.SIGINT)
        assert running.process.wait(20) == 0
        assert time.monotonic() - began < 5
        running.wait_for("did not end in time: killed", count=3)


def test_a_crashing_worker_is_restarted_ever_more_slowly(tmp_path: Path) -> None:
    """Each crash is one line; the platform goes on trying and can still be stopped at once."""
    with instance(tmp_path / "data", "crash") as running:
        running.wait_for("web-0 ended after", count=3)
        running.wait_for("exit status 3; starting it again", count=6)
        running.process.terminate()
        assert running.process.wait(10) == 0


@as_root
def test_workers_have_uids_of_their_own_and_reach_hidden_folders(tmp_path: Path) -> None:
    """Below a 0700 folder the workers still find program and data, under their own uids."""
    hidden = tmp_path / "closed"
    hidden.mkdir(mode=0o700)
    with instance(hidden / "data") as running:
        running.wait_for("ready.")
        running.wait_for("is closed to other users")
        control_uid, gateway_uid = int(running.ask_control()[2]), int(running.ask()[2])
        assert len({0, control_uid, gateway_uid}) == 3
        status = Path(f"/proc/{running.pid('web-0')}/status").read_text()
        assert "CapEff:\t0000000000000000" in status
        assert "CapBnd:\t0000000000000000" in status
        assert "NoNewPrivs:\t1" in status


@as_root
def test_an_unusable_uid_base_is_refused(tmp_path: Path) -> None:
    """A base that the machine's uid map does not hold is told as such."""
    with instance(tmp_path / "data", extra={"STARLIGHT_UID_BASE": "4294967290"}) as running:
        assert running.process.wait(20) == 1
        running.wait_for("STARLIGHT_UID_BASE=4294967290")
