"""Two people's jobs on one machine, one of them hostile: what it tries against the other, the platform and the machine.

Run as root with outbound access, as root where no tun device opens, and as a normal user. Each attempt
is first shown to be a real one: what is out of reach from the job is there, and answers, from outside.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio

from control.agent.shim.neighbours import own_addresses
from gateway.contract.bridge import Fault, Verb
from tests.control.bridge.running import ORDINARY_UID, Bridge, running_bridge

pytestmark = pytest.mark.asyncio(loop_scope="module")
ROOT = os.geteuid() == 0
WITHOUT_TUN = ("unshare", "-m", "sh", "-c", 'mount --bind /dev/null /dev/net/tun && exec "$@"', "sh")
STARTERS = {
    "root": (None, ()),
    "root-without-tun": (None, WITHOUT_TUN),
    "normal-user": (ORDINARY_UID, ()),
}
VICTIM_PORT = 8000
SECRET = "the-other-person's-secret"


@dataclass(frozen=True)
class Scene:
    """A bridge with the victim's job (person 1) and the attacker's (person 2)."""

    bridge: Bridge
    network: str

    async def attack(self, script: str) -> str:
        """What the attacker's job prints when it runs the shell script: both outputs."""
        output, _ = await self.bridge.run("attacker-1", script)
        return output.decode(errors="replace")

    async def dial(self, host: str, port: int) -> str:
        """What becomes of a plain TCP connection from the attacker's job."""
        return await self.attack(f"python3 -c {shlex.quote(DIAL)} {host} {port}")


DIAL = """
import socket, sys
try:
    with socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=3):
        print("CONNECTED")
except OSError as fault:
    print("no:", fault)
"""


DIAL_BY_PROXY = """
import os, socket, sys, urllib.parse
proxy = urllib.parse.urlsplit(os.environ["https_proxy"])
with socket.create_connection((proxy.hostname, proxy.port), timeout=10) as sock:
    sock.sendall(f"CONNECT {sys.argv[1]} HTTP/1.1\\r\\n\\r\\n".encode())
    print(sock.recv(100).decode())
"""


@pytest_asyncio.fixture(params=list(STARTERS) if ROOT else ["normal-user"], scope="module", loop_scope="module")
async def scene(request: pytest.FixtureRequest) -> AsyncIterator[Scene]:
    """Both jobs run; the victim serves a page and holds a secret, the platform's own files lie where they do."""
    uid, wrapper = STARTERS[request.param] if ROOT else (None, ())
    async with running_bridge(uid, wrapper) as bridge:
        _place_the_platforms_files(bridge)
        capabilities, _ = await bridge.ask(Verb.CAPABILITIES, "local")
        assert capabilities.result["isolation"] == "full", capabilities.result
        serve = f"echo {shlex.quote(SECRET)} > ~/secret; exec python3 -m http.server {VICTIM_PORT}"
        await bridge.submit("victim-1", ["sh", "-c", serve], person=1)
        await bridge.submit("attacker-1", ["sleep", "1000"], person=2)
        await bridge.running("attacker-1")
        async with asyncio.timeout(20):
            while (served := await bridge.ask(Verb.CONNECT, "victim-1", port=VICTIM_PORT))[0].fault is not None:
                await asyncio.sleep(0.05)
        os.close(served[1][0])
        yield Scene(bridge, capabilities.result["network"])


def _place_the_platforms_files(bridge: Bridge) -> None:
    data = bridge.data_dir
    (data / "control").mkdir()
    for path in (data / "admin-password", data / "feed.key", data / "control/starlight.db"):
        path.write_text(SECRET)
        path.chmod(0o600)
    if bridge.uid is not None:
        for path in (data / "control", data / "admin-password", data / "feed.key", data / "control/starlight.db"):
            os.chown(path, bridge.uid, bridge.uid)


async def test_the_network_is_the_one_expected(scene: Scene, request: pytest.FixtureRequest) -> None:
    """Root with a tun device gets outbound access through pasta; everyone else the proxy."""
    expected = "pasta" if "root]" in request.node.name else "loopback"
    assert scene.network == expected


