"""The submit dialog: apps and commands, faults at their fields before and after the server saw them."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.console.conftest import OpenPage
from tests.system.product import Person


def test_a_command_becomes_a_job(open_page: OpenPage, newcomer: Person) -> None:
    """Name, command line with a pipe, an extra entry: the page of the new job shows them all."""
    visit = open_page(newcomer)
    page = visit.page
    page.keyboard.press("n")
    dialog = page.get_by_role("dialog", name="提交作业")
    dialog.get_by_text("自己的程序或脚本").click()
    dialog.get_by_role("textbox", name="命令").fill("echo $HOME | cat; sleep 600")
    expect(dialog.get_by_text("bash -c")).to_be_visible()
    dialog.get_by_label("作业名称").fill("piped")
    dialog.get_by_role("button", name="添加访问入口").click()
    dialog.get_by_label("名称", exact=True).fill("web")
    dialog.get_by_role("textbox", name="目的端口").fill("8000")
    dialog.get_by_role("button", name="提交", exact=True).click()
    expect(page.get_by_role("heading", name="piped")).to_be_visible()
    expect(page.get_by_text("运行中").first).to_be_visible(timeout=30_000)
    for name in ("web", "ssh-default"):
        expect(page.locator("li.card", has_text=name)).to_contain_text("已启用", timeout=15_000)


def test_faults_are_said_while_typing(open_page: OpenPage, newcomer: Person) -> None:
    """A bad name at once; a missing command when submitting, with the focus put there."""
    visit = open_page(newcomer, "/jobs?submit=")
    page = visit.page
    dialog = page.get_by_role("dialog", name="提交作业")
    dialog.get_by_label("作业名称").fill("a/b")
    expect(dialog.get_by_text("名称不能含有")).to_be_visible()
    dialog.get_by_label("作业名称").fill("fine")
    expect(dialog.get_by_text("名称不能含有")).to_have_count(0)
    dialog.get_by_role("button", name="提交", exact=True).click()
    expect(dialog.get_by_text("请填写要运行的命令")).to_be_visible()
    expect(dialog.get_by_role("textbox", name="命令")).to_be_focused()


def test_the_dialog_has_an_address_and_back_closes_it(open_page: OpenPage, newcomer: Person) -> None:
    """A link opens it with the app chosen; the browser's back button closes it."""
    visit = open_page(newcomer)
    page = visit.page
    page.get_by_role("button", name="启动 JupyterLab").click()
    expect(page).to_have_url(re.compile("submit=jupyterlab"))
    expect(page.get_by_role("radio", name=re.compile("JupyterLab"))).to_be_checked()
    page.go_back()
    expect(page.get_by_role("dialog", name="提交作业")).to_be_hidden()


def test_submit_again_fills_in_the_same(open_page: OpenPage, newcomer: Person) -> None:
    """The form holds the earlier job's command, name and limit."""
    job = newcomer.submit(["sleep", "600"], name="twice", time_limit_s=3600)
    visit = open_page(newcomer, f"/jobs/{job['id']}")
    page = visit.page
    page.get_by_role("link", name="再次提交").click()
    dialog = page.get_by_role("dialog", name="提交作业")
    expect(dialog.get_by_role("textbox", name="命令")).to_have_value("sleep 600")
    expect(dialog.get_by_label("作业名称")).to_have_value("twice")
    expect(dialog.get_by_label("时限（小时）").last).to_have_value("1.0")
    dialog.get_by_role("button", name="提交", exact=True).click()
    expect(page).not_to_have_url(re.compile(re.escape(job["id"])))
    expect(page.get_by_role("heading", name="twice")).to_be_visible()
