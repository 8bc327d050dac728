"""Which entry serves which listener: the one place that knows all entries."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Literal

from gateway.config import Role
from gateway.contract.routes import Protocol
from gateway.entries import acme, http, ssh, tcp
from gateway.serving import Serve, Services
from gateway.wire.gate import Gate


def services(gate: Gate) -> Services:
    """What a process of the configured role serves."""
    return _ssh(gate) if gate.config.role is Role.SSH else _web(gate)


def _web(gate: Gate) -> Services:
    config = gate.config
    web = {
        "console": _http(gate, "http", config.console_port, console=True),
        "http": _http(gate, "http", config.http_port),
        "https": _http(gate, "https", config.https_port),
        "tcp": _tcp(gate, config.tcp_port),
    }
    web |= {name: _validations(gate, name) for name in config.acme_listeners}
    random: dict[Protocol, Callable[[int], Serve]] = {
        Protocol.HTTP: lambda port: _http(gate, "http", port),
        Protocol.HTTPS: lambda port: _http(gate, "https", port),
        Protocol.TCP: lambda port: _tcp(gate, port),
    }
    return Services(web, random)


def _ssh(gate: Gate) -> Services:
    return Services({"ssh": _ssh_on(gate, gate.config.ssh_port)}, {Protocol.SSH: lambda port: _ssh_on(gate, port)})


def _http(gate: Gate, scheme: Literal["http", "https"], port: int, *, console: bool = False) -> Serve:
    async def serve(listener: socket.socket) -> None:
        await http.serve(gate, listener, scheme=scheme, port=port, console=console)

    return serve


def _tcp(gate: Gate, port: int) -> Serve:
    async def serve(listener: socket.socket) -> None:
        await tcp.serve(gate, listener, port=port)

    return serve


def _validations(gate: Gate, name: str) -> Serve:
    async def serve(listener: socket.socket) -> None:
        await (acme.serve_http if name == "acme_http" else acme.serve_tls)(gate, listener)

    return serve


def _ssh_on(gate: Gate, port: int) -> Serve:
    async def serve(listener: socket.socket) -> None:
        await ssh.serve(gate, listener, port=port)

    return serve
