"""Signing in, the session that ends under a page, and signing out."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.console.conftest import OpenPage
from tests.system.product import Person, Product, request


def test_wrong_password_is_said_at_the_field(open_page: OpenPage, alice: Person) -> None:
    """The sentence stands at the password, which is selected for typing again."""
    visit = open_page(None, "/sign-in")
    visit.page.get_by_label("用户名").fill(alice.name)
    visit.page.get_by_label("密码", exact=True).fill("not the password")
    visit.page.get_by_role("button", name="登录", exact=True).click()
    expect(visit.page.locator(".el-form-item.is-error")).to_contain_text("密码")
    expect(visit.page.get_by_label("密码", exact=True)).to_be_focused()


def test_the_name_has_the_focus(open_page: OpenPage) -> None:
    """A person can type at once."""
    visit = open_page(None, "/sign-in")
    expect(visit.page.get_by_label("用户名")).to_be_focused()


def test_sign_in_leads_to_the_page_that_was_wanted(open_page: OpenPage, alice: Person) -> None:
    """A link to a filtered list survives the sign-in."""
    visit = open_page(alice, "/jobs/history?state=failed&name=abc")
    expect(visit.page).to_have_url(f"{visit.console_url}/jobs/history?state=failed&name=abc")
    expect(visit.page.get_by_label("作业名称")).to_have_value("abc")


def test_the_way_back_never_leaves_the_console(open_page: OpenPage, alice: Person) -> None:
    """A forged `next` is ignored."""
    visit = open_page(None, "/sign-in#next=//evil.example/")
    visit.page.get_by_label("用户名").fill(alice.name)
    visit.page.get_by_label("密码", exact=True).fill(alice.password)
    visit.page.keyboard.press("Enter")
    expect(visit.page).to_have_url(f"{visit.console_url}/jobs")


def test_an_ended_session_keeps_the_page_and_what_was_typed(
    open_page: OpenPage, product: Product, newcomer: Person
) -> None:
    """The overlay asks for the password again; the form below is as it was, and submitting it works."""
    visit = open_page(newcomer)
    page = visit.page
    page.keyboard.press("n")
    page.get_by_text("自己的程序或脚本").click()
    page.get_by_role("textbox", name="命令").fill("echo kept")
    page.get_by_label("作业名称").last.fill("kept")
    page.context.clear_cookies()
    page.get_by_role("button", name="提交", exact=True).click()
    overlay = page.get_by_role("dialog", name="登录已过期")
    expect(overlay).to_be_visible()
    overlay.get_by_label("密码", exact=True).fill(newcomer.password)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="kept")).to_be_visible()


def test_signing_out_ends_the_session(open_page: OpenPage, product: Product, alice: Person) -> None:
    """The cookie and the secret no longer authorise anything together."""
    visit = open_page(alice)
    page = visit.page
    secret = page.evaluate("localStorage['starlight.csrf']")
    cookie = "; ".join(f"{one['name']}={one['value']}" for one in page.context.cookies())
    page.get_by_role("button", name=alice.name).click()
    page.get_by_role("menuitem", name="退出登录").click()
    expect(page.get_by_label("用户名")).to_be_visible()
    assert page.evaluate("localStorage['starlight.csrf'] ?? null") is None
    headers = {"Cookie": cookie, "X-CSRF-Token": secret}
    assert request(product.ports["CONSOLE"], "GET", "/api/v1/me", headers=headers).status == 401
