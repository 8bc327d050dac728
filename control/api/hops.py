"""The hop from a sign-in on the console to an entry on another origin."""

from __future__ import annotations

from typing import Final

from control.actions import hops
from control.api.asked import Asked
from control.api.route import Body, Shape, route
from control.api.values import Secret


class HopWish(Body):
    """What the entry's gateway gave the browser: the entry's label, and the state and challenge of this one hop."""

    entry: Secret
    state: Secret
    challenge: Secret


class Hop(Shape):
    """Where the browser goes next: the entry's own origin, with a one-time code in the fragment."""

    url: str


async def make_hop(asked: Asked, body: HopWish) -> Hop:
    """Decides whether the person may pass the entry, and makes the one-time code that says so to its gateway."""
    return Hop(url=await hops.hop(asked.ctx, asked.who, body.entry, body.state, body.challenge))


ROUTES: Final = (route("POST", "/hops", make_hop, status=201),)
