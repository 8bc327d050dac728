"""The table: edits in one step, exact withdrawals, and the look-ups that entries use."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from gateway.contract.codec import Change, Record, key_of, kind_of
from gateway.contract.people import Scope
from gateway.contract.routes import Authority, Certificate, JobPhase, Level, PortKind, Protocol, Secret
from gateway.core.grounds import claims
from gateway.core.table import CHANGES_LIMIT, Table, Way
from tests.gateway import world
from tests.gateway.world import NOW

small = st.integers(1, 3)
names = st.sampled_from(["alice", "bob", "carol"])
instants = st.none() | st.floats(NOW - 5, NOW + 5)
jobs = st.sampled_from(["jupyter-1", "train-2"])
records: st.SearchStrategy[Record] = st.one_of(
    st.builds(world.user, small, names, disabled=st.booleans()),
    st.builds(world.key, small, small, st.sampled_from(["SHA256:a", "SHA256:b"])),
    st.builds(world.session, names, small, expires_at=st.floats(NOW - 5, NOW + 5)),
    st.builds(world.token, small, small, scope=st.sampled_from(Scope), entry_id=st.none() | small, expires_at=instants),
    st.builds(
        world.client,
        small,
        small,
        entry_id=small,
        fingerprint=st.sampled_from(["aa", "bb"]),
        expires_at=st.floats(NOW - 5, NOW + 5),
    ),
    st.builds(world.grant, small, small, small, expires_at=instants),
    st.builds(world.job, jobs, small, phase=st.sampled_from(JobPhase)),
    st.builds(
        world.entry,
        small,
        protocol=st.sampled_from(Protocol),
        level=st.sampled_from(Level),
        port_kind=st.sampled_from(PortKind),
        port=st.sampled_from([8888, 40000]),
        host=st.sampled_from(["", "a.example"]),
        job_id=jobs,
    ),
)
edits = st.lists(st.tuples(records, st.booleans()), max_size=30)
"""Records, each put (True) or taken away (False)."""


def changes_of(edited: Sequence[tuple[Record, bool]]) -> list[Change]:
    """The edits as changes with ascending revisions."""
    return [
        Change(number, kind_of(record), key_of(record), record if put else None)
        for number, (record, put) in enumerate(edited, start=1)
    ]


def final_set(changes: Sequence[Change]) -> list[Record]:
    """What stays when all changes have been made."""
    held: dict[tuple[str, str], Record] = {}
    for change in changes:
        held.pop((change.kind, change.key), None)
        if change.record is not None:
            held[change.kind, change.key] = change.record
    return list(held.values())


def answers(table: Table) -> list[object]:
    """What the table says to every question that entries ask of it."""
    return [
        table.revision,
        sorted(map(repr, table.records())),
        [(table.entry(n), table.user(n), table.ssh_jobs_for(n)) for n in range(1, 4)],
        [
            table.entry_by_host(host, port)
            for host in ("a.example", f"{1:032x}.proxy.localhost")
            for port in (8888, 40000)
        ],
        [table.entry_by_name(host) for host in ("a.example", f"{1:032x}.proxy.localhost")],
        [table.client(fingerprint) for fingerprint in ("aa", "bb")],
        [table.entry_by_port(port) for port in (8888, 40000)],
        sorted(table.random_ports().items()),
        [(table.job(name), table.ssh_way(name)) for name in ("jupyter-1", "train-2")],
        (table.jobs_named("jupyter"), table.ssh_jobs()),
        [(table.user_by_name(name), table.session(name)) for name in ("alice", "bob", "carol")],
        [table.key(fingerprint) for fingerprint in ("SHA256:a", "SHA256:b")],
        [(table.session_by_token_hash(f"hash-{name}")) for name in ("alice", "bob", "carol")],
        [(table.token_by_hash(f"token-{n}"), [table.grant(n, m) for m in range(1, 4)]) for n in range(1, 4)],
        table.lapse(NOW),
        table.lapse(NOW + 10),
    ]


@given(edits)
def test_changes_lead_to_the_same_table_as_a_list(edited: list[tuple[Record, bool]]) -> None:
    """Applying changes one by one equals replacing the table by what is left in the end."""
    changes = changes_of(edited)
    step_by_step, at_once = Table(), Table()
    for change in changes:
        step_by_step.apply(change)
    at_once.replace(final_set(changes), len(changes))
    assert answers(step_by_step) == answers(at_once)


@given(edits, edits)
def test_withdrawn_grounds_are_exact(before: list[tuple[Record, bool]], after: list[tuple[Record, bool]]) -> None:
    """A list withdraws the grounds whose claim it no longer makes: none more, none less."""
    old, new = final_set(changes_of(before)), final_set(changes_of(after))
    table = Table()
    table.replace(old, 1)
    kept = {claim for record in new for claim in claims(record)}
    gone = {claim[0] for record in old for claim in claims(record) if claim not in kept}
    assert table.replace(new, 2) == gone


@given(edits)
def test_each_change_withdraws_what_ceased_by_it(edited: list[tuple[Record, bool]]) -> None:
    """A change withdraws exactly the claims that stood before it and do not stand after it."""
    table = Table()
    for change in changes_of(edited):
        before = {claim for record in table.records() for claim in claims(record)}
        withdrawn = table.apply(change)
        after = {claim for record in table.records() for claim in claims(record)}
        assert withdrawn == {ground for ground, _ in before - after}


def test_an_edit_takes_the_revision() -> None:
    """The table's revision is that of its last edit."""
    table = Table()
    table.replace([world.user()], 7)
    assert table.revision == 7
    table.apply(Change(9, "user", "1", None))
    assert table.revision == 9


