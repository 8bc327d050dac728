"""The doorstep: bounded, and a crowd keeps nobody out."""

from dataclasses import dataclass

from gateway.entries.ssh.doorstep import Doorstep


@dataclass(eq=False)
class Comer:
    """A connection that waits."""

    address: str
    named: bool = False
    gone: bool = False

    def send_away(self) -> None:
        """It is ended."""
        self.gone = True


def test_the_oldest_silent_neighbour_makes_room() -> None:
    """From one address only so many wait; others are not touched."""
    step = Doorstep(all_limit=10, address_limit=3)
    other = Comer("b")
    step.enter(other)
    named, silent, later, last = Comer("a", named=True), Comer("a"), Comer("a"), Comer("a")
    for comer in (named, silent, later, last):
        step.enter(comer)
    assert [comer.gone for comer in (other, named, silent, later, last)] == [False, False, True, False, False]
    assert len(step) == 4


def test_when_all_are_named_the_oldest_goes() -> None:
    """The bound holds whatever they said."""
    step = Doorstep(all_limit=2, address_limit=2)
    first, second, third = (Comer(address, named=True) for address in "abc")
    for comer in (first, second, third):
        step.enter(comer)
    assert [first.gone, second.gone, third.gone] == [True, False, False]


def test_who_leaves_makes_room() -> None:
    """Signing in, or ending, frees the place; leaving twice does no harm."""
    step = Doorstep(all_limit=1, address_limit=1)
    first, second = Comer("a"), Comer("a")
    step.enter(first)
    step.leave(first)
    step.leave(first)
    step.enter(second)
    assert not first.gone
    assert len(step) == 1
