"""Reports of live visits: there and back, and nothing of another shape."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gateway.contract.visits import LiveVisit, VisitsReport, decode_report, encode_report

VISIT = LiveVisit("web-0-ab-1", 17, 1, "alice", "192.0.2.7", "https", 1_800_000_000.5, 10, 20)


def test_a_report_comes_back_as_it_was() -> None:
    """Through JSON, as on the feed."""
    report = VisitsReport(True, (VISIT,), {"web-0-ab-2": (1, 2)}, ("web-0-ab-3",))
    assert decode_report(json.loads(json.dumps(encode_report(report)))) == report
    assert decode_report({}) == VisitsReport()


@pytest.mark.parametrize("plain", [{"open": [{"id": "x"}]}, {"bytes": {"x": [1]}}, {"gone": "x"}, {"open": 7}])
def test_another_shape_is_refused(plain: dict[str, Any]) -> None:
    """The feed of that gateway ends, and it begins anew."""
    with pytest.raises(ValueError, match=r"."):
        decode_report(plain)
