"""Every page in both languages and both themes: accessible, within the policy, no wider than a phone; pictures kept."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.console.conftest import OpenPage
from tests.console.page import ROOT, Visit
from tests.system.product import Person

SHOTS = ROOT / "tests/console/shots"
# Words that stay Latin in Chinese text: names of programs, protocols, and what people typed themselves.
LATIN = re.compile(
    r"\b(ssh-default|ssh-ed25519|Starlight|JupyterLab|GPU|CPU|GiB|MiB|KiB|SSH|ssh|http|https|tcp|ID|API|Conditions?|Events?|EN|English|Esc|Enter|bash|admin"
    r"|Initialized|Ready|ContainersReady|PodScheduled|CST|Normal|Warning|Status|Running|AAAA|tensorboard|Notebook"
    r"|STARLIGHT_PORT_\w*|id_ed25519\.pub)\b"
)


@pytest.fixture(scope="module")
def job(alice: Person) -> Iterator[dict[str, Any]]:
    """A running job with one entry of each kind, one of them open, one shared."""
    entries = [
        {"name": "tensorboard", "protocol": "http", "level": "open", "target_port": 6006},
        {"name": "lab", "protocol": "http", "level": "private", "target_port": 8888},
        {"name": "web-terminal", "protocol": "http", "level": "private", "service": "terminal"},
        {"name": "raw", "protocol": "tcp", "level": "open", "target_port": 5000, "port": "random"},
    ]
    job = alice.run(["sh", "-c", "seq 1 500; sleep 3000"], name="大模型微调-4", entries=entries)
    alice.call("PUT", f"/entries/{alice.entry(job, 'lab')['id']}/share", {})
    done = alice.submit(["sh", "-c", "exit 3"], name="预处理")
    alice.wait(done["id"], "failed")
    yield job
    alice.call("POST", f"/jobs/{job['id']}/close")


def pages(job: dict[str, Any]) -> dict[str, str]:
    return {
        "jobs": "/jobs",
        "history": "/jobs/history",
        "submit": "/jobs?submit=",
        "job": f"/jobs/{job['id']}",
        "status": f"/jobs/{job['id']}?section=status",
        "log": f"/jobs/{job['id']}?section=logs",
        "redeem": "/redeem",
        "profile": "/profile",
        "users": "/users",
        "lost": "/no/such/page",
        "hop": "/hop?entry=0&state=0&challenge=0",
    }


def settled(page: Page) -> None:
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(300)


@pytest.mark.timeout(180)
@pytest.mark.parametrize(
    ("language", "theme"),
    [
        ("zh-CN", "light"),
        ("en", "dark"),
        pytest.param("zh-CN", "dark", marks=pytest.mark.slow),
        pytest.param("en", "light", marks=pytest.mark.slow),
    ],
)
def test_every_page(
    open_page: OpenPage, admin: Person, alice: Person, job: dict[str, Any], language: str, theme: str
) -> None:
    """axe finds nothing, nothing is wider than the window, and the picture is kept for people to look at."""
    SHOTS.mkdir(exist_ok=True)
    findings: dict[str, list[str]] = {}
    for person, names in ((alice, [name for name in pages(job) if name != "users"]), (admin, ["users"])):
        visit = open_page(person, language=language, color_scheme=theme)
        for name in names:
            visit.go(pages(job)[name])
            settled(visit.page)
            visit.page.screenshot(path=SHOTS / f"{name}-{language}-{theme}.png")
            findings[name] = visit.accessible() + (["wider than the window"] if visit.sideways() > 0 else [])
    assert {name: found for name, found in findings.items() if found} == {}


@pytest.mark.timeout(120)
def test_a_phone(open_page: OpenPage, alice: Person, job: dict[str, Any]) -> None:
    """At 390 px no page scrolls sideways, and state, view and close of a job are in reach."""
    visit = open_page(alice, viewport={"width": 390, "height": 844})
    wide = []
    for name, path in pages(job).items():
        visit.go(path)
        settled(visit.page)
        visit.page.screenshot(path=SHOTS / f"{name}-phone.png")
        if visit.sideways() > 0:
            wide.append(name)
    assert wide == []
    visit.go("/jobs")
    line = visit.page.get_by_role("row", name=re.compile("大模型微调-4"))
    for part in (
        line.get_by_text("运行中"),
        line.get_by_text("查看"),
        line.get_by_role("button", name="关闭 大模型微调-4"),
    ):
        expect(part).to_be_in_viewport()


def test_chinese_pages_speak_chinese(open_page: OpenPage, alice: Person, job: dict[str, Any]) -> None:
    """No stray English word on them, names and commands aside."""
    visit = open_page(alice)
    stray: dict[str, list[str]] = {}
    for name in ("jobs", "history", "submit", "redeem", "profile", "lost"):
        visit.go(pages(job)[name])
        settled(visit.page)
        shown: str = visit.page.evaluate(
            "[...document.querySelectorAll('body *:not(code, .mono, kbd, script, style)')]"
            ".flatMap(e => [...e.childNodes].filter(n => n.nodeType === 3).map(n => n.textContent)).join(' ')"
        )
        words = re.findall(
            r"[A-Za-z]{2,}", LATIN.sub(" ", shown.replace(alice.name, " ").replace("local", " ").replace("lab", " "))
        )
        if words:
            stray[name] = words
    assert stray == {}


def test_the_theme_is_there_before_the_first_paint(browser: Browser, console_url: str) -> None:
    """A page that loads in the dark is dark though its script has not run yet."""
    context = browser.new_context(color_scheme="dark")
    page = context.new_page()
    page.route(re.compile(r"/assets/index-.*\.js"), lambda route: route.abort())
    page.goto(console_url, wait_until="domcontentloaded")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    context.close()


def test_the_theme_switch_is_remembered(open_page: OpenPage, alice: Person) -> None:
    """Dark in a light system stays dark after a reload; back to the system forgets it."""
    visit: Visit = open_page(alice, color_scheme="light")
    page = visit.page
    theme = "document.documentElement.dataset.theme"
    for word, expected in (("深色", "dark"), ("跟随系统", "light")):
        page.get_by_role("button", name="主题").click()
        page.get_by_role("menuitem", name=word).click()
        page.reload()
        assert page.evaluate(theme) == expected


def test_the_first_load_is_small(open_page: OpenPage) -> None:
    """The sign-in page needs at most 200 kB of script, compressed or not being the server's affair."""
    visit = open_page(None, "/sign-in")
    settled(visit.page)
    scripts: list[str] = visit.page.evaluate(
        "performance.getEntriesByType('resource').map(one => new URL(one.name).pathname)"
        ".filter(path => path.endsWith('.js'))"
    )
    dist = ROOT / "control/console/dist"
    assert sum(len(gzip.compress((dist / path.lstrip("/")).read_bytes())) for path in scripts) < 200_000
