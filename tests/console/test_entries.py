"""Access entries on the job's page: add, open to others, remove, share by code, redeem."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.console.conftest import OpenPage
from tests.system.product import Person

SERVER = ["python3", "-m", "http.server", "8000", "--bind", "127.0.0.1"]
WEB = {"name": "web", "protocol": "http", "level": "private", "target_port": 8000}


@pytest.fixture
def served(newcomer: Person) -> dict[str, Any]:
    """A job of the newcomer that serves files, with a private entry `web`."""
    return newcomer.run(SERVER, name="serves", entries=[WEB])


def test_the_manuals_form_adds_an_entry(open_page: OpenPage, newcomer: Person, served: dict[str, Any]) -> None:
    """A clash is said while typing; then a random port, and the card turns active by itself."""
    visit = open_page(newcomer, f"/jobs/{served['id']}")
    page = visit.page
    page.get_by_role("button", name="添加访问入口").click()
    dialog = page.get_by_role("dialog", name="添加访问入口")
    name = dialog.get_by_label("名称", exact=True)
    expect(name).to_be_focused()
    name.fill("web")
    dialog.get_by_role("textbox", name="目的端口").fill("8000")
    page.keyboard.press("Enter")
    expect(dialog.get_by_text("已有同名的访问入口")).to_be_visible()
    expect(dialog.get_by_text("已有访问入口使用这个目的端口")).to_be_visible()
    name.fill("second")
    dialog.get_by_role("textbox", name="目的端口").fill("8001")
    dialog.get_by_text("使用非固定端口").click()
    dialog.get_by_role("button", name="确定").click()
    card = page.locator("li.card", has_text="second")
    expect(card).to_contain_text("已启用", timeout=15_000)
    expect(card.locator(".chip").nth(1)).to_have_text(re.compile(r"\d{5} → 8001"))


def test_an_open_entry_is_asked_about_and_marked(open_page: OpenPage, newcomer: Person, served: dict[str, Any]) -> None:
    """Opening to everybody needs a yes and leaves an amber chip; going back to private needs none."""
    visit = open_page(newcomer, f"/jobs/{served['id']}")
    page = visit.page
    card = page.locator("li.card", has_text="web")
    card.get_by_role("button", name="修改 web 的验证级别").click()
    page.get_by_role("menuitem", name="不验证").click()
    page.get_by_role("dialog", name="公开访问入口").get_by_role("button", name="改为不验证").click()
    expect(card.locator(".chip.amber")).to_have_text("公开")
    card.get_by_role("button", name="修改 web 的验证级别").click()
    page.get_by_role("menuitem", name="私有").click()
    expect(card.locator(".chip.amber")).to_have_count(0)


def test_removing_takes_the_card_away(open_page: OpenPage, newcomer: Person, served: dict[str, Any]) -> None:
    """After a question; the ssh entry stays."""
    visit = open_page(newcomer, f"/jobs/{served['id']}")
    page = visit.page
    page.get_by_role("button", name="移除访问入口 web").click()
    page.get_by_role("dialog", name="移除访问入口").get_by_role("button", name="移除", exact=True).click()
    expect(page.locator("li.card", has_text="web")).to_have_count(0)
    expect(page.locator("li.card", has_text="ssh-default")).to_be_visible()


def test_a_private_entry_opens_through_the_sign_in_hop(
    open_page: OpenPage, newcomer: Person, served: dict[str, Any]
) -> None:
    """The card's button leads to the app itself, signed in on the way."""
    visit = open_page(newcomer, f"/jobs/{served['id']}")
    page = visit.page
    with page.context.expect_page() as opened:
        page.locator("li.card", has_text="web").get_by_role("link", name="打开").click()
    expect(opened.value.get_by_text("Directory listing for /")).to_be_visible(timeout=20_000)


