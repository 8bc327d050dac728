"""One job's page: facts, actions, status and its text."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.console.conftest import OpenPage
from tests.system.product import Person

SLEEP = ["sleep", "600"]


def test_suspend_and_resume(open_page: OpenPage, newcomer: Person) -> None:
    """The buttons follow what may be done now, the badge what is."""
    job = newcomer.run(SLEEP, name="pauses")
    visit = open_page(newcomer, f"/jobs/{job['id']}")
    page = visit.page
    badge = page.locator(".head .state")
    page.get_by_role("button", name="挂起", exact=True).click()
    expect(badge).to_have_text(re.compile("挂起"), timeout=20_000)
    page.get_by_role("button", name="恢复", exact=True).click()
    expect(badge).to_have_text(re.compile("运行中"), timeout=20_000)


def test_status_is_said_in_words_and_as_the_manuals_text(open_page: OpenPage, newcomer: Person) -> None:
    """A sentence, the four conditions, events newest first, and the text, which the copy button copies whole."""
    job = newcomer.run(SLEEP, name="explains")
    visit = open_page(newcomer, f"/jobs/{job['id']}?section=status")
    page = visit.page
    for condition in ("Initialized", "Ready", "ContainersReady", "PodScheduled"):
        expect(page.get_by_role("rowheader", name=re.compile(rf"^{condition}\b"))).to_be_visible()
    times = page.locator("ol.events time").evaluate_all("all => all.map(one => one.dateTime)")
    assert times == sorted(times, reverse=True)
    page.get_by_role("button", name="复制原文").click()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == newcomer.call("GET", f"/jobs/{job['id']}/status")["text"]
    assert copied.startswith("Status:")


def test_an_ended_job_tells_its_exit_code(open_page: OpenPage, newcomer: Person) -> None:
    """A failed job: state, exit code, no entries to click, submit again."""
    job = newcomer.submit(["sh", "-c", "exit 7"], name="fails")
    newcomer.wait(job["id"], "failed")
    visit = open_page(newcomer, f"/jobs/{job['id']}")
    page = visit.page
    expect(page.locator(".head .state")).to_contain_text("已结束（失败）")
    expect(page.locator("dl")).to_contain_text("退出码7")
    expect(page.get_by_role("button", name="添加访问入口")).to_have_count(0)
    expect(page.get_by_role("link", name="再次提交")).to_be_visible()


def test_a_job_that_is_not_there(open_page: OpenPage, newcomer: Person) -> None:
    """Says so and leads back; another person's job looks the same."""
    visit = open_page(newcomer, "/jobs/nothing-999")
    expect(visit.page.get_by_text("没有这个作业")).to_be_visible()
    expect(visit.page.get_by_role("link", name="回到我的作业")).to_be_visible()


def test_changes_show_without_reload(open_page: OpenPage, newcomer: Person) -> None:
    """An entry added elsewhere and the end of the job appear by themselves."""
    job = newcomer.run(SLEEP, name="watched")
    visit = open_page(newcomer, f"/jobs/{job['id']}")
    page = visit.page
    expect(page.locator("li.card")).to_have_count(1)
    newcomer.call(
        "POST", f"/jobs/{job['id']}/entries", {"name": "late", "protocol": "http", "level": "login", "target_port": 9}
    )
    expect(page.locator("li.card", has_text="late")).to_be_visible(timeout=10_000)
    newcomer.call("POST", f"/jobs/{job['id']}/close")
    expect(page.locator(".head .state")).to_contain_text("已取消", timeout=20_000)
