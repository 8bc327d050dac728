"""What the platform says of itself to anyone."""

from __future__ import annotations

from tests.control.api.desk import Desk


async def test_the_platform_says_where_it_is_reached(desk: Desk) -> None:
    """To anyone: a sign-in page shows it, and ssh needs it."""
    shown = await desk.anyone.get("/platform")
    assert shown.status == 200
    assert shown.body["ports"] == {"http": 8888, "https": 8443, "ssh": 8022, "tcp": 8999}
    assert shown.body["ssh_host"] == "127.0.0.1"
    assert shown.body["random_ports"] == {"first": 32768, "last": 65535}
