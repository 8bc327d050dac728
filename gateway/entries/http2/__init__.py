"""HTTP/2, on its way from people's browsers and on its way to apps that speak it.

Read in this order: `peer.py` (frames, states and limits), `link.py` (one connection), `exchange.py` (one stream, which
looks like an HTTP/1.1 connection from inside), `connection.py` (people's side), `mouth.py`, `app.py` (apps' side).
"""

from gateway.entries import http  # noqa: F401 - its listener hands connections to this folder: it comes first
