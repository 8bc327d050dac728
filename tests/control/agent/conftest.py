"""Makes the running bridge known to the tests below."""

from tests.control.bridge.running import bridge

__all__ = ["bridge"]
