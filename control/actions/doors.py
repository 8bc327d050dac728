"""Where people knock: the fixed port of each protocol, the random ones, and the host for ssh and tcp."""

from __future__ import annotations

from urllib.parse import urlsplit

from control.config import Settings
from control.domain.entries import Doors
from gateway.contract.routes import Protocol


def doors_of(settings: Settings) -> Doors:
    """The doors that the settings open."""
    return Doors(
        base_domain=settings.base_domain,
        fixed={
            Protocol.HTTP: settings.http_port,
            Protocol.HTTPS: settings.https_port,
            Protocol.SSH: settings.ssh_port,
            Protocol.TCP: settings.tcp_port,
        },
        random_ports=range(settings.random_ports.first, settings.random_ports.last + 1),
    )


def ssh_host(settings: Settings) -> str:
    """The host to type after `ssh -p PORT USER@`: the console's, by a number where its name means this machine.

    Programs other than browsers do not resolve names below `.localhost`.
    """
    host = urlsplit(settings.console_url).hostname or settings.host
    return "127.0.0.1" if host == "localhost" or host.endswith(".localhost") else host
