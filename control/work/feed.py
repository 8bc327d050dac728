"""What gateways are fed: records and changes out of the database, and answers to their questions.

Records were written by `store/feed.py` in the transactions that changed them; here they are read, and
their private fields opened. A gateway's question costs one short transaction, a password also a hash
in a thread.
"""

from __future__ import annotations

import dataclasses
import json
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any, Final

from control.domain.errors import Code, Problem
from control.store import audit, feed, shares
from control.store.engine import Database
from control.store.secrets import Vault
from control.store.signin import SignIn
from control.work.gateways import Gateways
from control.work.metrics import Metrics
from control.work.visits import Visits
from gateway.contract.codec import Change, Record, decode_record
from gateway.contract.feed import SLICE_RECORDS, Question
from gateway.contract.routes import Certificate, Secret
from gateway.contract.slices import Encoded, encoded

log = logging.getLogger(__name__)

_FIRST: Final = ("", "")
_SEALED: Final = ("certificate", "secret")
"""Kinds of records that have a private field."""


class Feed:
    """Where the control end of the feed takes its records and answers from (gateway.feed.served.FeedSource)."""

    def __init__(
        self,
        db: Database,
        vault: Vault,
        gateways: Gateways,
        sign_in: SignIn,
        visits: Visits,
        metrics: Metrics,
        *,
        epoch: str,
        now: Callable[[], float],
    ) -> None:
        self.epoch = epoch
        self._db = db
        self._vault = vault
        self._sign_in = sign_in
        self._now = now
        self.acknowledged = gateways.acknowledged
        self.ports = gateways.ports
        self.visits = visits.report
        self.cuts = visits.cuts
        self.metrics = metrics.tell
        self._gateways = gateways
        self._visits = visits
        self._metrics = metrics

    def registered(self, name: str, role: str, instance: str) -> None:
        """A process speaks for the gateway from now on."""
        self._visits.registered(name, instance)
        self._gateways.registered(name, role, instance)

    def lost(self, name: str) -> None:
        """The gateway's lease lapsed: what it told of is gone with it."""
        self._gateways.lost(name)
        self._visits.lost(name)
        self._metrics.lost(name)

    async def slices(self) -> AsyncIterator[tuple[list[Encoded], int, bool]]:
        """All records, passed on unread but for those with a private field.

        Each slice is a transaction of its own: what changes meanwhile is sent again by the watch.
        """
        async with self._db.read() as session:
            revision = await feed.latest(session)
        after = _FIRST
        while True:
            async with self._db.read() as session:
                rows = await feed.slice_after(session, after, SLICE_RECORDS + 1)
            last = len(rows) <= SLICE_RECORDS
            rows = rows[:SLICE_RECORDS]
            yield [self._passed_on(row) for row in rows], revision, last
            if last:
                return
            after = (rows[-1].kind, rows[-1].key)

    async def changes_after(self, revision: int, limit: int) -> list[Change] | None:
        """The next changes, ascending; None when they are no longer known."""
        async with self._db.read() as session:
            rows = await feed.changed_after(session, revision, limit)
        if rows is None:
            return None
        return [Change(row.revision, row.kind, row.key, self._open(row.kind, row.payload)) for row in rows]

    async def wait_for(self, revision: int) -> None:
        """Returns when something newer than `revision` may exist: after a hint it is not looked up once more."""
        seen = self._db.hints.generation(feed.TOPIC)
        async with self._db.read() as session:
            if await feed.latest(session) > revision:
                return
        await self._db.hints.wait(feed.TOPIC, seen)

    async def answer(self, question: Question, arguments: dict[str, Any]) -> dict[str, Any]:
        """The answer's fields, with `ok`. What is asked wrongly is answered with no."""
        try:
            match question:
                case Question.PASSWORD:
                    return await self._password(**_texts(arguments, "user", "password", "address"))
                case Question.EXCHANGE:
                    return await self._exchange(int(arguments["entry_id"]), **_texts(arguments, "code", "challenge"))
        except (KeyError, TypeError, ValueError) as fault:
            log.warning("a gateway asked %s wrongly: %s", question, type(fault).__name__)
            return {"ok": False, "code": Code.MALFORMED.value}

    async def _password(self, user: str, password: str, address: str) -> dict[str, Any]:
        now = self._now()
        found = await self._sign_in.check(user, password, address, now)
        async with self._db.write() as session:
            await audit.record(
                session,
                at=now,
                user_id=None if isinstance(found, Problem) else found.id,
                user_name=user,
                action="ssh.sign_in",
                subject=f"user:{user}",
                address=address,
                outcome=found.code.value if isinstance(found, Problem) else "done",
            )
        if isinstance(found, Problem):
            retry = {"retry_after_s": found.params["retry_after_s"]} if "retry_after_s" in found.params else {}
            return {"ok": False, "code": found.code.value, **retry}
        return {"ok": True, "user_id": found.id}

    async def _exchange(self, entry_id: int, code: str, challenge: str) -> dict[str, Any]:
        async with self._db.write() as session:
            taken = await shares.take_hop(
                session, code_hash=shares.hop_hash(code), entry_id=entry_id, challenge=challenge, now=self._now()
            )
        if taken is None:
            return {"ok": False, "code": Code.HOP_INVALID.value}
        user_id, session_id = taken
        return {"ok": True, "user_id": user_id, "session_id": session_id, "grounds": []}

    def _passed_on(self, row: feed.Stored) -> Encoded:
        """The record for a slice: what has a private field is opened, the rest goes as it lies."""
        if row.kind not in _SEALED:
            return Encoded(row.kind, row.text)
        record = self._open(row.kind, json.loads(row.text))
        assert record is not None, "a slice holds no tombstones"
        return encoded(record)

    def _open(self, kind: str, payload: Any) -> Record | None:
        """The record of a payload, with its private field opened; None for a tombstone."""
        if payload is None:
            return None
        record = decode_record(kind, payload)
        match record:
            case Certificate():
                key_pem = self._vault.open(f"certificate:{record.id}", record.key_pem)
                return dataclasses.replace(record, key_pem=key_pem)
            case Secret():
                return dataclasses.replace(record, value=self._vault.open(f"secret:{record.use}", record.value))
            case _:
                return record


def _texts(arguments: dict[str, Any], *names: str) -> dict[str, str]:
    found = {name: arguments[name] for name in names}
    if not all(isinstance(text, str) for text in found.values()):
        raise TypeError("texts expected")
    return found
