"""Users for administrators, and a person's own settings."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from playwright.sync_api import expect

from tests.console.conftest import OpenPage
from tests.system.product import Person, Product, request


def test_an_administrator_adds_and_disables_a_user(open_page: OpenPage, admin: Person, product: Product) -> None:
    """Bad names at the field; the new user can sign in, and after disabling cannot."""
    visit = open_page(admin, "/users")
    page = visit.page
    page.get_by_role("button", name="添加用户").click()
    dialog = page.get_by_role("dialog", name="添加用户")
    dialog.get_by_label("用户名").fill("Carol!")
    expect(dialog.get_by_text("以小写字母开头")).to_be_visible()
    dialog.get_by_label("用户名").fill("carol")
    dialog.get_by_role("textbox", name="初始密码").fill("password of carol")
    dialog.get_by_role("button", name="保存").click()
    line = page.get_by_role("row", name=re.compile("carol"))
    expect(line).to_be_visible()
    product.sign_in("carol", "password of carol")
    page.get_by_role("button", name="停用 carol").click()
    page.get_by_role("dialog", name="停用").get_by_role("button", name="停用").click()
    expect(line).to_contain_text("已停用")
    body = b'{"username": "carol", "password": "password of carol"}'
    headers = {"Content-Type": "application/json"}
    answer = request(product.ports["CONSOLE"], "POST", "/api/v1/sessions", headers=headers, body=body)
    assert answer.status in (401, 403)


def test_a_taken_name_is_said(open_page: OpenPage, admin: Person, alice: Person) -> None:
    """The dialog stays, with the platform's sentence."""
    visit = open_page(admin, "/users")
    page = visit.page
    page.get_by_role("button", name="添加用户").click()
    dialog = page.get_by_role("dialog", name="添加用户")
    dialog.get_by_label("用户名").fill(alice.name)
    dialog.get_by_role("textbox", name="初始密码").fill("password of alice")
    dialog.get_by_role("button", name="保存").click()
    expect(dialog.locator("[role=alert], .el-form-item__error").first).to_contain_text(alice.name)


def test_users_see_no_administration(open_page: OpenPage, alice: Person) -> None:
    """Neither in the navigation nor by address."""
    visit = open_page(alice, "/users")
    expect(visit.page.get_by_text("页面不存在").last).to_be_visible()
    expect(visit.page.get_by_role("link", name="用户管理")).to_have_count(0)


def test_an_ssh_key_is_added_and_removed(open_page: OpenPage, newcomer: Person, tmp_path: Path) -> None:
    """A private key or nonsense is refused at the field; a real key is listed with its fingerprint."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "laptop", "-f", tmp_path / "key"], check=True)
    visit = open_page(newcomer, "/profile")
    page = visit.page
    page.get_by_label("公钥", exact=True).fill("nonsense")
    page.get_by_role("button", name="添加公钥").click()
    expect(page.locator(".is-error .el-form-item__error, [role=alert]").first).to_be_visible()
    page.get_by_label("公钥", exact=True).fill((tmp_path / "key.pub").read_text())
    page.get_by_role("button", name="添加公钥").click()
    line = page.get_by_role("row", name=re.compile("laptop"))
    expect(line).to_contain_text("SHA256:")
    line.get_by_role("button", name="移除 laptop").click()
    page.get_by_role("dialog", name="移除公钥").get_by_role("button", name="移除").click()
    expect(line).to_have_count(0)


def test_a_token_is_shown_once_and_works(open_page: OpenPage, newcomer: Person, product: Product) -> None:
    """The secret authorises the API; after a reload it is nowhere on the page."""
    visit = open_page(newcomer, "/profile")
    page = visit.page
    section = page.get_by_role("region", name="访问令牌")
    section.get_by_label("名称").fill("ci")
    section.get_by_role("button", name="创建令牌").click()
    token = section.locator(".made code").inner_text()
    headers = {"Authorization": f"Bearer {token}"}
    assert request(product.ports["CONSOLE"], "GET", "/api/v1/me", headers=headers).json["username"] == newcomer.name
    page.reload()
    expect(section.get_by_role("row", name=re.compile("ci"))).to_be_visible()
    assert token not in page.content()


def test_the_password_is_changed(open_page: OpenPage, newcomer: Person, product: Product) -> None:
    """A wrong current one is said at its field; the new one signs in."""
    visit = open_page(newcomer, "/profile")
    page = visit.page
    section = page.get_by_role("region", name="修改密码")
    section.get_by_label("当前密码").fill("wrong wrong")
    section.get_by_label("新密码", exact=True).fill("a new password")
    section.get_by_label("再次输入新密码").fill("a new password")
    section.get_by_role("button", name="修改密码").click()
    expect(section.locator(".el-form-item.is-error")).to_have_count(1)
    section.get_by_label("当前密码").fill(newcomer.password)
    section.get_by_role("button", name="修改密码").click()
    expect(page.get_by_text("密码已修改")).to_be_visible()
    product.sign_in(newcomer.name, "a new password")


def test_the_language_follows_the_person(open_page: OpenPage, newcomer: Person) -> None:
    """Chosen in one browser, spoken in the next."""
    visit = open_page(newcomer, "/profile")
    with visit.page.expect_response(lambda answer: answer.request.method == "PATCH" and answer.url.endswith("/me")):
        visit.page.get_by_text("English", exact=True).click()
    expect(visit.page.get_by_role("heading", name="Profile")).to_be_visible()
    assert visit.page.evaluate("document.documentElement.lang") == "en"
    assert newcomer.call("GET", "/me")["language"] == "en"
