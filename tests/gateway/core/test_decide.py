"""The one decision, as a table of cases: rights, their order, credentials, phases and staleness."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gateway.contract.codec import Record
from gateway.contract.routes import Entry, JobPhase, Level, Protocol, Service
from gateway.core.decide import Admission, Ask, Decision, decide, decide_home
from gateway.core.refusals import Code, Refusal
from gateway.core.tickets import ANONYMOUS, Via, Visitor
from tests.gateway import world
from tests.gateway.world import NOW

ALICE = world.visitor(1, "alice", "session:s1")
BOB = world.visitor(2, "bob", "session:s2")
SESSIONS = (world.session("s1", 1), world.session("s2", 2))
PLACE = ("entry:17", "job:jupyter-17")


def ask(entry: Entry, who: Visitor, *records: Record, now: float = NOW, job: Record | None = None) -> Decision:
    """What decide says in a world of Alice's job, this entry and these records."""
    held = world.table(job or world.job(), entry, *SESSIONS, *records)
    return decide(entry, who, held, now)


def grounds_of(decided: Decision) -> tuple[str, ...]:
    """The grounds of an admission."""
    assert isinstance(decided, Admission)
    return decided.grounds


@pytest.mark.parametrize("level", Level)
def test_the_owner_rests_on_nothing_that_others_are_given(level: Level) -> None:
    """The owner's visit rests on entry, job, person and credential alone, whatever the level."""
    grounds = grounds_of(ask(world.entry(level=level), ALICE, world.grant(user_id=1)))
    assert grounds == (*PLACE, "user:1", "session:s1")


def test_a_grant_is_taken_before_the_level() -> None:
    """Bob redeemed a share code: his visit ends with the grant and not with the level."""
    grounds = grounds_of(ask(world.entry(level=Level.LOGIN), BOB, world.grant()))
    assert grounds == (*PLACE, "user:2", "session:s2", "grant:45")


def test_level_login_admits_every_user() -> None:
    """Without a grant Bob's visit rests on the level."""
    grounds = grounds_of(ask(world.entry(level=Level.LOGIN), BOB))
    assert grounds == (*PLACE, "user:2", "session:s2", "entry:17:login")


def test_level_open_admits_anyone() -> None:
    """A stranger's visit rests on the entry's being open."""
    assert grounds_of(ask(world.entry(level=Level.OPEN), ANONYMOUS)) == (*PLACE, "entry:17:open")


def test_somebody_known_passes_an_open_entry_by_name() -> None:
    """Who signed in keeps their visit when an open entry is raised to login."""
    assert grounds_of(ask(world.entry(level=Level.OPEN), BOB))[-1] == "entry:17:login"


def test_the_admission_carries_its_target() -> None:
    """Nobody needs to look the entry up again."""
    decided = ask(world.entry(), ALICE)
    assert isinstance(decided, Admission)
    assert (decided.target, decided.entry, decided.visitor) == (world.entry().target, world.entry(), ALICE)


def test_an_older_record_of_the_entry_counts_for_nothing() -> None:
    """The caller held its entry while the level was raised and the port changed: the table's record is judged."""
    older = world.entry(level=Level.OPEN, target_port=1)
    held = world.table(world.job(), world.entry(target_port=2), *SESSIONS)
    assert decide(older, ANONYMOUS, held, NOW) == Ask(world.entry(target_port=2))
    decided = decide(older, ALICE, held, NOW)
    assert isinstance(decided, Admission)
    assert decided.target.port == 2


@pytest.mark.parametrize("held", [[], [world.entry(job_id="other-9")]])
def test_an_entry_that_is_gone_admits_nobody(held: list[Record]) -> None:
    """It was removed, or its id stands for another job's: a visit on it could never be withdrawn."""
    assert decide(world.entry(level=Level.OPEN), ALICE, world.table(world.job(), *held), NOW) == Refusal(
        Code.UNKNOWN_HOST
    )


@pytest.mark.parametrize("subject", ["other-9", "jupyter-170", "jupyter-170.node1", "home:bob@local"])
def test_the_caller_may_not_name_another_job(subject: str) -> None:
    """A right to one job is never a way into another."""
    asked = replace(world.entry(), target=replace(world.entry().target, subject=subject))
    held = world.table(world.job(), world.entry(), *SESSIONS)
    assert decide(asked, ALICE, held, NOW) == Refusal(Code.UNKNOWN_HOST)


