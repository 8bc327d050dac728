"""Jobs over the API: submitted, listed, shown, closed, suspended, explained."""

from __future__ import annotations

from typing import Any

import pytest

from control.domain.jobs.states import State
from tests.control.api.desk import START, Caller, Desk


async def test_a_command_alone_makes_a_job_with_all_defaults(both_desks: Desk) -> None:
    """Name, cluster, partition, one node and cpu, and the entry ssh-default are filled in."""
    desk = both_desks
    alice = await desk.person("alice")
    made = await alice.post("/jobs", {"command": ["/usr/bin/python3", "-m", "http.server"]})
    assert made.status == 201
    job = made.body
    assert made.raw.headers["Location"] == f"/api/v1/jobs/{job['id']}"
    assert (job["name"], job["id"], job["owner"]) == ("python3", "python3-1", "alice")
    assert (job["cluster"], job["partition"], job["nodes"], job["cpus"], job["gpus"]) == ("local", "local", 1, 1, 0)
    assert (job["state"], job["view"], job["actions"]) == ("queued", "running", ["close"])
    assert job["work_dir"] == "/data/homes/alice/jobs/python3-1"
    [ssh] = job["entries"]
    assert (ssh["name"], ssh["protocol"], ssh["level"], ssh["target_port"]) == ("ssh-default", "ssh", "private", 22)
    assert ssh["ssh_command"] == "ssh -p 8022 alice+python3-1@127.0.0.1"
    assert ssh["active"] is False


async def test_an_entry_is_active_once_the_job_runs_and_every_gateway_serves_it(desk: Desk, alice: Caller) -> None:
    """Active is what people may rely on, so it takes both."""
    job = await desk.running_job(alice)
    assert job["entries"][0]["active"] is True
    desk.gateways.behind = ("web-0",)
    shown = await alice.get(f"/jobs/{job['id']}")
    assert shown.body["entries"][0]["active"] is False
    assert "gateways" in shown.body["entries"][0]["message"]


async def test_the_same_client_key_gives_the_same_job(both_desks: Desk) -> None:
    """A submit that is repeated because its answer was lost runs nothing twice."""
    alice, bob = await both_desks.person("alice"), await both_desks.person("bob")
    wish = {"command": ["true"], "client_key": "k1"}
    first, again, other = (
        await alice.post("/jobs", wish),
        await alice.post("/jobs", wish),
        await bob.post("/jobs", wish),
    )
    assert (first.status, again.status, other.status) == (201, 200, 201)
    assert first.body["id"] == again.body["id"] != other.body["id"]


async def test_an_app_brings_its_command_and_entries(desk: Desk, alice: Caller) -> None:
    """Own entries are added; one of the same name takes the place of the app's."""
    plain = await alice.post("/jobs", {"app": "jupyterlab"})
    assert [entry["name"] for entry in plain.body["entries"]] == ["lab", "ssh-default"]
    assert plain.body["command"] == ["jupyter", "lab"]
    assert 20000 <= plain.body["entries"][0]["target_port"] < 30000
    entries = [
        {"name": "lab", "protocol": "https", "level": "login", "target_port": "auto"},
        {"name": "board", "protocol": "http", "level": "private", "target_port": 6006},
    ]
    more = await alice.post("/jobs", {"app": "jupyterlab", "entries": entries, "ssh_default": False})
    assert [(entry["name"], entry["protocol"]) for entry in more.body["entries"]] == [
        ("lab", "https"),
        ("board", "http"),
    ]


