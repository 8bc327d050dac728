"""The web terminal in a real browser: types, Chinese input, paste guard, the end, a new shell below the old text."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.console.conftest import OpenPage
from tests.console.page import Visit
from tests.system.product import Person

TERMINAL = {"name": "web-terminal", "protocol": "http", "level": "private", "service": "terminal"}
LIVE = ".state[data-state=live]"


@pytest.fixture
def job(newcomer: Person) -> dict[str, Any]:
    return newcomer.run(["sleep", "600"], name="shell", entries=[TERMINAL])


def open_terminal(open_page: OpenPage, person: Person, job: dict[str, Any]) -> Page:
    """Opens the entry from the job's page, through the sign-in hop, in a window of its own."""
    visit: Visit = open_page(person, f"/jobs/{job['id']}")
    card = visit.page.locator("li.card", has_text="web-terminal")
    with visit.page.context.expect_page() as opened:
        card.get_by_role("link", name="打开").click()
    page = opened.value
    page.on("console", lambda message: visit.faults.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: visit.faults.append(str(error)))
    expect(page.locator(LIVE)).to_be_visible(timeout=20_000)
    return page


def text(page: Page) -> str:
    return page.locator(".xterm-rows").inner_text().replace("\xa0", " ")


def say(page: Page, line: str, answer: str) -> None:
    """Types a line and waits for what the job answers."""
    page.keyboard.type(line)
    page.keyboard.press("Enter")
    expect(page.locator(".xterm-rows")).to_contain_text(answer, timeout=10_000)


def test_a_shell_in_the_job(open_page: OpenPage, newcomer: Person, job: dict[str, Any]) -> None:
    """Commands run in the job; the size of the window is the size of the terminal."""
    page = open_terminal(open_page, newcomer, job)
    say(page, "echo sum $((40+2))", "sum 42")
    page.set_viewport_size({"width": 700, "height": 400})
    page.wait_for_timeout(500)
    say(page, "echo $(stty size) $((40+3))", " 43")  # the line as it is typed must not look like the answer
    rows, columns = re.findall(r"^(\d+) (\d+) 43$", text(page), re.MULTILINE)[-1]
    assert int(rows) < 30
    assert int(columns) < 95


def test_chinese_input_arrives_once_and_keeps_the_page_still(
    open_page: OpenPage, newcomer: Person, job: dict[str, Any]
) -> None:
    """Composing does not widen the page; the characters come once."""
    page = open_terminal(open_page, newcomer, job)
    page.keyboard.type("echo '")
    session = page.context.new_cdp_session(page)
    session.send("Input.imeSetComposition", {"text": "ni hao " * 60, "selectionStart": 0, "selectionEnd": 0})
    page.wait_for_timeout(100)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    session.send("Input.insertText", {"text": "你好"})
    page.keyboard.type("'.")
    page.keyboard.press("Enter")
    expect(page.locator(".xterm-rows")).to_contain_text("你好.")
    assert text(page).count("你好") == 2, "once in the command, once in the answer"


def test_several_pasted_lines_are_asked_about(open_page: OpenPage, newcomer: Person, job: dict[str, Any]) -> None:
    """A program without bracketed paste gets nothing before the yes, and nothing at a no."""
    page = open_terminal(open_page, newcomer, job)
    say(page, "echo $((40 + 2)) there; cat", "42 there")  # the shell, which knows bracketed paste, has made way
    paste = """text => {
        const data = new DataTransfer();
        data.setData('text/plain', text);
        const event = new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true});
        document.querySelector('.xterm-helper-textarea').dispatchEvent(event);
    }"""
    page.evaluate(paste, "danger\nahead\n")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("粘贴 2 行")
    dialog.get_by_role("button", name="取消").click()
    page.evaluate(paste, "safe\nlines\n")
    dialog.get_by_role("button", name="粘贴").click()
    expect(page.locator(".xterm-rows")).to_contain_text("lines")
    assert "danger" not in text(page)


def test_a_new_shell_below_the_old_text(open_page: OpenPage, newcomer: Person, job: dict[str, Any]) -> None:
    """`exit 3` is told with its status; Enter brings a new shell in the same window, the old text above."""
    page = open_terminal(open_page, newcomer, job)
    say(page, "echo before", "before")
    page.keyboard.type("exit 3")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").first).to_contain_text("命令行已退出（3）", timeout=10_000)
    page.keyboard.press("Enter")
    expect(page.locator(LIVE)).to_be_visible(timeout=10_000)
    say(page, "echo after", "after")
    assert "before" in text(page)


def test_the_job_ends_under_an_open_terminal(open_page: OpenPage, newcomer: Person, job: dict[str, Any]) -> None:
    """The page says that it is over instead of standing still."""
    page = open_terminal(open_page, newcomer, job)
    newcomer.call("POST", f"/jobs/{job['id']}/close")
    expect(page.locator(".state[data-state=gone]")).to_be_visible(timeout=20_000)


def test_size_theme_and_search(open_page: OpenPage, newcomer: Person, job: dict[str, Any]) -> None:
    """Larger text is remembered, the theme repaints, find marks what is there and says what is not."""
    page = open_terminal(open_page, newcomer, job)
    say(page, "echo needle", "needle")
    before = page.locator(".xterm-rows").evaluate("rows => getComputedStyle(rows).fontSize")
    page.get_by_role("button", name="放大字号").click()
    assert page.locator(".xterm-rows").evaluate("rows => getComputedStyle(rows).fontSize") != before
    page.get_by_role("button", name="切换深浅色").click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.get_by_role("button", name="查找", exact=True).click()
    page.get_by_label("在终端中查找").fill("no such thing")
    page.keyboard.press("Enter")
    expect(page.get_by_text("没有匹配的内容")).to_be_visible()
