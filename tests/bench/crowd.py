"""100,000 entries more in a product that runs: written into the table that feeds the gateways, as control writes them.

They are what gateways hold and nothing more: control's own lists of jobs and entries stay short.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from control.store.secrets import load_vault
from gateway import clock
from gateway.contract.codec import Record, encode_record, key_of, kind_of
from gateway.contract.people import User
from gateway.contract.routes import Certificate, Entry, Job, JobPhase, Level, PortKind, Protocol, Target
from tests.bench.door import Door

ENTRIES_OF_A_JOB: Final = 4
_PEOPLE: Final = 1000
_FIRST: Final = 1_000_000
"""Ids from here on are ours."""


def add(door: Door, entries: int) -> None:
    """Writes that many entries with their jobs and owners; gateways have them with the next change."""
    write(door, _records(entries))


def write(door: Door, records: Iterable[Record]) -> None:
    """Writes records beside those that control derived; the key of a certificate is sealed as control seals it."""
    vault = load_vault(door.product.data / "control" / "vault.key")
    with closing(_database(door)) as db, db:
        revision = _revision(db)
        rows = []
        for number, record in enumerate(records, revision + 1):
            payload = encode_record(record)
            if isinstance(record, Certificate):
                payload["key_pem"] = vault.seal(f"certificate:{record.id}", record.key_pem)
            rows.append((kind_of(record), key_of(record), number, json.dumps(payload), clock.now()))
        db.executemany("INSERT INTO record (kind, key, revision, payload, written_at) VALUES (?, ?, ?, ?, ?)", rows)
        db.execute("UPDATE counter SET value = ? WHERE name = 'feed'", (revision + len(rows),))


def change(door: Door, level: str) -> float:
    """Changes who may pass the entry `web`; seconds until all processes had it, which is when control answers."""
    entry = door.entry("web")["id"]
    began = time.perf_counter()
    said = door.owner.call("PATCH", f"/entries/{entry}", {"level": level})
    return float("inf") if said["pending"] else time.perf_counter() - began


def have_listed_again(door: Door) -> None:
    """With the next change every gateway is too far behind to watch on, and lists anew on the same connection."""
    with closing(_database(door)) as db, db:
        row = ("horizon", str(_revision(db) + 1))
        db.execute(
            "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value", row
        )


def _database(door: Door) -> sqlite3.Connection:
    return sqlite3.connect(Path(door.product.data) / "control" / "starlight.db", timeout=60)


def _revision(db: sqlite3.Connection) -> int:
    (value,) = db.execute("SELECT value FROM counter WHERE name = 'feed'").fetchone()
    return int(value)


def _records(entries: int) -> Iterator[Record]:
    for user in range(_PEOPLE):
        yield User(_FIRST + user, f"person-{user}", "user", disabled=False)
    for number in range(entries // ENTRIES_OF_A_JOB):
        owner, job = number % _PEOPLE, f"jupyter-{_FIRST + number}"
        name = f"person-{owner}"
        since = "2026-12-01T10:00:00Z"
        yield Job(job, "jupyter", _FIRST + owner, name, "local", JobPhase.RUNNING, "running", "node1", since, "local")
        for place, protocol in enumerate((Protocol.HTTP, Protocol.HTTPS, Protocol.TCP, Protocol.SSH)):
            entry = _FIRST + number * ENTRIES_OF_A_JOB + place
            label = hashlib.md5(str(entry).encode(), usedforsecurity=False).hexdigest()
            yield Entry(
                id=entry,
                label=label,
                name=f"{protocol}-entry",
                protocol=protocol,
                level=Level.PRIVATE,
                port_kind=PortKind.FIXED,
                port=8888,
                host=f"{label}.proxy.localhost",
                job_id=job,
                owner_id=_FIRST + owner,
                target=Target("local", job, port=8000 + place),
            )
