"""One product for all system tests of a session, and what is shared to speak to it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.system.product import Person, Product


@pytest.fixture(scope="session")
def product(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    """The platform, started as a person starts it; its jobs end with it."""
    instance = Product(tmp_path_factory.mktemp("product") / "var")
    instance.start()
    yield instance
    instance.stop()


@pytest.fixture(scope="session")
def alice(product: Product) -> Person:
    return product.person("alice")


@pytest.fixture(scope="session")
def bob(product: Product) -> Person:
    return product.person("bob")
