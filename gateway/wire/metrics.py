"""What a gateway process counts, and how it tells it in Prometheus's text format.

State: plain numbers, so that counting costs the visits next to nothing; the format is made only when
somebody asks. Open visits and their bytes are read off the list of live ones at that moment.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from gateway.core.refusals import Code
from gateway.wire import journal
from gateway.wire.visits import Visits

DIAL_BUCKETS_S: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Durations:
    """A histogram of seconds."""

    def __init__(self, bounds: tuple[float, ...] = DIAL_BUCKETS_S) -> None:
        """`bounds` are the buckets' upper ends, ascending; a last one holds the rest."""
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self.sum_s = 0.0

    def took(self, seconds: float) -> None:
        """One more."""
        self._counts[bisect_left(self._bounds, seconds)] += 1
        self.sum_s += seconds

    def buckets(self) -> list[tuple[str, float]]:
        """Upper ends as text, each with how many took no longer."""
        told, so_far = [], 0
        for bound, count in zip((*map(str, self._bounds), "+Inf"), self._counts, strict=True):
            so_far += count
            told.append((bound, float(so_far)))
        return told


class Metrics(Collector):
    """The counts of one process."""

    def __init__(self) -> None:
        """All zero."""
        self.dials = Durations()
        self._refusals: Counter[tuple[str, str]] = Counter()
        self._handshake_failures: Counter[str] = Counter()
        self._connections: Counter[str] = Counter()
        self._ended: Counter[str] = Counter()
        self._bytes: Counter[tuple[str, str]] = Counter()
        self._visits: Visits | None = None
        self._feed_age_s: Callable[[], float] | None = None
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)
        ProcessCollector(registry=self._registry)

    def watch(self, visits: Visits, feed_age_s: Callable[[], float]) -> None:
        """Where open visits, and the seconds since control last confirmed the table, are read."""
        self._visits, self._feed_age_s = visits, feed_age_s

    def refused(self, protocol: str, code: Code) -> None:
        """Somebody was told no."""
        self._refusals[protocol, code.value] += 1

    def handshake_failed(self, protocol: str) -> None:
        """A connection ended before it could ask for anything: TLS, or ssh's sign-in, came to nothing."""
        self._handshake_failures[protocol] += 1

    @contextmanager
    def connection(self, protocol: str) -> Iterator[None]:
        """An accepted connection, whether or not it becomes a visit, for as long as the block."""
        self.connected(protocol)
        try:
            yield
        finally:
            self.disconnected(protocol)

    def connected(self, protocol: str) -> None:
        """A connection was accepted; where no block lasts as long as it, `disconnected` tells its end."""
        self._connections[protocol] += 1

    def disconnected(self, protocol: str) -> None:
        """It has ended."""
        self._connections[protocol] -= 1

    def ended(self, visit: journal.Ended) -> None:
        """A visit has ended."""
        self._ended[visit.protocol] += 1
        self._bytes[visit.protocol, "in"] += visit.inward
        self._bytes[visit.protocol, "out"] += visit.outward

    def text(self) -> str:
        """Everything, in the text format."""
        return generate_latest(self._registry).decode()

    def collect(self) -> Iterator[Metric]:
        """For the registry: what there is to tell now."""
        live: Counter[str] = Counter()
        moved = self._bytes.copy()
        for visit in self._visits.live().values() if self._visits is not None else ():
            live[visit.protocol] += 1
            moved[visit.protocol, "in"] += visit.inward
            moved[visit.protocol, "out"] += visit.outward
        begun = self._ended + live
        yield _counter("starlight_visits", "Visits that began", ["protocol"], {(k,): v for k, v in begun.items()})
        yield _gauge("starlight_visits_open", "Visits that are open now", live)
        yield _counter("starlight_visit_bytes", "Bytes to jobs (in) and from them (out)", ["protocol", "way"], moved)
        yield _gauge("starlight_connections_open", "Accepted connections that are open now", self._connections)
        yield _counter("starlight_refusals", "Visitors who were told no", ["protocol", "code"], self._refusals)
        failures = {(protocol,): count for protocol, count in self._handshake_failures.items()}
        yield _counter("starlight_handshake_failures", "Connections whose handshake failed", ["protocol"], failures)
        dials = HistogramMetricFamily("starlight_dial_seconds", "How long connecting into jobs took")
        dials.add_metric([], self.dials.buckets(), self.dials.sum_s)
        yield dials
        yield GaugeMetricFamily("starlight_tasks", "Tasks on this process's event loop", _tasks())
        if self._feed_age_s is not None:
            yield GaugeMetricFamily(
                "starlight_feed_age_seconds", "Since control last confirmed what is served", self._feed_age_s()
            )


def _tasks() -> int:
    """How many tasks there are: what grows when a connection's end is not followed by its task's."""
    try:
        return len(asyncio.all_tasks())
    except RuntimeError:
        return 0  # asked outside of a loop


def _counter(name: str, told: str, labels: list[str], values: Mapping[Any, int]) -> Metric:
    """A family whose values are keyed by their labels, in order."""
    family = CounterMetricFamily(name, told, labels=labels)
    for words, value in sorted(values.items()):
        family.add_metric(list(words), value)
    return family


def _gauge(name: str, told: str, values: Counter[str]) -> Metric:
    family = GaugeMetricFamily(name, told, labels=["protocol"])
    for protocol, value in sorted(values.items()):
        family.add_metric([protocol], value)
    return family
