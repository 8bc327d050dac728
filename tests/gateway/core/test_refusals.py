"""The closed list of refusals: complete, in two languages, and silent about the inside."""

from __future__ import annotations

import re

import pytest

from gateway.core.refusals import SENTENCES, Code, Refusal, next_step, sentence, status


@pytest.mark.parametrize("code", Code)
def test_each_code_speaks_both_languages(code: Code) -> None:
    """A code has a status, a sentence and a next step in Chinese and in English."""
    said = SENTENCES[code]
    assert 400 <= said.status < 600
    for text in (said.zh, said.next_zh):
        assert re.search(r"[\u4e00-\u9fff]", text)
        assert text.endswith("。")
    for text in (said.en, said.next_en):
        assert re.fullmatch(r"[A-Z][\x20-\x7e]*\.", text)


def test_language_chooses_the_sentence() -> None:
    """`zh` is Chinese; any other language falls back to English."""
    no = Refusal(Code.JOB_ENDED, "jupyter-17")
    assert sentence(no, "zh") == "作业已结束，访问入口已关闭。"
    assert sentence(no, "en") == sentence(no, "fr") == "The job has ended and its access entries are closed."
    assert next_step(no, "zh") == "如需继续使用，请重新提交作业。"
    assert next_step(no, "en") == "Submit the job again to go on."


def test_status_is_the_codes() -> None:
    """The HTTP status comes from the list."""
    assert [status(Refusal(code)) for code in (Code.SIGN_IN, Code.FORBIDDEN, Code.JOB_ENDED)] == [401, 403, 410]
