"""The log: follows without fighting the reader, shows what a terminal would, finds, downloads, and bears 100 MB."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.console.conftest import OpenPage
from tests.system.product import Person

BIG_MIB = 100
GAP = "v => v.scrollHeight - v.clientHeight - v.scrollTop"


def lines(page: Page) -> list[str]:
    return page.locator(".log .line").all_inner_texts()


def open_log(open_page: OpenPage, person: Person, script: str, **options: object) -> Page:
    job = person.submit(["sh", "-c", script], name="log")
    person.wait(job["id"], "running", "finished", "failed")
    page = open_page(person, f"/jobs/{job['id']}?section=logs", **options).page
    expect(page.locator(".log .line").first).to_be_visible(timeout=15_000)
    return page


def test_it_follows_and_stops_when_the_reader_goes_up(open_page: OpenPage, newcomer: Person) -> None:
    """While hundreds of lines a second arrive: at the end it stays there; after one wheel step up nothing moves."""
    page = open_log(
        open_page, newcomer, "i=0; while :; do i=$((i+1)); echo line $i; [ $((i%20)) = 0 ] && sleep 0.02; done"
    )
    view = page.locator(".log .view")
    expect(page.get_by_role("button", name="跟随最新")).to_have_attribute("aria-pressed", "true")
    page.wait_for_timeout(1500)
    assert view.evaluate(GAP) < 40
    view.hover()
    page.mouse.wheel(0, -400)
    page.wait_for_timeout(300)
    first, top = lines(page)[0], view.evaluate("v => v.scrollTop")
    page.wait_for_timeout(1500)
    assert (lines(page)[0], view.evaluate("v => v.scrollTop")) == (first, top)
    expect(page.get_by_role("button", name="跟随最新")).to_have_attribute("aria-pressed", "false")
    page.get_by_role("button", name="跟随最新").click()
    page.wait_for_timeout(300)
    assert view.evaluate(GAP) < 40


def test_colours_and_progress_bars(open_page: OpenPage, newcomer: Person) -> None:
    """ANSI colours are colours, a bar that redraws itself is one line, an unclosed colour stays in its line."""
    script = (
        r"printf '\033[31mred\033[0m plain\n\033[41mopen\nnext\n';"
        r"for i in 1 50 100; do printf '\r%3d%%' $i; done; printf '\na + <b>&amp;\n'; sleep 600"
    )
    page = open_log(open_page, newcomer, script)
    expect(page.locator(".log .line").last).to_have_text("a + <b>&amp;")
    assert [text.strip() for text in lines(page)] == ["red plain", "open", "next", "100%", "a + <b>&amp;"]
    expect(page.locator(".log .line").first.locator("span.f1")).to_have_text("red")
    expect(page.locator(".log .line").nth(2).locator("span[class*=g]")).to_have_count(0)


def test_search_finds_in_the_whole_log(open_page: OpenPage, newcomer: Person) -> None:
    """A line far above what is loaded is found backwards, marked, and scrolled to."""
    page = open_log(
        open_page, newcomer, "seq -f 'row %.0f of many, padded to a length that fills megabytes' 1 60000; sleep 600"
    )
    expect(page.locator(".log .line", has_text="row 60000")).to_be_visible(timeout=15_000)
    page.get_by_label("在整个日志中查找").fill("row 777 of")
    page.keyboard.press("Shift+Enter")
    expect(page.locator(".log .line.now .hit")).to_have_text("row 777 of", timeout=15_000)
    page.keyboard.press("Shift+Enter")
    expect(page.get_by_text("前面没有匹配的内容")).to_be_visible(timeout=15_000)


def test_the_download_is_the_log_byte_for_byte(open_page: OpenPage, newcomer: Person, tmp_path: Path) -> None:
    """What the job wrote is what the file holds."""
    page = open_log(open_page, newcomer, r"printf 'a\r\nb\033[0m\377\n'; sleep 600")
    with page.expect_download() as waiting:
        page.get_by_role("button", name="下载").click()
    waiting.value.save_as(tmp_path / "log")
    assert (tmp_path / "log").read_bytes() == b"a\r\nb\x1b[0m\xff\n"


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_a_hundred_megabytes(open_page: OpenPage, newcomer: Person) -> None:
    """The end is on the screen within seconds, the start at a click, and few rows are ever drawn."""
    line = "a line of output that is long enough to be like one of a training run"
    script = f"yes '{line}' | head -c {BIG_MIB << 20}; echo; echo THE END"
    job = newcomer.submit(["sh", "-c", script], name="big")
    newcomer.wait(job["id"], "finished", within_s=120)
    visit = open_page(newcomer, f"/jobs/{job['id']}")
    page = visit.page
    begun = time.monotonic()
    page.get_by_role("link", name="日志").click()
    expect(page.locator(".log .line", has_text="THE END")).to_be_visible(timeout=10_000)
    assert time.monotonic() - begun < 5
    page.get_by_role("button", name="开头").click()
    expect(page.get_by_text("0 B –")).to_be_visible()
    for _ in range(30):
        page.mouse.move(600, 500)
        page.mouse.wheel(0, 50_000)
        page.wait_for_timeout(20)
    assert page.locator(".log .line").count() < 300
