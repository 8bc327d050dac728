"""A person with a real browser: sign in, open JupyterLab through a private entry, share it, be cut."""

from __future__ import annotations

import time
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.system.product import Person, Product, eventually


@pytest.fixture(scope="module")
def lab(alice: Person) -> dict[str, Any]:
    """Alice's JupyterLab; its environment is built on first use, from PyPI."""
    job = alice.submit(app="jupyterlab", name="lab")
    alice.wait(job["id"], "running", within_s=420)
    eventually(lambda: b"is running at" in alice.logs(job["id"]), within_s=90, what="JupyterLab serving")
    return job


def signed_in(browser: Browser, product: Product, person: Person, **options: Any) -> BrowserContext:
    """A browser of that person's own, signed in at the console as a person does it."""
    wanted = {"locale": "zh-CN", "reduced_motion": "reduce", "viewport": {"width": 1280, "height": 800}, **options}
    context = browser.new_context(**wanted)
    page = context.new_page()
    page.goto(f"http://127.0.0.1:{product.ports['CONSOLE']}/")
    page.get_by_label("用户名").fill(person.name)
    page.get_by_label("密码", exact=True).fill(person.password)
    page.get_by_role("button", name="登录").click()
    expect(page.get_by_role("region", name="运行作业")).to_be_visible()
    return context


def launch_notebook(page: Page) -> None:
    """Opens a new notebook from JupyterLab's launcher and waits for its kernel."""
    page.locator('.jp-LauncherCard[data-category="Notebook"]').first.click(timeout=90_000)
    expect(page.get_by_text("| Idle")).to_be_visible(timeout=60_000)


def run_cell(page: Page, code: str, shown: str) -> None:
    """Types a cell into the notebook that is open and runs it on the kernel, over the WebSocket."""
    page.locator(".jp-Notebook .cm-content").last.click()
    page.keyboard.type(code)
    page.keyboard.press("Shift+Enter")
    expect(page.locator(".jp-OutputArea-output", has_text=shown).first).to_be_visible(timeout=60_000)


@pytest.mark.timeout(600)
def test_jupyterlab_through_a_private_entry(
    browser: Browser, product: Product, alice: Person, bob: Person, lab: dict[str, Any]
) -> None:
    """The owner's kernel runs a cell; another is refused, redeems, gets in, and is cut within 1 s of the cancel."""
    entry = next(entry for entry in lab["entries"] if entry["protocol"] == "http")
    owner = signed_in(browser, product, alice)
    page = owner.new_page()
    page.goto(entry["url"] + "lab?reset")
    launch_notebook(page)
    run_cell(page, "6 * 7", "42")

    guest = signed_in(browser, product, bob)
    refused = guest.new_page()
    refused.goto(entry["url"] + "lab?reset")
    expect(refused.get_by_text("共享码").first).to_be_visible()
    code = alice.call("PUT", f"/entries/{entry['id']}/share", {})["code"]
    bob.call("POST", "/shares/redeem", {"code": code})

    shared = guest.new_page()
    closed: list[float] = []
    shared.on("websocket", lambda ws: ws.on("close", lambda _: closed.append(time.monotonic())))
    with shared.expect_websocket(timeout=90_000):
        shared.goto(entry["url"] + "lab?reset")
        launch_notebook(shared)
    run_cell(shared, "40 + 3", "43")
    before = len(closed)
    cancelled = time.monotonic()
    alice.call("DELETE", f"/entries/{entry['id']}/share")
    shared.wait_for_timeout(1_000)
    assert len(closed) > before, "the kernel's socket outlived the cancel"
    assert closed[before] - cancelled < 1.2
    run_cell(page, "7 * 9", "63")
    guest.close()
    owner.close()
