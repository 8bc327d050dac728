"""The `starlight` command; it speaks only the API."""
