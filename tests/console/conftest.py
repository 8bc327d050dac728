"""A real product, real people, and a real browser whose every error and policy violation fails the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tests.console.page import Visit, sign_in
from tests.system.product import Person, Product

OpenPage = Callable[..., Visit]


@pytest.fixture(scope="session")
def product(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    """The platform, started as a person starts it; its jobs end with it. No authority answers at its directory."""
    told = {"STARLIGHT_ACME_DIRECTORY": "https://127.0.0.1:9/directory", "STARLIGHT_ACME_TERMS_AGREED": "1"}
    instance = Product(tmp_path_factory.mktemp("console") / "var", told)
    instance.start()
    yield instance
    instance.stop()


@pytest.fixture(scope="session")
def console_url(product: Product) -> str:
    return f"http://127.0.0.1:{product.ports['CONSOLE']}"


@pytest.fixture(scope="session")
def admin(product: Product) -> Person:
    return product.admin()


@pytest.fixture(scope="session")
def alice(product: Product) -> Person:
    return product.person("alice")


@pytest.fixture(scope="session")
def bob(product: Product) -> Person:
    return product.person("bob")


@pytest.fixture
def newcomer(product: Product, request: pytest.FixtureRequest) -> Person:
    """A person without any job, made for this test alone."""
    name = "n" + "".join(char for char in request.node.name.lower() if char.isalnum())[-28:]
    return product.person(name)


@pytest.fixture
def open_page(browser: Browser, console_url: str) -> Iterator[OpenPage]:
    """Opens the console for a person, signed in, in a browser of their own; `path` may name any page."""
    visits: list[Visit] = []
    contexts: list[BrowserContext] = []

    def open_for(person: Person | None, path: str = "/jobs", *, language: str = "zh-CN", **options: Any) -> Visit:
        wanted = {"viewport": {"width": 1280, "height": 800}, "reduced_motion": "reduce", "locale": "zh-CN", **options}
        context = browser.new_context(**wanted)
        contexts.append(context)
        context.grant_permissions(["clipboard-read", "clipboard-write"], origin=console_url)
        page: Page = context.new_page()
        page.add_init_script(f"localStorage['starlight.language'] ??= '{language}'")
        visit = Visit(page, console_url)
        visits.append(visit)
        if person is not None:
            sign_in(visit, person, path)
        else:
            visit.go(path)
        return visit

    yield open_for
    for context in contexts:
        context.close()
    for visit in visits:
        assert visit.faults == [], f"the browser complained: {visit.faults}"
