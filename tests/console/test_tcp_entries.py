"""A tcp entry on the job's page: any level on any port, the lines to connect by, the certificate to download."""

from __future__ import annotations

import ssl

from playwright.sync_api import expect

from tests.console.conftest import OpenPage
from tests.system.product import Person

TCP = {"name": "db", "protocol": "tcp", "level": "private", "target_port": 5432}


def test_the_card_shows_how_to_connect_and_gives_a_certificate(open_page: OpenPage, newcomer: Person) -> None:
    """Lines with the entry's own name; one file with certificate, key and authority; withdrawn on the same card."""
    job = newcomer.run(["sleep", "1000"], name="serves", entries=[TCP])
    entry = newcomer.entry(job, "db")
    page = open_page(newcomer, f"/jobs/{job['id']}").page
    page.get_by_text("连接方式").click()
    for text in (
        "redis-cli -h",
        'psql "host=',
        "mosquitto_pub -h",
        "openssl s_client",
        "starlight forward",
        "ssh -N -L",
    ):
        expect(page.locator("code", has_text=text)).to_be_visible()
    expect(page.locator("code", has_text=f"--sni {entry['host']}")).to_be_visible()
    with page.expect_download() as begun:
        page.get_by_role("button", name="下载客户端证书").click()
    assert begun.value.suggested_filename == f"{entry['label'][:8]}.pem"
    ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(begun.value.path())
    page.get_by_role("button", name=f"撤销 {newcomer.name} 的证书").click()
    page.get_by_role("dialog").get_by_role("button", name="撤销").click()
    expect(page.get_by_text("证书已撤销")).to_be_visible()
    expect(page.get_by_text(f"{newcomer.name} 的证书，有效至")).to_have_count(0)
    assert newcomer.call("GET", f"/entries/{entry['id']}/client-certificates")["total"] == 0


def test_the_form_offers_every_level_and_both_ports(open_page: OpenPage, newcomer: Person) -> None:
    """A login entry on the fixed port: its card turns active, with its address."""
    job = newcomer.run(["sleep", "1000"], name="bare", entries=[])
    page = open_page(newcomer, f"/jobs/{job['id']}").page
    page.get_by_role("button", name="添加访问入口").click()
    dialog = page.get_by_role("dialog", name="添加访问入口")
    dialog.get_by_label("名称", exact=True).fill("cache")
    dialog.get_by_role("combobox", name="协议").click(force=True)
    page.get_by_role("option", name="tcp").click()
    dialog.get_by_role("textbox", name="目的端口").fill("6379")
    dialog.get_by_role("button", name="确定").click()
    card = page.locator("li", has=page.get_by_text("cache", exact=True))
    expect(card.locator("code", has_text="tls://")).to_be_visible()
    made = newcomer.entry(job, "cache")
    assert (made["level"], made["port_kind"]) == ("private", "fixed")
