"""The frame of every page."""

from __future__ import annotations

import base64
import hashlib
import re

from gateway.entries.pages.layout import STYLE, Link, lay_out


def test_texts_are_escaped() -> None:
    """Names of jobs and entries come from people."""
    evil = '<script>alert("x")</script>'
    page = lay_out(language="en", title=evil, lines=(evil,), links=(Link(evil, '/"><script>'),), footer=evil)
    assert "<script>" not in page.html
    assert page.html.count("&lt;script&gt;") == 6


def test_the_policy_admits_the_pages_own_style_and_nothing_else() -> None:
    """No script without a nonce, nothing from anywhere."""
    page = lay_out(language="zh", title="t", lines=())
    style = re.search(r"<style>(.*)</style>", page.html, re.DOTALL)
    assert style is not None
    assert style[1] == STYLE
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in page.policy
    assert page.policy.startswith("default-src 'none'; ")
    assert "script-src" not in page.policy
    assert "frame-ancestors 'none'" in page.policy
    assert 'lang="zh-CN"' in page.html


def test_a_script_needs_its_nonce() -> None:
    """Page and policy name the same one."""
    page = lay_out(language="en", title="t", lines=(), script="go()", nonce="abc")
    assert '<script nonce="abc">go()</script>' in page.html
    assert "script-src 'nonce-abc'; connect-src 'self'; " in page.policy


def test_the_first_link_is_the_one_to_take() -> None:
    """The others look lighter."""
    page = lay_out(language="en", title="t", lines=(), links=(Link("a", "/a"), Link("b", "/b")), refresh_s=3)
    assert '<a class="main" href="/a">a</a><a href="/b">b</a>' in page.html
    assert '<meta http-equiv="refresh" content="3">' in page.html
