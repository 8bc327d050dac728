"""As which visit a connection stands in the list of live ones: on the admission of its last request.

State: that visit, and the one before it for as long as the change takes.
"""

from __future__ import annotations

from gateway.core.decide import Admission
from gateway.core.refusals import Refusal
from gateway.wire.gate import Gate
from gateway.wire.visits import Cut, Visit


class Standing:
    """One connection's. `visit` is None until somebody was admitted on it."""

    def __init__(self, gate: Gate, protocol: str, address: str, cut: Cut) -> None:
        """`cut` ends what the connection does."""
        self.visit: Visit | None = None
        self._gate = gate
        self._protocol = protocol
        self._address = address
        self._cut = cut

    def on(self, admission: Admission) -> bool:
        """Whether the connection stands on just this admission."""
        return self.visit is not None and self.visit.admission == admission

    def enter(self, admission: Admission) -> Refusal | None:
        """Stands on this admission, from the same turn of the loop in which it was made.

        Returns why it does not, when there is no room for another visit.
        """
        full = self._gate.room(admission.entry, self._address, instead_of=self.visit)
        if full is not None:
            return full
        before = self.visit
        self.visit = self._gate.visits.open(admission, self._protocol, self._address, self._cut).begin()
        if before is not None:
            before.leave()
        return None

    def take_over(self, visit: Visit) -> None:
        """Stands on a visit that began before."""
        self.visit = visit
        visit.pass_on(self._cut)

    def hand_over(self, cut: Cut) -> Visit | None:
        """The visit goes on without this connection: from now on `cut` ends it."""
        visit, self.visit = self.visit, None
        if visit is not None:
            visit.pass_on(cut)
        return visit

    def count(self, sent: int, received: int) -> None:
        """Adds bytes that went to the job and came from it."""
        if self.visit is not None:
            self.visit.count(sent, received)

    def leave(self) -> None:
        """The connection has ended."""
        if self.visit is not None:
            self.visit.leave()
        self._cut = _over


def _over(_refusal: Refusal) -> None:
    """Stands for what can be cut no more, so that the connection and its standing hold no ring together."""
