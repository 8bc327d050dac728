"""Which job a login leads to, and what is said when it leads nowhere."""

from pathlib import Path

import pytest

from gateway.contract.people import Grant
from gateway.contract.routes import JobPhase, Level, PortKind
from tests.gateway.core.ssh_world import BOB, job
from tests.gateway.entries.ssh.world import lone_job, ssh_entry, world

TWO = (*lone_job(), *lone_job("vim-2", name="lab", number=2))
ZH = ("-o", "SetEnv=LC_ALL=zh_CN.UTF-8")


@pytest.mark.parametrize("login", ["alice+vim-2", "alice%lab", "alice#vim-2", "alice+训练"])
async def test_a_named_job_is_entered(tmp_path: Path, login: str) -> None:
    """By id or name, after any of the three separators, without a terminal."""
    async with world(tmp_path, *TWO) as made:
        expected = b"jupyter-17\n" if "训练" in login else b"vim-2\n"
        assert (await made.ssh("echo $JOB", user=login)).out == expected


async def test_several_jobs_without_a_name_or_terminal_are_listed_on_stderr(tmp_path: Path) -> None:
    """B16: nothing on standard output, each id and name and the way to name one on stderr, status 1."""
    async with world(tmp_path, *TWO) as made:
        for command in (["true"], []):
            done = await made.ssh(*command, options=ZH)
            assert (done.status, done.out) == (1, b"")
            for text in ("jupyter-17  训练", "vim-2  lab", "alice+jupyter-17@gate", "没有指明"):
                assert text in done.err
        done = await made.ssh("true", options=("-o", "SetEnv=LANG=en_US.UTF-8"))
        assert "none was named" in done.err


async def test_names_that_fit_several_or_none_are_told(tmp_path: Path) -> None:
    """An ambiguous name lists ids; an unknown one and a stranger's private one sound alike."""
    secret = job("b-1", name="secret", owner=BOB)
    twin = lone_job("vim-3", name="lab", number=3)
    async with world(tmp_path, *TWO, *twin, secret, ssh_entry(9, secret)) as made:
        done = await made.ssh("true", user="alice+lab", options=ZH)
        assert (done.status, done.out) == (1, b"")
        assert "多个作业使用此名称" in done.err
        assert "vim-3" in done.err
        unknown = await made.ssh("true", user="alice+nothing", options=ZH)
        private = await made.ssh("true", user="alice+b-1", options=ZH)
        assert (unknown.status, unknown.out) == (1, b"")
        assert unknown.err == private.err
        assert "找不到" in unknown.err


async def test_levels_mean_on_ssh_what_the_contract_says(tmp_path: Path) -> None:
    """Login: every user, by name only. Open: refused here with a sentence. Shared: with a grant, without a name."""
    login, open_, shared = (job(name, owner=BOB) for name in ("b-1", "b-2", "b-3"))
    entries = ssh_entry(1, login, level=Level.LOGIN), ssh_entry(2, open_, level=Level.OPEN), ssh_entry(3, shared)
    async with world(tmp_path, login, open_, shared, *entries) as made:
        assert "没有可以进入的作业" in (await made.ssh("true", options=ZH)).err
        assert (await made.ssh("echo $JOB", user="alice+b-1")).out == b"b-1\n"
        assert "开放" in (await made.ssh("true", user="alice+b-2", options=ZH)).err
        assert (await made.ssh("true", user="alice+b-3")).status == 1
        made.put(Grant(1, 3, 1, None))
        assert (await made.ssh("echo $JOB")).out == b"b-3\n"
        assert "grant:1" in made.bridge.calls[-1].grounds


@pytest.mark.parametrize(
    ("phase", "said"),
    [(JobPhase.STARTING, "尚未开始"), (JobPhase.SUSPENDED, "挂起"), (JobPhase.ENDED, "已结束")],
)
async def test_a_job_that_is_not_up_gives_one_sentence(tmp_path: Path, phase: JobPhase, said: str) -> None:
    """Named by its owner, it says why; status 1, no hang."""
    made_job = job("a-1", phase=phase)
    async with world(tmp_path, made_job, ssh_entry(1, made_job)) as made:
        done = await made.ssh("true", user="alice+a-1", options=ZH)
        assert (done.status, done.out) == (1, b"")
        assert said in done.err


async def test_a_removed_entry_takes_the_job_off_the_port(tmp_path: Path) -> None:
    """Without its fixed ssh entry a job is not reachable, be it running."""
    made_job, entry = lone_job()
    async with world(tmp_path, made_job, entry) as made:
        assert (await made.ssh("true")).status == 0
        made.drop(entry)
        assert (await made.ssh("true")).status == 1
        assert (await made.ssh("true", user="alice+jupyter-17")).status == 1


async def test_a_node_narrows_the_target(tmp_path: Path) -> None:
    """JOB.NODE is what the bridge is asked for."""
    async with world(tmp_path, *TWO) as made:
        assert (await made.ssh("echo $JOB", user="alice+vim-2.node1")).out == b"vim-2.node1\n"


async def test_later_channels_stay_with_the_job_that_was_entered(tmp_path: Path) -> None:
    """A connection that entered the only job goes on there, though a second one starts."""
    async with world(tmp_path, *lone_job()) as made, await made.client() as client:
        assert (await client.run("echo $JOB")).stdout == "jupyter-17\n"
        made.put(*lone_job("vim-2", number=2))
        assert (await client.run("echo $JOB")).stdout == "jupyter-17\n"


async def test_a_random_port_leads_to_its_own_job(tmp_path: Path) -> None:
    """Same login, no choice; naming another job there is refused."""
    fixed = lone_job()
    other = job("vim-2")
    async with world(tmp_path, *fixed, other, entry_port=True) as made:
        assert (await made.ssh("true")).status == 1  # no entry has this port yet
        made.put(ssh_entry(5, other, port_kind=PortKind.RANDOM, port=made.port))
        assert (await made.ssh("echo $JOB")).out == b"vim-2\n"
        assert (await made.ssh("echo $JOB", user="alice+vim-2")).out == b"vim-2\n"
        assert (await made.ssh("true", user="alice+jupyter-17")).status == 1


@pytest.mark.parametrize("login", ["alice+home", "alice%home", "alice+home.local"])
async def test_home_is_entered_without_a_job(tmp_path: Path, login: str) -> None:
    """With jobs or without any; the bridge is told whose home, and the number of their account."""
    async with world(tmp_path, *TWO) as made:
        done = await made.ssh("echo $JOB; exit 4", user=login)
        assert (done.out, done.status) == (b"home:alice@local\n", 4)
        assert made.bridge.calls[-1].args["user_id"] == 1


async def test_another_clusters_home_is_refused_with_its_sentence(tmp_path: Path) -> None:
    """And so is a home for whom only a key in it vouches (test_home_keys.py)."""
    async with world(tmp_path, *TWO) as made:
        done = await made.ssh("true", user="alice+home.elsewhere", options=ZH)
        assert (done.status, done.out) == (1, b"")
        assert "没有可以进入的主目录" in done.err
