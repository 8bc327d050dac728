"""The gateway's own pages: one file, no storage, no service worker, nothing loaded from anywhere.

They stand on the hosts of people's apps, so they leave nothing behind there (no cookie, no cache) and
run no script but the hop's, which a nonce admits.
"""

from gateway.entries.pages.callback import callback_page
from gateway.entries.pages.layout import Page
from gateway.entries.pages.refusal import refusal_page

__all__ = ["Page", "callback_page", "refusal_page"]