def test_share_redeem_and_take_back(open_page: OpenPage, newcomer: Person, bob: Person, served: dict[str, Any]) -> None:
    """The owner copies the link; a guest's browser redeems it at once; the owner sees and removes the guest."""
    visit = open_page(newcomer, f"/jobs/{served['id']}")
    page = visit.page
    card = page.locator("li.card", has_text="web")
    card.get_by_role("button", name="通过共享码共享此链接").click()
    dialog = page.get_by_role("dialog", name="共享访问入口 web")
    dialog.get_by_role("combobox", name="有效期").click(force=True)
    page.get_by_role("option", name="7 天", exact=True).click()
    dialog.get_by_label("最多使用人数").fill("2")
    dialog.get_by_role("button", name="共享", exact=True).click()
    expect(dialog.get_by_text("已有 0 人使用，最多 2 人")).to_be_visible()
    dialog.get_by_role("button", name="复制链接").click()
    link = page.evaluate("navigator.clipboard.readText()")
    assert "/redeem#code=" in link

    guest = open_page(bob, link.removeprefix(visit.console_url))
    expect(guest.page.get_by_text("现在可以访问")).to_be_visible()
    assert "code=" not in guest.page.url, "the code stays in the address bar"
    with guest.page.context.expect_page() as opened:
        guest.page.get_by_role("row", name=re.compile("serves")).get_by_role("link", name="打开").click()
    expect(opened.value.get_by_text("Directory listing for /")).to_be_visible(timeout=20_000)

    dialog.get_by_role("button", name="关闭", exact=True).click()
    card.get_by_role("button", name="管理共享").click()
    expect(dialog.get_by_role("row", name=re.compile(bob.name))).to_be_visible()
    expect(dialog.get_by_text(re.compile(r"已有 1 人使用，最多 2 人。\s*有效至"))).to_be_visible()
    dialog.get_by_role("button", name="取消共享").click()
    expect(card.get_by_text("已共享")).to_have_count(0)
    expect(guest.page.get_by_role("row", name=re.compile("serves"))).to_have_count(0, timeout=10_000)


def test_an_own_code_is_long_enough_and_needs_the_link(
    open_page: OpenPage, newcomer: Person, served: dict[str, Any]
) -> None:
    """Seven characters are refused at the field; eight are shared."""
    visit = open_page(newcomer, f"/jobs/{served['id']}")
    page = visit.page
    page.locator("li.card", has_text="web").get_by_role("button", name="通过共享码共享此链接").click()
    dialog = page.get_by_role("dialog", name="共享访问入口 web")
    dialog.get_by_text("自己输入共享码").click()
    dialog.get_by_label("共享码", exact=True).fill("seven77")
    dialog.get_by_role("button", name="共享", exact=True).click()
    expect(dialog.get_by_text("共享码至少 8 个字符")).to_be_visible()
    dialog.get_by_label("共享码", exact=True).fill("eight888")
    dialog.get_by_role("button", name="共享", exact=True).click()
    expect(dialog.locator("code.code")).to_have_text("eight888")
    expect(dialog.get_by_text("只有共享码而没有链接时无法使用")).to_be_visible()


def test_who_may_not_pass_can_enter_a_code_on_the_way(
    open_page: OpenPage, newcomer: Person, bob: Person, served: dict[str, Any]
) -> None:
    """The hop page refuses, takes a code, and goes on to the app."""
    entry = newcomer.entry(served, "web")
    code = newcomer.call("PUT", f"/entries/{entry['id']}/share", {})["code"]
    guest = open_page(bob)
    guest.page.goto(entry["url"])
    expect(guest.page.get_by_role("heading", name="您没有打开此入口的权限")).to_be_visible(timeout=15_000)
    guest.page.get_by_label("有共享码").fill(code)
    guest.page.keyboard.press("Enter")
    expect(guest.page.get_by_text("Directory listing for /")).to_be_visible(timeout=20_000)


def test_the_gateways_own_refusal_takes_a_code_and_comes_back(
    open_page: OpenPage, newcomer: Person, bob: Person, served: dict[str, Any]
) -> None:
    """Whose right was withdrawn enters a code on the entry's own host, and lands on the path they wanted."""
    entry = newcomer.entry(served, "web")
    newcomer.call("PATCH", f"/entries/{entry['id']}", {"level": "login"})
    page = open_page(bob).page
    page.goto(entry["url"])
    expect(page.get_by_text("Directory listing for /")).to_be_visible(timeout=20_000)
    newcomer.call("PATCH", f"/entries/{entry['id']}", {"level": "private"})
    code = newcomer.call("PUT", f"/entries/{entry['id']}/share", {})["code"]
    page.goto(f"{entry['url']}?wanted=1")
    expect(page.get_by_role("heading", name="您没有访问此入口的权限")).to_be_visible()
    page.get_by_label("有共享码").fill(code.lower())
    page.get_by_role("button", name="使用").click()
    expect(page.get_by_text("Directory listing for /?wanted=1")).to_be_visible(timeout=20_000)
    assert page.url == f"{entry['url']}?wanted=1"


def test_a_wrong_code_is_refused_in_words(open_page: OpenPage, bob: Person) -> None:
    """Nothing is redeemed; the sentence is the platform's."""
    visit = open_page(bob, "/redeem")
    visit.page.get_by_label("共享码或共享链接").fill("NOPE-NOPE-NOPE")
    visit.page.keyboard.press("Enter")
    expect(visit.page.get_by_role("alert")).to_contain_text("共享码")
