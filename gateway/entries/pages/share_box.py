"""The box for a share code on the page of an entry that a person may not pass.

The code goes on to the console in a fragment, which stands in no log and no Referer; there the person, whom it
knows, redeems it for this very entry and comes back to the page they wanted.
"""

from __future__ import annotations

import json
from typing import Final

from gateway.entries.pages.layout import Box

_WORDS: Final = {
    "zh": Box("有共享码？输入后即可打开此入口", "共享码或共享链接", "使用"),
    "en": Box("Have a share code? Enter it to open this entry", "Share code or share link", "Use"),
}
_LEADS: Final = {
    "zh": "请向作业的所有者索取共享码，在下面输入。",
    "en": "Ask the job's owner for a share code and enter it below.",
}
_SCRIPT: Final = """
"use strict";
const box = document.getElementById("box");
box.addEventListener("submit", (event) => {
  event.preventDefault();
  const typed = box.elements.code.value.trim();
  const link = new URLSearchParams(typed.slice(typed.indexOf("#") + 1));
  const code = typed.includes("#") ? link.get("code") : typed;
  const back = location.pathname + location.search;
  if (code) location.assign(REDEEM + "#" + new URLSearchParams({ code, entry: ENTRY, back }));
});
"""


def box(language: str) -> Box:
    """The box in `zh` or, for any other language, `en`."""
    return _WORDS["zh" if language == "zh" else "en"]


def lead(language: str) -> str:
    """What to do, said above the box."""
    return _LEADS["zh" if language == "zh" else "en"]


def script(console_url: str, label: str) -> str:
    """What the box does: to the console's page for codes, with the entry's label and the way back."""
    return _SCRIPT.replace("REDEEM", _literal(f"{console_url}/redeem")).replace("ENTRY", _literal(label))


def _literal(text: str) -> str:
    """The text as a script's string that no markup can end."""
    return json.dumps(text).replace("<", "\\u003c")