def test_the_caller_may_name_a_node_of_the_job() -> None:
    """`USER+JOB.NODE`: the subject is the caller's, everything else the table's."""
    asked = replace(world.entry(), target=replace(world.entry().target, subject="jupyter-17.node2", port=1))
    held = world.table(world.job(), world.entry(), *SESSIONS)
    decided = decide(asked, ALICE, held, NOW)
    assert isinstance(decided, Admission)
    assert decided.target == replace(world.entry().target, subject="jupyter-17.node2")
    assert decided.entry == world.entry()


@pytest.mark.parametrize("level", [Level.PRIVATE, Level.LOGIN])
def test_a_stranger_must_sign_in(level: Level) -> None:
    """Private and login entries ask strangers who they are."""
    assert ask(world.entry(level=level), ANONYMOUS) == Ask(world.entry(level=level))


def test_a_private_entry_refuses_others_without_a_word_on_the_job() -> None:
    """Bob has no right: he does not learn whether the job lives."""
    ended = world.job(phase=JobPhase.ENDED)
    assert ask(world.entry(), BOB, job=ended) == Refusal(Code.FORBIDDEN, entry_name="web")


def test_an_expired_grant_is_none() -> None:
    """What a code gave until a certain time is over then."""
    assert ask(world.entry(), BOB, world.grant(expires_at=NOW)) == Refusal(Code.FORBIDDEN, entry_name="web")


@pytest.mark.parametrize(
    "who",
    [
        world.visitor(1, "alice", "session:gone"),
        world.visitor(1, "alice", "session:s1", "key:9"),
        world.visitor(99, "nobody"),
    ],
)
def test_a_credential_that_is_over_counts_as_none(who: Visitor) -> None:
    """A session, token or key that does not stand leads to the sign-in, or through the open door."""
    assert ask(world.entry(), who) == Ask(world.entry())
    assert grounds_of(ask(world.entry(level=Level.OPEN), who)) == (*PLACE, "entry:17:open")


def test_an_expired_session_must_sign_in_again() -> None:
    """Time is looked at in the moment of the decision."""
    assert ask(world.entry(), ALICE, now=NOW + 3600) == Ask(world.entry())


def test_a_disabled_user_is_told_so() -> None:
    """Their credential may stand; they may not."""
    disabled = world.user(2, "bob", disabled=True)
    assert ask(world.entry(level=Level.LOGIN), BOB, disabled) == Refusal(Code.USER_DISABLED)
    assert grounds_of(ask(world.entry(level=Level.OPEN), BOB, disabled)) == (*PLACE, "entry:17:open")


@pytest.mark.parametrize(
    ("phase", "code"),
    [
        (JobPhase.STARTING, Code.JOB_STARTING),
        (JobPhase.SUSPENDED, Code.JOB_SUSPENDED),
        (JobPhase.UNREACHABLE, Code.UNREACHABLE),
        (JobPhase.ENDED, Code.JOB_ENDED),
    ],
)
def test_a_job_that_is_not_up_is_named(phase: JobPhase, code: Code) -> None:
    """Who has a right is told why the job cannot be reached."""
    assert ask(world.entry(), ALICE, job=world.job(phase=phase)) == Refusal(code, "jupyter-17", "web")


def test_an_entry_without_its_job_has_ended() -> None:
    """The job's record went before the entry's."""
    held = world.table(world.entry(), *SESSIONS)
    assert decide(world.entry(), ALICE, held, NOW) == Refusal(Code.JOB_ENDED, "jupyter-17", "web")


@pytest.mark.parametrize(
    "shell",
    [world.entry(level=Level.OPEN, protocol=Protocol.SSH), world.entry(level=Level.OPEN, service=Service.TERMINAL)],
)
def test_an_open_shell_admits_only_by_name(shell: Entry) -> None:
    """The gateway itself would open the shell: the owner and guests pass, nobody else."""
    assert grounds_of(ask(shell, ALICE))
    assert grounds_of(ask(shell, BOB, world.grant()))[-1] == "grant:45"
    assert ask(shell, BOB) == Refusal(Code.OPEN_NEEDS_SSHD, entry_name="web")
    assert ask(shell, ANONYMOUS) == Ask(shell)