@pytest.mark.parametrize(
    ("wish", "code", "fields"),
    [
        ({}, "invalid_input", {"command"}),
        ({"command": []}, "invalid_input", {"command"}),
        ({"command": [""]}, "invalid_input", {"command"}),
        ({"command": "ls"}, "invalid_input", {"command"}),
        ({"command": ["ls"], "nmae": "x"}, "invalid_input", {"nmae"}),
        ({"command": ["ls"], "name": "a/b"}, "invalid_input", {"name"}),
        ({"command": ["ls"], "name": "home"}, "invalid_input", {"name"}),
        ({"command": ["ls"], "name": "x" * 2_000}, "invalid_input", {"name"}),
        ({"command": ["ls"], "cpus": 0}, "invalid_input", {"cpus"}),
        ({"command": ["ls"], "cpus": 9}, "invalid_input", {"cpus"}),
        ({"command": ["ls"], "cpus": "1"}, "invalid_input", {"cpus"}),
        ({"command": ["ls"], "cpus": True}, "invalid_input", {"cpus"}),
        ({"command": ["ls"], "gpus": 1}, "invalid_input", {"gpus"}),
        ({"command": ["ls"], "memory_bytes": 2**60}, "invalid_input", {"memory_bytes"}),
        ({"command": ["ls"], "env": {"A=B": "1"}}, "invalid_input", {"env.A=B"}),
        ({"command": ["ls\0"]}, "invalid_input", {"command[0]"}),
        ({"command": ["ls"], "cluster": "moon"}, "cluster_unknown", set()),
        ({"command": ["ls"], "partition": "far"}, "cluster_unknown", set()),
        ({"app": "doom"}, "app_unknown", set()),
        ({"command": ["ls"], "image": "debian"}, "unsupported", set()),
        (
            {"command": ["ls"], "entries": [{"name": "a", "protocol": "gopher", "level": "private", "target_port": 1}]},
            "invalid_input",
            {"entries[0].protocol"},
        ),
        (
            {"command": ["ls"], "entries": [{"name": "a", "protocol": "http", "level": "public", "target_port": 1}]},
            "invalid_input",
            {"entries[0].level"},
        ),
        (
            {"command": ["ls"], "entries": [{"name": "a", "protocol": "http", "level": "open", "target_port": 65536}]},
            "invalid_input",
            {"entries[0].target_port"},
        ),
        (
            {"command": ["ls"], "entries": [{"name": "a", "protocol": "http", "level": "open"}]},
            "invalid_input",
            {"entries[0].target_port"},
        ),
    ],
)
async def test_a_faulty_wish_names_its_faulty_fields(
    desk: Desk, alice: Caller, wish: dict[str, Any], code: str, fields: set[str]
) -> None:
    """Refused at the edge, with a sentence at each field; nothing is written."""
    refused = await alice.post("/jobs", wish)
    assert (refused.status, refused.code) == (422, code)
    assert set(refused.body.get("fields", {})) == fields
    assert (await alice.get("/jobs")).body["total"] == 0


async def test_entries_that_clash_are_refused_naming_the_clash(desk: Desk, alice: Caller) -> None:
    """A name or a target port twice in one job: 409, and the other entry's name in the sentence."""
    one = {"name": "one", "protocol": "http", "level": "private", "target_port": 8000}
    port = await alice.post("/jobs", {"command": ["ls"], "entries": [one, one | {"name": "two"}]})
    name = await alice.post("/jobs", {"command": ["ls"], "entries": [one, one | {"target_port": 9}]})
    assert (port.status, port.code) == (409, "target_port_taken")
    assert "8000" in port.body["detail"]
    assert "one" in port.body["detail"]
    assert (name.status, name.code) == (409, "entry_name_taken")


async def test_random_ports_are_given_back_when_a_submit_fails(desk: Desk, alice: Caller) -> None:
    """A port that no entry came to hold is not lost."""
    open_tcp = {"name": "db", "protocol": "tcp", "level": "open", "target_port": 5432, "port": "random"}
    kept = await alice.post("/jobs", {"command": ["ls"], "entries": [open_tcp]})
    assert kept.body["entries"][0]["port"] == 40_001
    assert kept.body["entries"][0]["url"] == "tcp://127.0.0.1:40001"
    assert desk.ports.released == []
    again = await alice.post(f"/jobs/{kept.body['id']}/entries", open_tcp | {"name": "db2"})
    assert again.code == "target_port_taken"
    assert desk.ports.released == [40_002]


