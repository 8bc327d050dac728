"""The ssh entry: port 8022 and the random ports of ssh entries. connection.py walks one connection."""

from gateway.entries.ssh.server import serve

__all__ = ["serve"]
