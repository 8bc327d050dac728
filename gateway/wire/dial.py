"""The only opener of upstream connections. It takes an Admission and nothing else (law 1)."""

from __future__ import annotations

import socket

from gateway.contract.routes import Service
from gateway.core.decide import Admission
from gateway.core.refusals import Code, Refusal
from gateway.wire.bridge import Bridge, DialFault

__all__ = ["DialFault", "connect"]


async def connect(admission: Admission, *, bridge: Bridge, deadline_s: float) -> socket.socket:
    """A connected, non-blocking socket to the app behind the entry, made inside its job by the bridge.

    Raises DialFault, whose `refusal` is for the person, within `deadline_s` seconds.
    """
    if admission.target.service is not Service.PORT:
        refusal = Refusal(Code.UNSUPPORTED, admission.entry.job_id, admission.entry.name)
        raise DialFault(refusal, "a terminal has no port to dial")
    return await bridge.connect(admission, deadline_s=deadline_s)