async def test_the_others_port_is_out_of_reach(scene: Scene) -> None:
    """Not by loopback, and not by any address that the machine or the namespaces have."""
    for address in ("127.0.0.1", "::1", "0.0.0.0", "localhost", *map(str, own_addresses())):
        assert "CONNECTED" not in await scene.dial(address.partition("%")[0], VICTIM_PORT)


async def test_an_entry_onto_the_others_port_is_refused(scene: Scene) -> None:
    """The gateway asks for the attacker's job; the victim's listener is not in it."""
    reply, _ = await scene.bridge.ask(Verb.CONNECT, "attacker-1", port=VICTIM_PORT)
    assert reply.fault is Fault.NOT_LISTENING
    served, descriptors = await scene.bridge.ask(Verb.CONNECT, "victim-1", port=VICTIM_PORT)
    assert served.fault is None
    os.close(descriptors[0])


async def test_the_others_files_are_not_there(scene: Scene) -> None:
    """The other's home is not even visible; one's own is, and holds."""
    homes = scene.bridge.data_dir / "homes"
    assert (homes / "user1/secret").read_text().strip() == SECRET
    said = await scene.attack(f"ls {homes}; cat {homes}/user1/secret; echo mine > ~/own; cat ~/own; ls {homes}/user1")
    assert SECRET not in said
    assert said.splitlines()[0] == "user2"
    assert "mine" in said


async def test_a_link_planted_in_the_home_leads_nowhere(scene: Scene) -> None:
    """The work directory of the next job is made as the person, through no link."""
    target = scene.bridge.data_dir / "planted"
    await scene.attack(f"rm -rf ~/jobs; ln -s {target} ~/jobs")
    reply = await scene.bridge.submit("planted-1", ["true"], person=2)
    assert reply.fault is Fault.FAILED
    assert not target.exists()
    await scene.attack("rm ~/jobs; mkdir -p ~/jobs/attacker-1")


async def test_the_others_processes_cannot_be_seen_or_signalled(scene: Scene) -> None:
    """An own pid namespace: there is nobody else in it."""
    victim = scene.bridge.keepers("victim-1")[-1]["pid"]
    said = await scene.attack(f"kill -9 {victim}; ls /proc | grep -c '^[0-9]'; ps axo args")
    assert "http.server" not in said
    await scene.bridge.submit("wild-1", ["sh", "-c", "kill -9 -1"], person=2)
    await scene.bridge.ended("wild-1")
    assert (await scene.bridge.state("victim-1"))["state"] == "running"
    await scene.attack("kill -STOP 1; kill -9 1; true")
    assert (await scene.attack("echo still")).strip() == "still"


async def test_the_first_process_cannot_be_traced(scene: Scene) -> None:
    """It has the job's uid, but its memory and descriptors are closed to the job."""
    said = await scene.attack("ls /proc/1/fd; cat /proc/1/environ; head -c1 /proc/1/mem; echo end")
    assert said.count("denied") >= 2, said


async def test_the_platforms_sockets_are_out_of_reach(scene: Scene) -> None:
    """Neither by path nor by guessing: the data directory is empty but for the own home."""
    data = scene.bridge.data_dir
    assert (data / "run/supervisor.sock").exists()
    said = await scene.attack(f"ls -A {data} {data}/run {data}/bridge; find / -xdev -name '*.sock' 2>/dev/null | head")
    assert "supervisor.sock" not in said
    assert "shim.sock" not in said
    dial = "import socket; socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect('{}'); print('CONNECTED')"
    for path in (data / "run/bridge-local.sock", data / "bridge/jobs/victim-1/shim.sock"):
        assert "CONNECTED" not in await scene.attack(f"python3 -c {shlex.quote(dial.format(path))}")


