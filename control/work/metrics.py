"""One page of metrics for the whole platform: each gateway's counts, labelled with its name, and control's own.

State: what each gateway told last; it tells every few seconds, and its text goes with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

TEXT_LIMIT: Final = 256 * 1024
"""Characters of one gateway's counts; a longer text is not taken."""


class Metrics(Collector):
    """The last counts of every gateway. `token` lets a scraper on this machine read them, and nothing else."""

    def __init__(self, token: str, open_visits: Callable[[], int]) -> None:
        self.token = token
        self._open_visits = open_visits
        self._told: dict[str, str] = {}
        self._own = CollectorRegistry(auto_describe=False)
        ProcessCollector(registry=self._own)
        self._whole = CollectorRegistry(auto_describe=False)
        self._whole.register(self)

    def tell(self, gateway: str, text: str) -> None:
        """A gateway's counts, in Prometheus's text format."""
        if len(text) <= TEXT_LIMIT:
            self._told[gateway] = text

    def lost(self, gateway: str) -> None:
        """The gateway is gone."""
        self._told.pop(gateway, None)

    def text(self) -> str:
        """Everything, in the text format; each family once, each sample with the process that it is of."""
        return generate_latest(self._whole).decode()

    def collect(self) -> Iterator[Metric]:
        """For the registry."""
        merged: dict[str, Metric] = {}
        for gateway, text in sorted(self._told.items()):
            _merge(merged, text_string_to_metric_families(text), gateway)
        _merge(merged, self._own.collect(), "control")
        yield from merged.values()
        yield GaugeMetricFamily("starlight_control_gateways", "Gateways that told their counts", len(self._told))
        yield GaugeMetricFamily("starlight_control_visits_open", "Open visits control knows of", self._open_visits())


def _merge(merged: dict[str, Metric], families: Iterable[Metric], process: str) -> None:
    for family in families:
        whole = merged.setdefault(family.name, Metric(family.name, family.documentation, family.type))
        for sample in family.samples:
            whole.add_sample(sample.name, {"process": process, **sample.labels}, sample.value)
