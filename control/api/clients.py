"""Client certificates for tcp entries over TLS: issue, list, withdraw."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from control.actions import clients
from control.actions.clients import ClientSeen, MadeClient
from control.api.asked import Asked
from control.api.route import Shape, route
from control.api.values import Instant, Listed, Withdrawn, print_withdrawn, whole


class ClientCertificate(Shape):
    """A client certificate that stands. `fingerprint` is the hex SHA-256 of the certificate."""

    id: int
    entry_id: int
    user: str
    serial: str
    fingerprint: str
    created_at: Instant
    expires_at: Instant


class MadeClientCertificate(ClientCertificate):
    """A client certificate just issued, with its key, which is shown this once.

    `authority` is what vouches for the gateway's own certificate. `pem` holds all three, for the programs that
    take one file for each of their options; `file_name` is a name for that file.
    """

    certificate: str
    private_key: str = Field(repr=False)
    authority: str
    pem: str = Field(repr=False)
    file_name: str


async def issue_client_certificate(asked: Asked, entry: str) -> MadeClientCertificate:
    """A certificate and key by which the caller passes a tcp entry over TLS for 30 days."""
    return _print_made(await clients.issue(asked.ctx, asked.who, entry))


async def list_client_certificates(asked: Asked, entry: str) -> Listed[ClientCertificate]:
    """An entry's client certificates: all of them for its owner, for others their own."""
    return whole([_print(seen) for seen in await clients.of_entry(asked.ctx, asked.who, entry)])


async def withdraw_client_certificate(asked: Asked, certificate: int) -> Withdrawn:
    """Withdraws a client certificate; visits that rest on it are cut within a second."""
    return print_withdrawn(await clients.withdraw(asked.ctx, asked.who, certificate))


def _print(seen: ClientSeen) -> ClientCertificate:
    row = seen.row
    return ClientCertificate(
        id=row.id,
        entry_id=row.entry_id,
        user=seen.user,
        serial=row.serial,
        fingerprint=row.fingerprint,
        created_at=row.created_at,
        expires_at=row.expires_at,
    )


def _print_made(made: MadeClient) -> MadeClientCertificate:
    # The certificate comes first: programs take the first one of a file as their own.
    return MadeClientCertificate(
        **dict(_print(made.seen)),
        certificate=made.certificate,
        private_key=made.key,
        authority=made.authority,
        pem=made.certificate + made.key + made.authority,
        file_name=f"{made.entry.label[:8]}.pem",
    )


ROUTES: Final = (
    route("POST", "/entries/{entry}/client-certificate", issue_client_certificate, status=201),
    route("GET", "/entries/{entry}/client-certificates", list_client_certificates),
    route("DELETE", "/client-certificates/{certificate}", withdraw_client_certificate),
)