def test_what_changed_is_told_once_for_the_copy_on_disk() -> None:
    """A list that differs, or too many changes: then everything is to be copied."""
    table = Table()
    assert table.take_changes() is None
    assert table.take_changes() == []
    table.replace([world.user()], 1)
    assert table.take_changes() is None
    table.replace([world.user()], 2)
    assert table.take_changes() == []
    change = Change(3, "user", "2", world.user(2, "bob"))
    table.apply(change)
    assert table.take_changes() == [change]
    for revision in range(4, 5 + CHANGES_LIMIT):
        table.apply(Change(revision, "user", "2", None))
    assert table.take_changes() is None
    assert table.size() == 1


def test_stale_is_a_matter_of_the_last_confirmation() -> None:
    """A table that control has not confirmed for longer than it may is stale; an older word changes nothing."""
    table = Table(max_stale_s=300)
    assert table.stale(NOW)
    table.confirm(NOW)
    table.confirm(NOW - 1000)
    assert not table.stale(NOW + 300)
    assert table.stale(NOW + 301)


def test_what_ran_out_lapses_once() -> None:
    """A session that ended by time is told once; one that was prolonged or ended before is not."""
    held = world.table(world.session("a", expires_at=NOW + 1), world.session("b", expires_at=NOW + 1), world.grant())
    held.apply(Change(2, "session", "b", world.session("b", expires_at=NOW + 50)))
    held.apply(Change(3, "token", "12", world.token(expires_at=NOW + 2)))
    held.apply(Change(4, "token", "12", None))
    assert held.lapse(NOW) == frozenset()
    assert held.lapse(NOW + 2) == {"session:a"}
    assert held.lapse(NOW + 2) == frozenset()


def test_a_ground_stands_while_its_record_does() -> None:
    """`stands` looks at the record, its facts' word, and its time."""
    held = world.table(world.session(), world.entry(level=Level.LOGIN))
    assert held.stands("session:s1", NOW)
    assert not held.stands("session:s1", NOW + 3600)
    assert not held.stands("session:other", NOW)
    assert held.stands("entry:17:login", NOW)
    assert not held.stands("entry:17:open", NOW)


def test_entries_are_found_by_label_host_and_port() -> None:
    """The three public names of an entry lead to it."""
    web = world.entry(17, host="A.example")
    tcp = world.entry(18, protocol=Protocol.TCP, port_kind=PortKind.RANDOM, port=40000)
    held = world.table(web, tcp)
    assert held.entry_by_label(web.label) == web
    assert held.entry_by_host("a.example", 8888) == web
    assert held.entry_by_host("a.example", 8443) is None
    other = world.entry(19, protocol=Protocol.HTTPS, port=8443, host="a.example")
    held.apply(Change(2, "entry", "19", other))
    assert held.entry_by_host("a.example", 8443) == other
    assert held.entry_by_host("a.example", 8888) == web
    assert held.entry_by_port(40000) == tcp
    assert held.entry_by_name(tcp.host) == tcp
    assert held.random_ports() == {40000: Protocol.TCP}


def test_the_ssh_menu_holds_own_and_shared_jobs() -> None:
    """Bob sees his own job first and then the one shared by a code, not one that ended or has no fixed ssh entry."""
    mine, shared, over = world.job("z-1", 2), world.job("a-2"), world.job("b-3", 2, phase=JobPhase.ENDED)
    bare = world.job("c-4", 2)
    doors = [world.entry(n, protocol=Protocol.SSH, job_id=one.id) for n, one in enumerate((mine, shared, over), 1)]
    web = world.entry(9, job_id="c-4")
    held = world.table(
        mine, shared, over, bare, *doors, web, world.grant(1, 2, 2), world.grant(2, 9, 2), world.grant(3, 99, 2)
    )
    assert held.ssh_jobs_for(2) == [Way(mine, doors[0]), Way(shared, doors[1])]
    assert held.ssh_jobs() == [Way(shared, doors[1]), Way(mine, doors[0])]
    assert held.ssh_jobs_for(1) == [Way(shared, doors[1])]


def test_names_of_ended_jobs_are_free() -> None:
    """A name stands for jobs that live."""
    held = world.table(world.job("a-1"), world.job("a-2", phase=JobPhase.ENDED))
    assert held.jobs_named("jupyter") == [world.job("a-1")]


def test_the_newest_secret_signs() -> None:
    """Secrets of one use come newest first; certificates are all listed."""
    older, newer = Secret("a", "ticket", 1, "x"), Secret("b", "ticket", 2, "y")
    certificate, authority = Certificate("c", ("a.example",), "chain", "key"), Authority("clients-1", "pem")
    held = world.table(older, newer, Secret("h", "ssh-host", 1, "z"), certificate, authority)
    assert held.secrets("ticket") == [newer, older]
    assert held.certificates() == [certificate]
    assert held.certificate_named("a.example") == certificate
    assert held.default_certificate() is None
    assert held.authorities() == [authority]
