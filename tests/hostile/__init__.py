"""Hostile peers and the faults of other proxies, on raw sockets (research/http.md, section 3)."""
