"""The frame that every page of the gateway shares: one card, light and dark, readable without a script."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from html import escape
from typing import Final

STYLE: Final = """
:root { color-scheme: light dark; --ground: #f4f6fa; --card: #fff; --text: #1f2733; --soft: #5c6675; --line: #dde3ec;
  --accent: #2f6fed; --on-accent: #fff; }
@media (prefers-color-scheme: dark) { :root { --ground: #12161d; --card: #1b212b; --text: #e6eaf0; --soft: #9aa5b5;
  --line: #2c3543; --accent: #5b8ff9; --on-accent: #0d1420; } }
* { box-sizing: border-box; }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 1.5rem; background: var(--ground);
  color: var(--text); font: 16px/1.65 system-ui, -apple-system, "Segoe UI", "PingFang SC", "Microsoft YaHei",
  "Noto Sans CJK SC", sans-serif; }
main { width: 100%; max-width: 34rem; padding: 2rem; background: var(--card); border: 1px solid var(--line);
  border-radius: 12px; }
h1 { margin: 0 0 .5rem; font-size: 1.3rem; line-height: 1.4; }
p { margin: .25rem 0; color: var(--soft); overflow-wrap: anywhere; }
nav { display: flex; flex-wrap: wrap; gap: .75rem; margin-top: 1.5rem; }
a { padding: .4rem 1rem; border: 1px solid var(--line); border-radius: 6px; color: var(--accent);
  text-decoration: none; }
a.main { border-color: var(--accent); background: var(--accent); color: var(--on-accent); }
form { display: flex; flex-wrap: wrap; gap: .5rem; margin-top: 1.25rem; }
label { flex: 1 0 100%; font-size: .9rem; }
input { flex: 1 1 12rem; min-width: 0; padding: .4rem .75rem; border: 1px solid var(--soft); border-radius: 6px;
  background: var(--ground); color: var(--text); font: inherit; }
button { padding: .4rem 1rem; border: 1px solid var(--accent); border-radius: 6px; background: var(--accent);
  color: var(--on-accent); font: inherit; cursor: pointer; }
input:focus-visible, button:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
a:hover { border-color: var(--accent); } a:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
footer { margin-top: 1.5rem; padding-top: 1rem; border-top: 1px solid var(--line); color: var(--soft);
  font-size: .82rem; }
"""
_STYLE_HASH: Final = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()


@dataclass(frozen=True, slots=True)
class Page:
    """A page: its HTML and the Content-Security-Policy that it needs."""

    html: str
    policy: str


@dataclass(frozen=True, slots=True)
class Link:
    """A way on; the first of a page is the one to take."""

    text: str
    url: str


@dataclass(frozen=True, slots=True)
class Box:
    """A box to type one word into. What happens then is up to the page's script."""

    label: str
    placeholder: str
    button: str


def lay_out(
    *,
    language: str,
    title: str,
    lines: tuple[str, ...],
    links: tuple[Link, ...] = (),
    box: Box | None = None,
    footer: str = "",
    refresh_s: int | None = None,
    script: str = "",
    nonce: str = "",
) -> Page:
    """A page that says `title` and `lines`; all texts are escaped here. `refresh_s` loads it again after a while."""
    paragraphs = "".join(f"<p>{escape(line)}</p>" for line in lines if line)
    html = (
        f'<!doctype html>\n<html lang="{"zh-CN" if language == "zh" else "en"}">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="robots" content="noindex">\n'
        + (f'<meta http-equiv="refresh" content="{refresh_s}">\n' if refresh_s else "")
        + f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f'<main>\n<h1 id="title">{escape(title)}</h1>\n<div id="text">{paragraphs}</div>\n'
        f"{_form(box)}{_navigation(links, light=box is not None)}"
        + (f"<footer>{escape(footer)}</footer>\n" if footer else "")
        + "</main>\n"
        + (f'<script nonce="{nonce}">{script}</script>\n' if script else "")
        + "</body>\n</html>\n"
    )
    return Page(html, _policy(nonce if script else ""))


def _form(box: Box | None) -> str:
    if box is None:
        return ""
    return (
        f'<form id="box"><label for="code">{escape(box.label)}</label><input id="code" name="code" required '
        f'maxlength="2000" autocomplete="off" spellcheck="false" placeholder="{escape(box.placeholder)}">'
        f"<button>{escape(box.button)}</button></form>\n"
    )


def _navigation(links: tuple[Link, ...], *, light: bool) -> str:
    """`light`: none of them is what to do here."""
    if not links:
        return ""
    kinds = ["" if light else ' class="main"'] + [""] * len(links)
    anchors = (
        f'<a{kind} href="{escape(link.url)}">{escape(link.text)}</a>' for kind, link in zip(kinds, links, strict=False)
    )
    return f"<nav>{''.join(anchors)}</nav>\n"


def _policy(nonce: str) -> str:
    script = f"script-src 'nonce-{nonce}'; connect-src 'self'; " if nonce else ""
    return (
        f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; {script}"
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