def test_a_stale_snapshot_admits_no_new_private_visits() -> None:
    """After 300 s without control, rights may have been withdrawn unheard; open entries go on."""
    long_session, late = world.session("s1", 1, expires_at=NOW + 9999), NOW + 301
    assert ask(world.entry(), ALICE, long_session, now=late) == Refusal(Code.STALE, "jupyter-17", "web")
    assert isinstance(ask(world.entry(level=Level.OPEN), ANONYMOUS, now=late), Admission)
    assert isinstance(ask(world.entry(), ALICE, long_session, now=NOW + 300), Admission)


def test_only_decide_makes_an_admission() -> None:
    """Neither a caller nor a copy of a real one can make up an admission (law 1)."""
    real = ask(world.entry(), ALICE)
    assert isinstance(real, Admission)
    with pytest.raises(TypeError, match="only decide"):
        Admission(BOB, world.entry(), world.entry().target, (), object())
    with pytest.raises(ValueError, match="proof"):
        replace(real, visitor=BOB)  # type: ignore[call-arg]  # the type checker refuses it as well


def test_a_visitor_cannot_leave_out_their_own_ground() -> None:
    """A password gives no credential ground; the person's own is added."""
    assert grounds_of(ask(world.entry(), Visitor(1, "alice", (), Via.PASSWORD))) == (*PLACE, "user:1")


AT_HOME = Visitor(1, "alice", (), Via.HOME_KEY, "local")


def test_a_key_of_the_home_opens_the_persons_own_jobs_of_that_cluster() -> None:
    """On every level, and resting on nothing that others are given."""
    for level in (Level.PRIVATE, Level.LOGIN):
        assert grounds_of(ask(world.entry(level=level), AT_HOME)) == (*PLACE, "user:1")


@pytest.mark.parametrize("level", [Level.PRIVATE, Level.LOGIN])
def test_a_key_of_the_home_opens_nothing_else(level: Level) -> None:
    """Not what was shared with the person, not what every user may pass, not their job on another cluster."""
    bobs = Visitor(2, "bob", (), Via.HOME_KEY, "local")
    refused = ask(world.entry(level=level), bobs, world.grant())
    assert isinstance(refused, Refusal)
    assert refused.code is Code.FORBIDDEN
    elsewhere = ask(world.entry(level=level), AT_HOME, job=replace(world.job(), cluster="elsewhere"))
    assert isinstance(elsewhere, Refusal)
    assert elsewhere.code is Code.FORBIDDEN


def test_everybody_enters_their_own_home() -> None:
    """By session, key or password; the visit rests on the person and the credential."""
    admission = decide_home("local", ALICE, world.table(*SESSIONS), NOW)
    assert grounds_of(admission) == ("user:1", "session:s1")
    assert isinstance(admission, Admission)
    assert (admission.target.subject, admission.target.engine) == ("home:alice@local", "local")
    assert admission.entry.owner_id == 1


def test_nobody_enters_a_home_who_is_not_known_now_or_by_a_key_that_lies_in_it() -> None:
    """Strangers, ended sessions, disabled people, keys of homes, other clusters, an old snapshot."""
    cases = [
        ("local", ANONYMOUS, world.table(*SESSIONS), NOW, Code.WITHDRAWN),
        ("local", ALICE, world.table(), NOW, Code.WITHDRAWN),
        ("local", ALICE, world.table(world.user(disabled=True), *SESSIONS), NOW, Code.WITHDRAWN),
        ("local", AT_HOME, world.table(*SESSIONS), NOW, Code.NO_SUCH_HOME),
        ("elsewhere", ALICE, world.table(*SESSIONS), NOW, Code.NO_SUCH_HOME),
        ("local", ALICE, world.table(*SESSIONS), NOW + 1000, Code.STALE),
    ]
    for cluster, who, table, now, code in cases:
        assert decide_home(cluster, who, table, now) == Refusal(code), code
