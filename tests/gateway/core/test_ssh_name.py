"""Login names: which job they ask for, for whom."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.contract.people import Grant
from gateway.contract.routes import JobPhase, Level
from gateway.core.ssh_name import Login, find, home_of, language, split
from gateway.core.table import Table
from tests.gateway.core.ssh_world import ALICE, BOB, job, ssh_entry, table


@pytest.mark.parametrize(
    ("login", "expected"),
    [
        ("alice", Login("alice", None)),
        ("alice+jupyter-17", Login("alice", "jupyter-17")),
        ("alice%训练", Login("alice", "训练")),
        ("alice#a+b", Login("alice", "a+b")),
        ("alice+", Login("alice", None)),
        ("+x", Login("", "x")),
        ("", Login("", None)),
    ],
)
def test_login_is_split_at_its_first_separator(login: str, expected: Login) -> None:
    """`+`, `%` and `#` all separate the user from the job."""
    assert split(login) == expected


@given(st.text(max_size=60))
def test_any_login_can_be_split(login: str) -> None:
    """Whatever a client sends is read without a fault, and nothing is invented."""
    parts = split(login)
    assert login.startswith(parts.user)
    assert parts.job is None or login.endswith(parts.job)


def house() -> Table:
    """Alice has two jobs of one name and one of a dotted name; Bob a private, a shared, a login and an ended one."""
    mine, twin, dotted = job("a-1", name="训练"), job("a-2", name="训练"), job("a-3", name="v1.2")
    private, shared = job("b-1", name="secret", owner=BOB), job("b-2", name="shared", owner=BOB)
    public, ended = job("b-3", name="public", owner=BOB), job("b-4", owner=BOB, phase=JobPhase.ENDED)
    bare = job("b-5", name="bare", owner=BOB)
    entries = [ssh_entry(number, made) for number, made in enumerate([mine, twin, dotted, private, shared, ended], 1)]
    login = ssh_entry(9, public, level=Level.LOGIN)
    return table(mine, twin, dotted, private, shared, public, ended, bare, *entries, login, Grant(1, 5, ALICE.id, None))


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ("a-1", ["a-1"]),
        ("训练", ["a-1", "a-2"]),
        ("v1.2", ["a-3"]),
        ("shared", ["b-2"]),
        ("b-2", ["b-2"]),
        ("public", ["b-3"]),
        ("b-3", ["b-3"]),
        ("b-1", []),
        ("secret", []),
        ("b-4", []),
        ("bare", []),
        ("nothing", []),
        (f"{1:032x}", ["a-1"]),
        (f"{4:032x}", []),
        ("a-1.node1", ["a-1"]),
        ("a-1.", []),
        (".a-1", []),
    ],
)
def test_find_gives_only_jobs_that_concern_the_person(wanted: str, expected: list[str]) -> None:
    """Own, shared and login-level jobs are found by id, label or name; foreign private ones do not exist."""
    assert [match.way.job.id for match in find(wanted, ALICE.id, house())] == expected


def test_own_jobs_win_over_strangers_of_the_same_name() -> None:
    """A name that fits an own job never means another person's."""
    mine, theirs = job("a-1", name="lab"), job("b-1", name="lab", owner=BOB)
    held = table(mine, theirs, ssh_entry(1, mine), ssh_entry(2, theirs, level=Level.LOGIN))
    assert [match.way.job.id for match in find("lab", ALICE.id, held)] == ["a-1"]
    assert [match.way.job.id for match in find("b-1", ALICE.id, held)] == ["b-1"]


def test_a_private_id_of_a_stranger_does_not_hide_an_own_name() -> None:
    """Even when a job is named after somebody else's id, its owner reaches it by that name."""
    mine, theirs = job("a-1", name="b-1"), job("b-1", owner=BOB)
    held = table(mine, theirs, ssh_entry(1, mine), ssh_entry(2, theirs))
    assert [match.way.job.id for match in find("b-1", ALICE.id, held)] == ["a-1"]


@pytest.mark.parametrize(
    ("wanted", "subject"),
    [("a-1", "a-1"), ("a-1.node2", "a-1.node2"), ("a-1.node2.app", "a-1.node2.app"), ("v1.2.node2", "a-3.node2")],
)
def test_what_follows_a_job_narrows_its_target(wanted: str, subject: str) -> None:
    """The whole name is tried first, then JOB.NODE and JOB.NODE.CONTAINER."""
    (match,) = find(wanted, ALICE.id, house())
    assert match.entry().target.subject == subject
    assert match.entry().id == match.way.entry.id


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, "zh"),
        ({"LANG": "en_US.UTF-8"}, "en"),
        ({"LANG": "en_US.UTF-8", "LC_ALL": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "C.UTF-8"}, "zh"),
        ({"LC_ALL": "", "LC_MESSAGES": "en_GB"}, "en"),
    ],
)
def test_language_follows_the_clients_locale(environment: dict[str, str], expected: str) -> None:
    """A locale that is neither Chinese nor English leaves the person's own choice."""
    assert language(environment, "zh") == expected


@pytest.mark.parametrize(
    ("wanted", "cluster"),
    [
        ("home", "local"),
        ("home.local", "local"),
        ("home.slurm-1", "slurm-1"),
        ("home.", ""),
        ("home-3", None),
        ("", None),
    ],
)
def test_home_names_no_job_but_the_place_without_one(wanted: str, cluster: str | None) -> None:
    """`USER+home`, `USER+home.CLUSTER`; a job's id may begin with the word."""
    assert home_of(wanted) == cluster