async def test_abstract_sockets_of_the_machine_are_out_of_reach(scene: Scene) -> None:
    """They belong to a network namespace, and the job has its own."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("\0starlight-isolation-test")
        listener.listen()
        dial = "import socket; socket.socket(socket.AF_UNIX).connect('\\0starlight-isolation-test'); print('CONNECTED')"
        assert "CONNECTED" not in await scene.attack(f"python3 -c {shlex.quote(dial)}")


@pytest.mark.parametrize(
    "path", ["admin-password", "feed.key", "control/starlight.db", "bridge/jobs/victim-1/spec.json"]
)
async def test_the_platforms_secrets_cannot_be_read(scene: Scene, path: str) -> None:
    """Neither read, nor replaced."""
    file = scene.bridge.data_dir / path
    before = file.read_bytes()
    said = await scene.attack(f"cat {file}; echo evil > {file}; mv ~/own {file}; echo end")
    assert SECRET not in said
    assert file.read_bytes() == before


async def test_the_jobs_own_record_cannot_be_forged(scene: Scene) -> None:
    """Status, events and log lie outside what the job can write."""
    job_dir = scene.bridge.data_dir / "bridge/jobs/attacker-1"
    await scene.attack(f"mkdir -p {job_dir}; echo '{{}}' > {job_dir}/status.json")
    assert (await scene.bridge.state("attacker-1"))["state"] == "running"


async def test_the_checkout_and_its_settings_are_masked(scene: Scene) -> None:
    """The program's own directory looks empty from inside, or is not there where a folder above it is masked."""
    checkout = Path(__file__).parents[2]
    assert (await scene.attack(f"ls -A {checkout} 2>/dev/null; echo looked")).strip() == "looked"


async def test_other_peoples_places_are_masked(scene: Scene) -> None:
    """Root's home, people's homes, /run and /tmp are empty, and the machine's files cannot be written."""
    marker = Path("/tmp/starlight-isolation-marker")
    marker.write_text(SECRET)
    try:
        said = await scene.attack("ls -A /root /home /tmp /var/tmp/..; cat /tmp/starlight-isolation-marker; ls /run")
        assert SECRET not in said
        refused = await scene.attack("touch /etc/x /usr/x /x; echo x >> /etc/passwd; echo 1 > /proc/sys/kernel/panic")
        assert "Read-only" in refused
        assert not Path("/etc/x").exists()
    finally:
        marker.unlink()


async def test_no_rights_at_all(scene: Scene) -> None:
    """No capability in any set, no way to gain one, and not root's uid."""
    said = await scene.attack("grep -E '^(Cap|NoNewPrivs)' /proc/self/status; id -u")
    words = dict(line.split(":\t") for line in said.splitlines() if ":" in line)
    assert {name: int(value, 16) for name, value in words.items() if name.startswith("Cap")} == dict.fromkeys(
        ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"), 0
    )
    assert words["NoNewPrivs"] == "1"
    assert said.splitlines()[-1] != "0"


async def test_setuid_programs_give_nothing(scene: Scene) -> None:
    """Neither the machine's own nor one that the job makes."""
    own = "cp /usr/bin/id ~/id; chmod 4755 ~/id; ~/id -u"
    said = await scene.attack(f"{own}; su -c 'id -u' < /dev/null; mount -t tmpfs x /tmp; mknod /tmp/n b 8 0")
    assert "0" not in said.splitlines(), said
    assert (await scene.attack("test -b /tmp/n && echo made")).strip() == ""


async def test_an_own_user_namespace_does_not_lift_the_masks(scene: Scene) -> None:
    """Root of a namespace of its own making: the masks came from outside and stay on."""
    data = scene.bridge.data_dir
    said = await scene.attack(
        f"unshare -Urm sh -c 'umount {data}; umount -l {data}; cat {data}/admin-password; ls {data}'"
    )
    assert SECRET not in said
    escape = f"unshare -Urm sh -c 'mkdir -p /tmp/r; mount --bind / /tmp/r; cat /tmp/r{data}/admin-password'"
    assert SECRET not in await scene.attack(escape)


async def test_the_output_filter_cannot_be_taken_away(scene: Scene) -> None:
    """It belongs to a network namespace in which the job has no rights, own user namespace or not."""
    said = await scene.attack(
        "export PATH; nft flush ruleset; unshare -Ur nft flush ruleset; ip link set lo down; echo end"
    )
    assert said.lower().count("not permitted") >= 2, said