async def test_without_isolation_only_administrators_run_jobs(desk: Desk, alice: Caller, admin: Caller) -> None:
    """Law 8: where the machine cannot keep jobs apart, other people's jobs are refused with a sentence."""
    desk.runtime.isolation = "none"
    refused = await alice.post("/jobs", {"command": ["ls"]})
    assert (refused.status, refused.code) == (403, "isolation_unavailable")
    assert (await admin.post("/jobs", {"command": ["ls"]})).status == 201


async def test_a_cluster_that_does_not_answer_is_said(desk: Desk, alice: Caller) -> None:
    """Submitting to it is refused for now, and the list of clusters shows it as unhealthy."""
    desk.runtime.is_away = True
    refused = await alice.post("/jobs", {"command": ["ls"]})
    assert (refused.status, refused.code) == (503, "cluster_unhealthy")
    clusters = await alice.get("/clusters")
    assert (clusters.body[0]["healthy"], clusters.body[0]["partitions"]) == (False, [])


async def test_closing_is_wanted_at_once_and_an_ended_job_moves_to_history(desk: Desk, alice: Caller) -> None:
    """A live job is closing; an ended one keeps its state and leaves the running list."""
    live, ended = await desk.running_job(alice), await desk.running_job(alice)
    await desk.move(ended["id"], State.ABNORMAL_EXIT)
    closing = await alice.post(f"/jobs/{live['id']}/close")
    assert (closing.status, closing.body["state"], closing.body["closing"]) == (200, "running", True)
    assert closing.body["actions"] == []
    lingering = await alice.get(f"/jobs/{ended['id']}")
    assert (lingering.body["view"], lingering.body["actions"]) == ("running", ["close"])
    closed = await alice.post(f"/jobs/{ended['id']}/close")
    assert (closed.body["state"], closed.body["view"], closed.body["actions"]) == ("abnormal_exit", "history", [])


async def test_suspend_and_resume_follow_the_state(desk: Desk, alice: Caller) -> None:
    """Only what runs can be suspended; the actions of a job say so beforehand."""
    queued = await alice.post("/jobs", {"command": ["ls"]})
    refused = await alice.post(f"/jobs/{queued.body['id']}/suspend")
    assert (refused.status, refused.code) == (409, "job_state")
    running = await desk.running_job(alice)
    assert running["actions"] == ["close", "suspend"]
    assert (await alice.post(f"/jobs/{running['id']}/suspend")).status == 200
    await desk.move(running["id"], State.SUSPENDED)
    suspended = await alice.get(f"/jobs/{running['id']}")
    assert suspended.body["actions"] == ["close", "resume"]
    assert (await alice.post(f"/jobs/{running['id']}/resume")).status == 200


async def test_lists_are_filtered_sorted_and_paged_by_the_server(both_desks: Desk) -> None:
    """Every filter of the manual, the total over all pages, and an order that neither repeats nor skips."""
    desk = both_desks
    alice = await desk.person("alice")
    for number in range(5):
        desk.clock.at = START + number * 60
        await alice.post("/jobs", {"command": ["ls"], "name": f"训练_{number}"})
    done = await desk.running_job(alice, name="done C_3")
    await desk.move(done["id"], State.FINISHED)

    async def names(query: str) -> list[str]:
        answer = await alice.get(f"/jobs?{query}")
        assert answer.status == 200, answer.body
        return [job["name"] for job in answer.body["items"]]

    assert await names("view=history") == ["done C_3"]
    assert await names("view=running&sort=name") == [f"训练_{number}" for number in range(5)]
    assert await names("name=训练_3") == ["训练_3"]
    assert await names("name=%25") == []
    assert await names("name=c_3") == ["done C_3"]
    assert await names("state=finished&state=failed") == ["done C_3"]
    assert await names("cluster=local&partition=&state=finished") == ["done C_3"]
    assert await names("submitted_after=2027-01-15T08:02:30Z&sort=id") == ["训练_3", "训练_4", "done C_3"]
    assert await names("submitted_before=2027-01-15T08:01:00Z") == ["训练_0"]
    assert await names("per_page=2&page=2&sort=-id") == ["训练_3", "训练_2"]
    page = await alice.get("/jobs?per_page=2&page=9")
    assert (page.body["items"], page.body["total"], page.body["page"], page.body["per_page"]) == ([], 6, 9, 2)


