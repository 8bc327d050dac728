"""The manual's form for a domain of one's own: what is shown when, verdicts at the field, and the card afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from control.clock import utcnow
from tests.certs.authority import Authority
from tests.console.conftest import OpenPage
from tests.system.product import Person

CA = Authority(utcnow())
SERVER = ["python3", "-m", "http.server", "8000", "--bind", "127.0.0.1"]


@pytest.fixture
def job(newcomer: Person) -> dict[str, Any]:
    """A running job of the newcomer."""
    return newcomer.run(SERVER, name="serves")


def files(folder: Path, domain: str, *, days: float = 20) -> tuple[Path, Path]:
    """Certificate and key as files."""
    leaf = CA.leaf(domain, days=days)
    certificate, key = folder / "fullchain.pem", folder / "privkey.pem"
    certificate.write_text(leaf.pem + CA.intermediate.pem + CA.root.pem)
    key.write_text(leaf.key_pem())
    return certificate, key


def test_the_manuals_form_gives_an_entry_its_domain(
    open_page: OpenPage, newcomer: Person, job: dict[str, Any], tmp_path: Path
) -> None:
    """The domain for https only, the files once it is given; a wrong file is said at its field before adding."""
    certificate, key = files(tmp_path, "lab.example.org")
    visit = open_page(newcomer, f"/jobs/{job['id']}")
    page = visit.page
    page.get_by_role("button", name="添加访问入口").click()
    dialog = page.get_by_role("dialog", name="添加访问入口")
    dialog.get_by_label("名称", exact=True).fill("web")
    dialog.get_by_role("textbox", name="目的端口").fill("8000")
    expect(dialog.get_by_label("自定义域名")).to_have_count(0)
    dialog.locator(".el-select").first.click()
    page.get_by_role("option", name="https", exact=True).click()
    domain = dialog.get_by_role("textbox", name="自定义域名")
    expect(dialog.get_by_label("证书文件")).to_have_count(0)
    domain.fill("x.proxy.localhost")
    expect(dialog.get_by_text("这是平台自己的域名")).to_be_visible(timeout=15_000)
    visit.faults.clear()  # the browser notes the refusal that was asked for
    domain.fill("lab.example.org")
    dialog.locator("input[type=file]").nth(0).set_input_files(certificate)
    dialog.locator("input[type=file]").nth(1).set_input_files(certificate)
    expect(dialog.get_by_text("不是 PEM 格式的私钥")).to_be_visible(timeout=15_000)
    visit.faults.clear()
    dialog.locator("input[type=file]").nth(1).set_input_files(key)
    expect(dialog.get_by_text("证书由 CN=Test Issuing CA 签发")).to_be_visible(timeout=30_000)
    expect(dialog.get_by_text("_starlight.lab.example.org", exact=False).first).to_be_visible()
    dialog.get_by_role("button", name="确定").click()
    card = page.locator("li.card", has_text="web")
    expect(card).to_contain_text("归属尚未证明", timeout=15_000)
    expect(card.locator(".chip.amber")).to_contain_text("天后过期")
    newcomer.product.admin().call("POST", f"/entries/{newcomer.entry(job, 'web')['id']}/domain/approve")
    expect(card).to_contain_text("已启用", timeout=15_000)
    certificate, key = files(tmp_path, "lab.example.org", days=200)
    card.get_by_role("button", name="更换证书").click()
    renew = page.get_by_role("dialog", name="更换 web 的证书")
    renew.locator("input[type=file]").nth(0).set_input_files(certificate)
    renew.locator("input[type=file]").nth(1).set_input_files(key)
    renew.get_by_role("button", name="确定").click()
    expect(card.locator(".chip.amber")).to_have_count(0, timeout=15_000)


@pytest.mark.slow
def test_a_certificate_is_asked_for_and_an_administrator_confirms_the_domain(
    open_page: OpenPage, newcomer: Person, admin: Person, job: dict[str, Any]
) -> None:
    """No files then; which forward is missing, what the authority said, the way on; the administrator's word last."""
    visit = open_page(newcomer, f"/jobs/{job['id']}")
    page = visit.page
    page.get_by_role("button", name="添加访问入口").click()
    dialog = page.get_by_role("dialog", name="添加访问入口")
    dialog.get_by_label("名称", exact=True).fill("web")
    dialog.get_by_role("textbox", name="目的端口").fill("8000")
    dialog.locator(".el-select").first.click()
    page.get_by_role("option", name="https", exact=True).click()
    dialog.get_by_role("textbox", name="自定义域名").fill("made.example.org")
    dialog.get_by_text("自动签发（ACME）").click()
    expect(dialog.locator("input[type=file]")).to_have_count(0)
    expect(dialog.get_by_text("尚缺端口转发")).to_contain_text("80 端口")
    dialog.locator(".el-form-item", has_text="域名验证方式").locator(".el-select").click()
    page.get_by_role("option", name="DNS 记录（dns-01）").click()
    expect(dialog.get_by_text("尚缺端口转发")).to_have_count(0)
    dialog.get_by_role("button", name="确定").click()
    card = page.locator("li.card", has_text="made.example.org")
    expect(card.get_by_role("button", name="立即重试")).to_be_visible(timeout=20_000)
    expect(card).to_contain_text("签发机构说")
    assert visit.accessible() == []
    theirs = open_page(admin, f"/jobs/{job['id']}", language="en", viewport={"width": 390, "height": 844})
    card = theirs.page.locator("li.card", has_text="made.example.org")
    card.get_by_role("button", name="Confirm the owner").click()
    asking = theirs.page.get_by_role("dialog", name="Confirm whose the domain is")
    asking.get_by_role("button", name="Confirm the owner").click()
    expect(card.get_by_role("button", name="Confirm the owner")).to_have_count(0, timeout=15_000)
    assert newcomer.entry(job, "web")["domain_state"]["proof"] == "admin"
    assert card.evaluate("card => card.scrollWidth - card.clientWidth") <= 0
