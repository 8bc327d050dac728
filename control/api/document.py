"""The API's own description, and what the platform is: both for anyone."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Final

from aiohttp import web

from control.actions import clients
from control.actions.doors import ssh_host
from control.api.asked import Asked
from control.api.openapi import openapi_document, print_document
from control.api.route import Access, Route, Shape, route
from control.api.shapes.acme import AcmeWay, print_ways

VERSION: Final = version("starlight-gateway")
DOCUMENT: Final = web.AppKey("document", bytes)


class FixedPorts(Shape):
    """The fixed port of each protocol."""

    http: int
    https: int
    ssh: int
    tcp: int


class RandomPorts(Shape):
    """From which port to which random ones are taken."""

    first: int
    last: int


class Platform(Shape):
    """Where the platform is reached. `public_address` is what a custom domain is pointed at, when it is known.

    `acme` holds the ways in which an authority can be asked for a domain's certificate; null where none is set.
    `authority` vouches for names below the base domain, PEM; null where somebody else does.
    """

    version: str
    console_url: str
    base_domain: str
    ssh_host: str
    public_address: str | None
    ports: FixedPorts
    random_ports: RandomPorts
    authority: str | None
    acme: list[AcmeWay] | None


def render(routes: Sequence[Route]) -> bytes:
    """The OpenAPI document of `routes`, as it is served."""
    return print_document(openapi_document(routes, version=VERSION))


async def show_document(asked: Asked) -> web.Response:
    """This document."""
    return web.Response(body=asked.request.app[DOCUMENT], content_type="application/json", charset="utf-8")


async def show_platform(asked: Asked) -> Platform:
    """Where the platform is reached."""
    settings = asked.ctx.settings
    return Platform(
        version=VERSION,
        console_url=settings.console_url,
        base_domain=settings.base_domain,
        ssh_host=ssh_host(settings),
        public_address=settings.public_address or None,
        ports=FixedPorts(
            http=settings.http_port, https=settings.https_port, ssh=settings.ssh_port, tcp=settings.tcp_port
        ),
        random_ports=RandomPorts(first=settings.random_ports.first, last=settings.random_ports.last),
        authority=await clients.server_authority(asked.ctx),
        acme=print_ways(settings, asked.language),
    )


ROUTES: Final = (
    route("GET", "/openapi.json", show_document, access=Access.ANYONE),
    route("GET", "/platform", show_platform, access=Access.ANYONE),
)
