"""One page of metrics: every gateway's samples under their names, each family once."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from control.work import metrics as room
from control.work.metrics import Metrics

WEB = """# HELP starlight_visits_total Visits that began
# TYPE starlight_visits_total counter
starlight_visits_total{protocol="https"} 3.0
# HELP process_open_fds fds
# TYPE process_open_fds gauge
process_open_fds 7.0
"""


def samples(text: str) -> dict[tuple[str, str], float]:
    """Values by name and process."""
    families = text_string_to_metric_families(text)
    return {(s.name, s.labels.get("process", "")): s.value for family in families for s in family.samples}


def test_samples_are_told_by_process() -> None:
    """Two gateways and control itself; a gateway that is gone is told no more."""
    metrics = Metrics("t", lambda: 5)
    metrics.tell("web-0", WEB)
    metrics.tell("web-1", WEB.replace("3.0", "4.0"))
    text = metrics.text()
    told = samples(text)
    assert told["starlight_visits_total", "web-0"] == 3
    assert told["starlight_visits_total", "web-1"] == 4
    assert told["process_open_fds", "web-0"] == 7
    assert told["process_open_fds", "control"] > 0
    assert told["starlight_control_visits_open", ""] == 5
    assert told["starlight_control_gateways", ""] == 2
    assert text.count("# TYPE starlight_visits_total counter") == 1
    metrics.lost("web-1")
    assert ("starlight_visits_total", "web-1") not in samples(metrics.text())


def test_a_text_without_end_is_not_taken() -> None:
    """The last fit one stays."""
    metrics = Metrics("t", int)
    metrics.tell("web-0", "x" * (room.TEXT_LIMIT + 1))
    assert samples(metrics.text())["starlight_control_gateways", ""] == 0
