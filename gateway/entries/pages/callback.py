"""Where a browser comes back from the console: hands the one-time code from the fragment to the gateway, and goes on.

The code travels in the fragment so that it stands in no log and no Referer; it is worth nothing
without the HttpOnly state cookie of the same browser, which no script reads.
"""

from __future__ import annotations

from typing import Final

from gateway.entries.pages.layout import Page, lay_out

_SCRIPT: Final = """
"use strict";
const given = new URLSearchParams(location.hash.slice(1));
history.replaceState(null, "", location.pathname);
const fail = (text) => {
  document.getElementById("title").textContent = FAILED;
  const line = document.createElement("p");
  line.textContent = text;
  document.getElementById("text").replaceChildren(line);
};
fetch("/.starlight/exchange", {
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify({ state: given.get("state"), code: given.get("code") }),
}).then(async (answer) => {
  const said = await answer.json();
  if (answer.ok) location.replace(said.path); else fail(said.detail);
}).catch(() => fail(UNREACHED));
"""
_WORDS: Final = {
    "zh": ("正在登录访问入口…", "未能登录访问入口", "请重新打开此入口。"),
    "en": ("Signing in to the access entry…", "Signing in to the access entry failed", "Open the entry again."),
}


def callback_page(language: str, nonce: str) -> Page:
    """The page; `nonce` is random, new for each answer."""
    title, failed, unreached = _WORDS["zh" if language == "zh" else "en"]
    script = _SCRIPT.replace("FAILED", f'"{failed}"').replace("UNREACHED", f'"{unreached}"')
    return lay_out(language=language, title=title, lines=(), script=script, nonce=nonce)
