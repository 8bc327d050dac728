"""Clusters over the API."""

from __future__ import annotations

from tests.control.api.desk import GIB, Caller, Desk


async def test_clusters_say_what_they_can_do(alice: Caller) -> None:
    """The default one first, with its default partition."""
    [cluster] = (await alice.get("/clusters")).body
    assert (cluster["name"], cluster["kind"], cluster["healthy"], cluster["default"]) == ("local", "local", True, True)
    [partition] = cluster["partitions"]
    assert (partition["cpus"], partition["memory_bytes"], partition["default"]) == (8, 16 * GIB, True)
    assert cluster["capabilities"]["isolation"] is True
    assert cluster["capabilities"]["suspend"] is True


async def test_a_cluster_that_does_not_answer_says_so(desk: Desk, alice: Caller) -> None:
    """It stays in the list, without what nobody can know now."""
    desk.runtime.is_away = True
    [cluster] = (await alice.get("/clusters")).body
    assert (cluster["healthy"], cluster["kind"], cluster["capabilities"]) == (False, "unknown", None)
    assert cluster["message"] == "The cluster does not answer; try again later."
