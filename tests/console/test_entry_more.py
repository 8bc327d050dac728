"""What few entries need: sites that may call it, how the app speaks, limits; at the start and later."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.console.conftest import OpenPage
from tests.system.product import Person


def test_an_entry_gets_limits_in_the_form_and_others_later(open_page: OpenPage, newcomer: Person) -> None:
    """Faults are said while typing; the card tells that there are limits; the API holds what was typed."""
    job = newcomer.run(["sleep", "600"], name="limits")
    page = open_page(newcomer, f"/jobs/{job['id']}").page
    page.get_by_role("button", name="添加访问入口").click()
    dialog = page.get_by_role("dialog", name="添加访问入口")
    dialog.get_by_label("名称", exact=True).fill("web")
    dialog.get_by_role("textbox", name="目的端口").fill("8000")
    dialog.get_by_text("更多选项").click()
    dialog.get_by_label("允许跨域访问的网站").fill("app.example")
    dialog.get_by_label("最大连接数").fill("20")
    expect(dialog.get_by_text("形如 https://主机")).to_be_visible()
    dialog.get_by_label("允许跨域访问的网站").fill("https://app.example")
    dialog.get_by_role("button", name="确定").click()
    card = page.locator("li.card", has_text="web")
    expect(card.get_by_text("有限制")).to_have_attribute("title", "最多 20 个连接")
    entry = newcomer.entry(job, "web")
    assert (entry["cors_origins"], entry["limits"]["connections"]) == (["https://app.example"], 20)

    card.get_by_role("button", name="web 的更多设置").click()
    settings = page.get_by_role("dialog", name="web 的更多设置")
    expect(settings.get_by_label("最大连接数")).to_have_value("20")
    settings.get_by_label("最大连接数").fill("")
    settings.get_by_label("请求大小上限").fill("0.5")
    settings.get_by_role("button", name="保存").click()
    expect(card.get_by_text("有限制")).to_have_attribute("title", re.compile("单个请求最大 512"))
    entry = newcomer.entry(job, "web")
    assert entry["limits"] == {"connections": None, "requests_per_minute": None, "body_bytes": 524288}
