"""The two lists: live, filtered and sorted by the server, with their whole state in the address."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.console.conftest import OpenPage
from tests.system.product import Person

SLEEP = ["sleep", "600"]


def test_a_new_job_appears_and_changes_without_reload(open_page: OpenPage, newcomer: Person) -> None:
    """Empty list, then a row, then running, then gone to history: nobody touches the page."""
    visit = open_page(newcomer)
    page = visit.page
    expect(page.get_by_text("没有运行中的作业")).to_be_visible()
    job = newcomer.submit(SLEEP, name="appears")
    line = page.get_by_role("row", name=re.compile("appears"))
    expect(line).to_be_visible(timeout=10_000)
    expect(line).to_contain_text("运行中", timeout=30_000)
    newcomer.call("POST", f"/jobs/{job['id']}/close")
    expect(line).to_have_count(0, timeout=30_000)
    page.get_by_role("link", name="历史作业").first.click()
    expect(page.get_by_role("row", name=re.compile("appears"))).to_contain_text("已取消")


def test_rows_do_not_move_under_the_pointer(open_page: OpenPage, newcomer: Person) -> None:
    """While the pointer rests on the list, newcomers gather in a button."""
    newcomer.run(SLEEP, name="stays")
    visit = open_page(newcomer)
    page = visit.page
    line = page.get_by_role("row", name=re.compile("stays"))
    line.hover()
    before = line.bounding_box()
    newcomer.submit(SLEEP, name="comes")
    expect(page.get_by_role("button", name=re.compile("条更新"))).to_be_visible(timeout=10_000)
    assert line.bounding_box() == before
    page.get_by_role("button", name=re.compile("条更新")).click()
    expect(page.get_by_role("row", name=re.compile("comes"))).to_be_visible()


def test_filters_stand_in_the_address_and_the_server_obeys(open_page: OpenPage, newcomer: Person) -> None:
    """Typing filters; a reload shows the same; clearing brings all back."""
    for name in ("train-a", "train-b", "eval-c"):
        newcomer.run(SLEEP, name=name)
    visit = open_page(newcomer)
    page = visit.page
    page.keyboard.press("/")
    page.keyboard.type("train")
    expect(page.locator("tbody tr")).to_have_count(2)
    expect(page).to_have_url(re.compile(r"\?name=train$"))
    page.reload()
    expect(page.locator("tbody tr")).to_have_count(2)
    page.get_by_role("button", name="清除筛选（1 个条件）").click()
    expect(page.locator("tbody tr")).to_have_count(3)


def test_sorting_is_the_servers(open_page: OpenPage, newcomer: Person) -> None:
    """A click sorts up, another down; the head says so."""
    for name in ("bb", "aa", "cc"):
        newcomer.submit(SLEEP, name=name)
    visit = open_page(newcomer)
    page = visit.page
    head = page.get_by_role("columnheader", name="作业名称")
    names = page.locator("a.job-name")
    head.get_by_role("button").click()
    expect(names).to_have_text(["aa", "bb", "cc"])
    expect(head).to_have_attribute("aria-sort", "ascending")
    head.get_by_role("button").click()
    expect(names).to_have_text(["cc", "bb", "aa"])
    expect(page).to_have_url(re.compile(r"sort=-name"))


def test_the_list_closes_running_jobs_after_a_question(open_page: OpenPage, newcomer: Person) -> None:
    """The question names the job; Esc answers no; yes closes it."""
    job = newcomer.run(SLEEP, name="closes")
    visit = open_page(newcomer)
    page = visit.page
    page.get_by_role("button", name="关闭 closes").click()
    dialog = page.get_by_role("dialog", name="关闭作业")
    expect(dialog).to_contain_text(job["id"])
    expect(dialog.get_by_role("button", name="取消")).to_be_focused()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.get_by_role("button", name="关闭 closes").click()
    dialog.get_by_role("button", name="关闭作业").click()
    newcomer.wait(job["id"], "cancelled")


def test_a_failed_creation_is_closed_from_its_page_only(open_page: OpenPage, newcomer: Person) -> None:
    """As the manual says: the list closes queued and running jobs, the detail page any."""
    job = newcomer.submit(["/no/such/program"], name="broken")
    newcomer.wait(job["id"], "create_failed", "abnormal_exit", "failed")
    if newcomer.call("GET", f"/jobs/{job['id']}")["view"] != "running":
        return
    visit = open_page(newcomer)
    page = visit.page
    expect(page.get_by_role("row", name=re.compile("broken"))).to_be_visible()
    expect(page.get_by_role("button", name="关闭 broken")).to_have_count(0)
    page.get_by_role("link", name="查看 broken").click()
    page.get_by_role("button", name="关闭作业").click()
    page.get_by_role("dialog").get_by_role("button", name="关闭作业").click()
    expect(page.get_by_role("button", name="关闭作业")).to_have_count(0)


def test_keys_walk_the_list(open_page: OpenPage, newcomer: Person) -> None:
    """j and k move, Enter opens, ? shows the sheet, Esc closes it; letters in a field are letters."""
    newcomer.submit(SLEEP, name="one")
    newcomer.submit(SLEEP, name="two")
    visit = open_page(newcomer)
    page = visit.page
    expect(page.locator("a.job-name")).to_have_count(2)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="键盘快捷键")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="键盘快捷键")).to_be_hidden()
    for key in ("j", "j", "k", "j"):
        page.keyboard.press(key)
    expect(page.get_by_role("link", name="one", exact=True)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="one", exact=True)).to_be_visible()


def test_history_is_grouped_by_cluster(open_page: OpenPage, newcomer: Person) -> None:
    """Every group is headed by its cluster's name."""
    job = newcomer.submit(["true"], name="done")
    newcomer.wait(job["id"], "finished")
    visit = open_page(newcomer, "/jobs/history")
    expect(visit.page.get_by_role("rowheader", name=re.compile("集群 local"))).to_be_visible()
    expect(visit.page.get_by_role("row", name=re.compile("done"))).to_contain_text("已结束")


def test_days_are_picked_in_the_pages_own_language(open_page: OpenPage, newcomer: Person) -> None:
    """Whatever language the browser speaks; what is picked stands in the address."""
    page = open_page(newcomer, "/jobs/history", locale="en-US").page
    page.get_by_label("提交时间不早于").click()
    panel = page.locator(".el-picker-panel:visible")
    expect(panel.locator("th").first).to_have_text("日")
    panel.locator("td.available").first.click()
    expect(page).to_have_url(re.compile(r"from=\d{4}-\d{2}-01"))
