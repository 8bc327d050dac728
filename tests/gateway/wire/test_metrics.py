"""Metrics: what was counted, in a format that Prometheus reads."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from gateway.core.refusals import Code, Refusal
from gateway.wire.metrics import Durations, Metrics
from gateway.wire.visits import Visits
from tests.gateway import world


def values(text: str) -> dict[tuple[str, ...], float]:
    """The samples by name and label values."""
    families = text_string_to_metric_families(text)
    return {(s.name, *s.labels.values()): s.value for family in families for s in family.samples}


def ignore(_refusal: Refusal) -> None:
    """A cut that nobody looks at."""


async def test_live_and_ended_visits_are_one_count() -> None:
    """Bytes of visits that are still open are in it too."""
    metrics = Metrics()
    visits = Visits("web-0", tell=metrics.ended)
    metrics.watch(visits, lambda: 2.5)
    async with visits.open(world.admission(world.entry()), "https", "192.0.2.7", ignore) as visit:
        visit.count(3, 4)
        told = values(metrics.text())
        assert told["starlight_visits_total", "https"] == 1
        assert told["starlight_visits_open", "https"] == 1
        assert told["starlight_visit_bytes_total", "https", "in"] == 3
        visit.count(1, 0)
    told = values(metrics.text())
    assert told["starlight_visits_total", "https"] == 1
    assert ("starlight_visits_open", "https") not in told
    assert told["starlight_visit_bytes_total", "https", "in"] == 4
    assert told["starlight_visit_bytes_total", "https", "out"] == 4
    assert told["starlight_feed_age_seconds",] == 2.5
    assert told["starlight_tasks",] == 1


def test_refusals_handshakes_and_connections_are_counted() -> None:
    """Each by its label; the process itself is told too."""
    metrics = Metrics()
    metrics.refused("https", Code.BUSY)
    metrics.refused("https", Code.BUSY)
    metrics.handshake_failed("https")
    with metrics.connection("https"):
        told = values(metrics.text())
    assert told["starlight_refusals_total", "gateway_busy", "https"] == 2
    assert told["starlight_handshake_failures_total", "https"] == 1
    assert told["starlight_connections_open", "https"] == 1
    assert told["process_open_fds",] > 0
    assert told["starlight_tasks",] == 0
    assert values(metrics.text())["starlight_connections_open", "https"] == 0


def test_durations_fall_into_their_buckets() -> None:
    """Each bucket holds all that took no longer."""
    durations = Durations((0.1, 1.0))
    for seconds in (0.05, 0.1, 0.5, 7.0):
        durations.took(seconds)
    assert durations.buckets() == [("0.1", 2.0), ("1.0", 3.0), ("+Inf", 4.0)]
    assert durations.sum_s == 7.65
