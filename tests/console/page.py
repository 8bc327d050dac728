"""What the page tests do over and over: sign in, list what the browser complained of, ask axe, measure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import ConsoleMessage, Page, expect

from tests.system.product import Person

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = "/usr/bin/chromium"
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
]
AXE = ROOT / "control/console/node_modules/axe-core/axe.min.js"
RULES = ("wcag2a", "wcag2aa", "wcag21aa")
# The browser reports every answer >= 400 as an error; those are the platform's ordinary refusals.
ORDINARY = re.compile(r"Failed to load resource: the server responded with a status of 4\d\d")


@dataclass(slots=True)
class Visit:
    """A page of the console and everything the browser held against it (script errors, CSP violations)."""

    page: Page
    console_url: str
    faults: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        # Playwright hangs a mark on a bound method, for which a slotted object has no room.
        self.page.on("console", lambda message: self._heard(message))  # noqa: PLW0108
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))

    def go(self, path: str) -> None:
        """Opens a path of the console."""
        self.page.goto(self.console_url + path)

    def accessible(self) -> list[str]:
        """What axe finds against WCAG 2.1 A and AA, one line each."""
        # The page's policy forbids eval; the debugger is not bound by it.
        session = self.page.context.new_cdp_session(self.page)
        session.send("Runtime.evaluate", {"expression": AXE.read_text()})
        session.detach()
        found: list[dict[str, Any]] = self.page.evaluate(
            "tags => axe.run({runOnly: {type: 'tag', values: tags}}).then(result => result.violations)", list(RULES)
        )
        return [f"{rule['id']}: {node['target']} {node['failureSummary']}" for rule in found for node in rule["nodes"]]

    def sideways(self) -> int:
        """By how many pixels the page is wider than its window."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - innerWidth"))

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not ORDINARY.search(message.text):
            self.faults.append(message.text)


def sign_in(visit: Visit, person: Person, path: str = "/jobs") -> None:
    """Signs in through the form, as people do, and waits for the page they wanted."""
    visit.go(path)
    visit.page.locator("input[name=username]").fill(person.name)
    visit.page.locator("input[name=password]").fill(person.password)
    visit.page.keyboard.press("Enter")
    expect(visit.page.locator("#main, .page .panel")).to_be_visible()
    expect(visit.page.locator("input[name=password]")).to_have_count(0)
