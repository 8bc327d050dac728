"""Rows as the records that gateways hold: nothing more than a gateway needs."""

from __future__ import annotations

from control.domain.instants import rfc3339
from control.domain.jobs.states import Wanted, phase
from control.store import client_tables, domain_tables, tables
from gateway.contract import people, routes
from gateway.contract.routes import JobPhase


def user(row: tables.User) -> people.User:
    """A person."""
    return people.User(row.id, row.name, row.role.value, row.disabled, row.spoken_language)


def key(row: tables.SshKey) -> people.Key:
    """An SSH public key of a profile."""
    return people.Key(row.id, row.user_id, row.fingerprint)


def session(row: tables.Session) -> people.Session:
    """A console sign-in."""
    return people.Session(row.id, row.user_id, row.token_hash, row.expires_at)


def token(row: tables.Token) -> people.Token:
    """An API token."""
    return people.Token(row.id, row.user_id, row.token_hash, row.scope, row.entry_id, row.expires_at)


def client(row: client_tables.ClientCertificate) -> people.ClientCertificate:
    """A client certificate."""
    return people.ClientCertificate(row.id, row.user_id, row.entry_id, row.fingerprint, row.expires_at)


def authority(row: client_tables.ClientAuthority) -> routes.Authority:
    """An authority for client certificates; its key stays here."""
    return routes.Authority(row.id, row.certificate_pem)


def grant(row: tables.Grant) -> people.Grant:
    """A redeemed share code."""
    return people.Grant(row.id, row.entry_id, row.user_id, row.expires_at)


def job(row: tables.Job, owner_name: str) -> routes.Job:
    """A job for the ssh menu and the refusal pages.

    One that is being closed is over for gateways: its visits are cut first, its processes end after.
    """
    return routes.Job(
        id=row.id,
        name=row.name,
        owner_id=row.owner_id,
        owner_name=owner_name,
        cluster=row.cluster,
        phase=JobPhase.ENDED if row.wanted is Wanted.CLOSED else phase(row.state),
        state=row.state.value,
        node=row.node,
        since=rfc3339(row.started_at) or "",
        engine=row.cluster,
    )


def entry(row: tables.Entry, of: tables.Job) -> routes.Entry:
    """An access entry of job `of`."""
    return routes.Entry(
        id=row.id,
        label=row.label,
        name=row.name,
        protocol=row.protocol,
        level=row.level,
        port_kind=row.port_kind,
        port=row.port,
        host=row.host,
        job_id=row.job_id,
        owner_id=of.owner_id,
        target=routes.Target(of.cluster, of.id, row.service, row.target_port, row.app_protocol, row.app_pin),
        cors_origins=tuple(row.cors_origins),
        limits=routes.EntryLimits(**row.limits) if row.limits else None,
    )


def certificate(row: tables.CertificateRow) -> routes.Certificate:
    """A certificate; its key stays sealed."""
    return routes.Certificate(row.id, tuple(row.names), row.chain_pem, row.key_sealed, row.is_default)


def own_certificate(row: domain_tables.EntryDomain) -> routes.Certificate:
    """The certificate of an entry's own domain. It answers for this one name, whatever else it may hold."""
    return routes.Certificate(row.certificate_id, (row.domain,), row.chain_pem, row.key_sealed)


def secret(row: tables.SecretRow) -> routes.Secret:
    """A key shared by all gateways; it stays sealed."""
    return routes.Secret(row.id, row.use, row.generation, row.value_sealed)
