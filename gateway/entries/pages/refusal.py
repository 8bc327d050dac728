"""The page of a refusal: what happened, what to try next, and a way on.

What time alone may mend (a job that starts, an app that does not listen yet) is waited for.
"""

from __future__ import annotations

from typing import Final

from gateway.core.refusals import Code, Refusal, next_step, sentence, status
from gateway.entries.pages import share_box
from gateway.entries.pages.layout import Link, Page, lay_out

WAITED_FOR: Final = frozenset({Code.JOB_STARTING, Code.NOT_LISTENING, Code.CONTROL_AWAY, Code.RESTARTING, Code.BUSY})
"""Refusals that time alone may end: their pages load themselves again."""
REFRESH_S: Final = 3


def refusal_page(refusal: Refusal, language: str, console_url: str, *, label: str = "", nonce: str = "") -> Page:
    """The page for a refusal; `language` is `zh` or `en`, `console_url` where the way back leads.

    With the entry's `label`, who has no right gets a box for a share code; its script needs `nonce`, new each time.
    """
    waits = refusal.code in WAITED_FOR
    redeems = bool(label) and refusal.code is Code.FORBIDDEN
    step = share_box.lead(language) if redeems else next_step(refusal, language)
    return lay_out(
        language=language,
        title=sentence(refusal, language),
        lines=(step, _subject(refusal, language), _waiting(language) if waits else ""),
        links=_links(refusal, language, console_url),
        box=share_box.box(language) if redeems else None,
        script=share_box.script(console_url, label) if redeems else "",
        nonce=nonce,
        footer=f"{status(refusal)} · {refusal.code}",
        refresh_s=REFRESH_S if waits else None,
    )


def _subject(refusal: Refusal, language: str) -> str:
    job, entry = refusal.job_id, refusal.entry_name
    if language == "zh":
        return "，".join([f"作业：{job}"] * bool(job) + [f"访问入口：{entry}"] * bool(entry))
    return ", ".join([f"Job: {job}"] * bool(job) + [f"access entry: {entry}"] * bool(entry))


def _waiting(language: str) -> str:
    return "本页会自动刷新。" if language == "zh" else "This page refreshes by itself."


def _links(refusal: Refusal, language: str, console_url: str) -> tuple[Link, ...]:
    home = Link("返回控制台" if language == "zh" else "Back to the console", console_url + "/")
    if refusal.job_id is None:
        return (home,)
    text = "查看作业详情" if language == "zh" else "Show the job"
    return (Link(text, f"{console_url}/jobs/{refusal.job_id}"), home)