@pytest.mark.parametrize("query", ["sort=password", "state=lost", "page=0", "per_page=101", "colour=red", "view=all"])
async def test_a_list_that_cannot_be_made_is_refused(alice: Caller, query: str) -> None:
    """A misspelt filter is an error, not the whole list."""
    refused = await alice.get(f"/jobs?{query}")
    assert (refused.status, refused.code) == (422, "invalid_input")
    assert set(refused.body["fields"]) == {query.partition("=")[0]} or "state[0]" in refused.body["fields"]


async def test_administrators_list_everyones_jobs_and_nobody_else_does(
    desk: Desk, alice: Caller, bob: Caller, admin: Caller
) -> None:
    """`owner=*` and `owner=NAME` are theirs alone."""
    job = await desk.running_job(alice)
    assert (await bob.get("/jobs?owner=*")).code == "admin_only"
    assert (await bob.get(f"/jobs/{job['id']}")).code == "not_found"
    assert [each["id"] for each in (await admin.get("/jobs?owner=*")).body["items"]] == [job["id"]]
    assert [each["owner"] for each in (await admin.get("/jobs?owner=alice")).body["items"]] == ["alice"]
    assert (await admin.get("/jobs")).body["total"] == 0
    closed = await admin.post(f"/jobs/{job['id']}/close")
    assert closed.status == 200


async def test_the_status_text_is_laid_out_as_in_the_manual(desk: Desk, alice: Caller) -> None:
    """Status, Conditions, Events; sentences in the reader's language."""
    job = await desk.running_job(alice)
    status = await alice.get(f"/jobs/{job['id']}/status")
    assert status.status == 200
    assert status.body["status"] == "Running"
    assert status.body["text"].startswith("Status:\n  Running\nConditions:\n  Initialized\n  Ready\n")
    assert status.body["events"][0]["reason"] == "Submitted"
    assert status.body["events"][0]["message"] == "Submitted by alice"
    chinese = await alice.get(f"/jobs/{job['id']}/status", headers={"Accept-Language": "zh"})
    assert chinese.body["events"][0]["message"] == "alice 提交了作业"
    assert all(condition["ok"] for condition in status.body["conditions"])


async def test_one_person_has_so_many_jobs_and_no_more(both_desks: Desk) -> None:
    """The refusal says how many; the same submission again is still answered, and others are not concerned."""
    desk, most = both_desks, 2
    object.__setattr__(desk.ctx.settings, "max_jobs_per_user", most)  # this desk's own
    alice, bob = await desk.person("alice"), await desk.person("bob")
    first = await alice.post("/jobs", {"command": ["true"], "client_key": "k"})
    await alice.post("/jobs", {"command": ["true"]})
    refused = await alice.post("/jobs", {"command": ["true"]})
    assert (refused.status, refused.code) == (409, "too_many_jobs")
    assert str(most) in refused.body["detail"]
    assert (await alice.post("/jobs", {"command": ["true"], "client_key": "k"})).body["id"] == first.body["id"]
    assert (await bob.post("/jobs", {"command": ["true"]})).status == 201
    await desk.move(first.body["id"], State.FINISHED)
    assert (await alice.post("/jobs", {"command": ["true"]})).status == 201
