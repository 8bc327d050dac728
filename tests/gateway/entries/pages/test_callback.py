"""The page that a browser comes back to."""

from __future__ import annotations

import pytest

from gateway.entries.pages.callback import callback_page


@pytest.mark.parametrize(("language", "word"), [("zh", "正在登录访问入口"), ("en", "Signing in to the access entry")])
def test_the_code_goes_from_fragment_to_body(language: str, word: str) -> None:
    """It is taken out of the address bar first, posted to the gateway, and the answer's path is gone on to."""
    page = callback_page(language, "n0nce")
    assert word in page.html
    assert '<script nonce="n0nce">' in page.html
    assert page.html.index("history.replaceState") < page.html.index("/.starlight/exchange")
    assert "location.replace(said.path)" in page.html
    assert "FAILED" not in page.html
    assert "UNREACHED" not in page.html
    for kept in ("localStorage", "document.cookie", "serviceWorker"):
        assert kept not in page.html