@contextmanager
def listening(address: str, port: int = 0) -> Iterator[int]:
    """A listener of the machine; its port."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.create_server((address, port), family=family) as listener:
        yield listener.getsockname()[1]


async def test_the_machines_loopback_is_out_of_reach(scene: Scene) -> None:
    """What listens on the machine's loopback, a database or the console, is not there."""
    for address in ("127.0.0.1", "::1"):
        with listening(address) as port, socket.create_connection((address, port), timeout=3):
            assert "CONNECTED" not in await scene.dial(address, port)


async def test_the_machines_own_addresses_are_out_of_reach(scene: Scene) -> None:
    """Nor by the machine's other names for itself, its gateway's name for it, link-local or metadata."""
    with listening("0.0.0.0") as port:
        for address in [str(a) for a in own_addresses() if a.version == 4]:
            with socket.create_connection((address, port), timeout=3):
                pass
            assert "CONNECTED" not in await scene.dial(address, port)
        assert "CONNECTED" not in await scene.dial("169.254.169.254", 80)
        assert "CONNECTED" not in await scene.dial("169.254.1.1", port)


async def test_the_proxy_does_not_lead_back(scene: Scene) -> None:
    """Where a proxy is the way out, it refuses the machine by every name and number."""
    if scene.network != "loopback":
        assert (await scene.attack("echo $https_proxy")).strip() == ""
        return
    with listening("0.0.0.0") as port:
        for host in ("127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", *map(str, _fours())):
            assert "403" in await scene.attack(f"python3 -c {shlex.quote(DIAL_BY_PROXY)} {host}:{port}")
    assert "403" in await scene.attack(f"python3 -c {shlex.quote(DIAL_BY_PROXY)} 169.254.169.254:80")


def _fours() -> list[str]:
    return [str(address) for address in own_addresses() if address.version == 4]


@pytest.mark.skipif(not ROOT, reason="only root makes network interfaces")
async def test_another_subnet_of_the_machine_is_out_of_reach(scene: Scene) -> None:
    """A container network that comes up while the job runs is forbidden from then on, its other end as well."""
    with _container_network() as (machine, container):
        for address in (machine, container):
            with socket.create_connection((address, VICTIM_PORT), timeout=3):
                pass
        async with asyncio.timeout(20):
            while "CONNECTED" in await scene.dial(container, VICTIM_PORT):
                await asyncio.sleep(0.2)
        for address in (machine, container):
            assert "CONNECTED" not in await scene.dial(address, VICTIM_PORT)


@contextmanager
def _container_network() -> Iterator[tuple[str, str]]:
    """A veth pair with a listener at each end: the machine's end and one in a namespace of its own."""
    machine, container = "10.213.77.1", "10.213.77.2"
    holder = subprocess.Popen(["unshare", "-n", "sleep", "60"])
    try:
        _until_in_own_namespace(holder.pid)
        inside = ["nsenter", f"--net=/proc/{holder.pid}/ns/net"]
        _run("ip", "link", "add", "slgt0", "type", "veth", "peer", "name", "slgt1", "netns", str(holder.pid))
        _run("ip", "addr", "add", f"{machine}/24", "dev", "slgt0")
        _run("ip", "link", "set", "slgt0", "up")
        _run(*inside, "ip", "addr", "add", f"{container}/24", "dev", "slgt1")
        _run(*inside, "ip", "link", "set", "slgt1", "up")
        server = subprocess.Popen(
            [*inside, "python3", "-m", "http.server", str(VICTIM_PORT)], stderr=subprocess.DEVNULL
        )
        try:
            with listening(machine, VICTIM_PORT):
                _until_listening(container)
                yield machine, container
        finally:
            server.kill()
            server.wait()
    finally:
        subprocess.run(["ip", "link", "del", "slgt0"], check=False, capture_output=True)
        holder.kill()
        holder.wait()


def _until_in_own_namespace(pid: int) -> None:
    ours = os.readlink("/proc/self/ns/net")
    while os.readlink(f"/proc/{pid}/ns/net") == ours:
        pass


def _until_listening(address: str) -> None:
    while True:
        with suppress(OSError), socket.create_connection((address, VICTIM_PORT), timeout=3):
            return


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, timeout=10)
