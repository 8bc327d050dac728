"""The data plane: bytes in, bytes out; no database. README.md walks the life of one connection."""
