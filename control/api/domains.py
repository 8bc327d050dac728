"""Domains of entries' own: looked at before one is asked for, asked about again, confirmed by an administrator."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from control.actions import acme, domains, entries
from control.api.asked import Asked
from control.api.route import Access, Body, route
from control.api.shapes.domains import DomainVerdict, print_verdict
from control.api.shapes.entries import Entry, print_entry
from control.api.values import Line, Pem, Secret
from control.domain.domains import read_domain, read_wish
from control.domain.errors import FieldCode, fault, invalid


class DomainQuestion(Body):
    """A domain, and perhaps certificate and key that are to serve it, or that an authority will be asked for them."""

    domain: Line
    certificate: Pem | None = None
    private_key: Pem | None = Field(default=None, repr=False)
    private_key_password: Secret | None = Field(default=None, repr=False)
    acme: bool = False


async def check_domain(asked: Asked, body: DomainQuestion) -> DomainVerdict:
    """What would become of a domain and its certificate: nothing is kept. Faults come by field, as when adding."""
    plain = body.model_dump(exclude_none=True, exclude={"acme"})
    wish = None
    if body.certificate or body.private_key:
        wish, faults = read_wish(plain, "")
        if faults:
            raise invalid(*faults)
    domain = read_domain(body.domain)
    if domain is None:
        raise invalid(fault("domain", FieldCode.DOMAIN_FORM))
    verdict = await domains.verdict(asked.ctx, asked.who, domain, wish)
    return print_verdict(verdict, asked.language, asked.ctx.settings, asked.ctx.now(), by_itself=body.acme)


async def check_entry_domain(asked: Asked, entry: str) -> Entry:
    """Asks the name service about an entry's domain now: whose it is, and where it points."""
    await domains.look(asked.ctx, asked.who, entry)
    return await _shown(asked, entry)


async def approve_entry_domain(asked: Asked, entry: str) -> Entry:
    """An administrator's word that the domain is its entry's owner's."""
    await domains.approve(asked.ctx, asked.who, entry)
    return await _shown(asked, entry)


async def go_on(asked: Asked, entry: str) -> Entry:
    """Has the authority look now: the TXT record of dns-01 stands, or what was in the way is mended."""
    await acme.go_on(asked.ctx, asked.who, entry)
    return await _shown(asked, entry)


async def _shown(asked: Asked, entry: str) -> Entry:
    seen = await entries.show_known(asked.ctx, asked.who, entry)
    return print_entry(seen, asked.language, asked.ctx.settings)


ROUTES: Final = (
    route("POST", "/domains/check", check_domain),
    route("POST", "/entries/{entry}/domain/check", check_entry_domain),
    route("POST", "/entries/{entry}/domain/continue", go_on),
    route("POST", "/entries/{entry}/domain/approve", approve_entry_domain, access=Access.ADMIN),
)
