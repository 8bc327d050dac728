"""A page for every refusal, in both languages."""

from __future__ import annotations

import pytest

from gateway.core.refusals import SENTENCES, Code, Refusal
from gateway.entries.pages.refusal import WAITED_FOR, refusal_page


@pytest.mark.parametrize("code", list(Code))
@pytest.mark.parametrize("language", ["zh", "en"])
def test_every_refusal_has_its_page(code: Code, language: str) -> None:
    """Sentence, next step, status and code; waited for only where time helps."""
    html = refusal_page(Refusal(code), language, "https://console.example").html
    said = SENTENCES[code]
    plain = html.replace("&#x27;", "'").replace("&quot;", '"')
    assert (said.zh if language == "zh" else said.en) in plain
    assert (said.next_zh if language == "zh" else said.next_en) in plain
    assert f"{said.status} · {code}" in html
    assert 'href="https://console.example/"' in html
    assert ('http-equiv="refresh"' in html) == (code in WAITED_FOR)


def test_the_job_and_entry_are_named_where_they_may_be_known() -> None:
    """With a way to the job's page."""
    page = refusal_page(Refusal(Code.NOT_LISTENING, "jupyter-17", "web"), "en", "http://c")
    assert "Job: jupyter-17, access entry: web" in page.html
    assert '<a class="main" href="http://c/jobs/jupyter-17">' in page.html
    assert "访问入口：web" in refusal_page(Refusal(Code.FORBIDDEN, None, "web"), "zh", "http://c").html


def test_who_has_no_right_gets_a_box_for_a_share_code_of_this_entry() -> None:
    """Its script is the page's own, and says nothing that an address could break."""
    page = refusal_page(Refusal(Code.FORBIDDEN, None, "web"), "en", "https://c/</script>", label="ab12", nonce="n1")
    assert '<input id="code" name="code"' in page.html
    assert '"https://c/\\u003c/script>/redeem"' in page.html
    assert 'entry: "ab12"' in page.html
    assert "script-src 'nonce-n1'" in page.policy
    for other in (Refusal(Code.FORBIDDEN), Refusal(Code.BUSY)):
        plain = refusal_page(other, "zh", "https://c", label="" if other.code is Code.FORBIDDEN else "ab12", nonce="n1")
        assert "<form" not in plain.html
        assert "script-src" not in plain.policy
