"""What a gateway and control say to each other on the feed: one JSON object a line, UTF-8.

gateway: {"hello": {"v": 1, "name": "web-0", "role": "web", "instance": RANDOM}}
control: {"welcome": {"lease_s": 10, "epoch": TEXT}}
gateway: {"list": {}}                         all records
control: {"slice": {"records": {KIND: [record...], ...}, "revision": N, "last": bool}} ...
gateway: {"watch": {"from": N}}               changes after N, for ever
control: {"changes": [change...], "revision": N}, or {"gone": true}: list again
gateway: {"ack": N}                           "my table holds revision N"; also the heartbeat, every 3 s
gateway: {"report": {"ports": {"40123": "busy"}}}   random ports it could not get; {} when all are held
gateway: {"report": {"visits": {...}}}        who is connected: all at first, then changes; see contract/visits.py
gateway: {"report": {"metrics": TEXT}}        its counts in Prometheus's text format, with the heartbeat
control: {"cut": {"visits": [ID...]}}         end these; reported as gone once they are, or when there are none such
gateway: {"ask": {"id": N, "question": QUESTION, ...}}
control: {"answer": {"id": N, "ok": bool, ...}}

An epoch names the database: when it changes, revisions start anew and the gateway lists again.
Questions that only control can answer; silence or a lost connection is no:
  password  {user, password, address}                 -> {user_id} | {code, retry_after_s?}
  exchange  {entry_id, code, challenge}               -> {user_id, session_id, grounds: []} | {code}
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

FEED_VERSION: Final = 1
LINE_LIMIT: Final = 4 * 1024 * 1024
"""Bytes of one line on the feed; a longer one ends the connection."""
SLICE_RECORDS: Final = 500
"""Records in one slice of a list."""
LEASE_S: Final = 10.0
HEARTBEAT_S: Final = 3.0
REPORT_S: Final = 1.0
"""Seconds between two reports of live visits at most; nothing is said when nothing changed."""


class Question(StrEnum):
    """What a gateway may ask control."""

    PASSWORD = "password"  # noqa: S105 - the name of a question
    EXCHANGE = "exchange"
