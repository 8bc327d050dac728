"""An entry's own domain and its certificate, as the API shows them."""

from __future__ import annotations

from typing import Final, Literal

from control.actions.domains import Verdict
from control.actions.entries import EntrySeen
from control.api.route import Shape
from control.api.shapes.acme import AcmeState, print_acme
from control.api.values import Instant
from control.config import Settings
from control.domain.acme import renews_itself
from control.domain.domains import Pointing, days_left, due_warning, txt_name
from control.domain.errors import Language, Sentence

PointingWord = Literal["yes", "no", "unknown"]
ProofWord = Literal["chain", "dns", "admin", "acme"]


class Certificate(Shape):
    """The certificate that an entry's own domain is served with. `warning` is for a badge: it ends within 30 days."""

    subject: str
    sans: list[str]
    not_after: Instant
    issuer: str
    days_left: int
    warning: Literal["expiring", "expired"] | None


class DomainState(Shape):
    """How far an entry's own domain is. `proof` says how its owner is known; None: not yet.

    `txt_name` and `txt_value` make the TXT record that proves it. `points` tells whether the domain leads to
    `public_address`, with the `addresses` found; `message` what is to be done. `acme` is there when an authority is
    asked for the certificate.
    """

    domain: str
    proof: ProofWord | None
    txt_name: str
    txt_value: str | None
    public_address: str | None
    points: PointingWord
    addresses: list[str]
    checked_at: Instant | None
    message: str | None
    acme: AcmeState | None


class DomainVerdict(DomainState):
    """A domain looked at before it is asked for, with the certificate if one was brought."""

    certificate: Certificate | None


_POINTING: Final[dict[Pointing, Sentence]] = {
    Pointing.YES: Sentence("域名已指向平台。", "The domain points here."),
    Pointing.NO: Sentence(
        "域名尚未指向 {public}（当前解析到：{found}），请到域名服务商处修改解析。",
        "The domain does not point to {public} yet (it leads to: {found}); set it at your DNS provider.",
    ),
    Pointing.UNKNOWN: Sentence(
        "暂时无法确认域名指向哪里；应指向 {public}。",
        "Where the domain points could not be seen; it should be {public}.",
    ),
}
_NOWHERE: Final = Sentence("无", "nothing")
_NOT_KNOWN: Final = Sentence("平台的公网地址（请询问管理员）", "the platform's public address (ask its administrator)")
UNPROVED: Final = Sentence(
    "域名 {domain} 的归属尚未证明：请添加 TXT 记录 {record}，值为 {token}；"
    "或上传受信任机构签发的证书；或请管理员确认。",
    "The domain {domain} is not proved to be yours: set the TXT record {record} to {token}, or upload a certificate "
    "of a publicly trusted authority, or ask an administrator to confirm it.",
)
UNPROVED_OTHERS: Final = Sentence("域名 {domain} 的归属尚未证明", "The domain {domain} is not proved to be its owner's")
LOST: Final = Sentence(
    "域名 {domain} 已由证明了归属的其他访问入口使用",
    "The domain {domain} is used by another entry whose owner proved it",
)


def print_certificate(seen: EntrySeen) -> Certificate | None:
    """The certificate of an entry's own domain."""
    row = seen.domain
    if row is None or not row.has_pair:
        return None
    shown = _certificate(row.subject, list(row.sans), row.not_after, row.issuer, seen.now)
    order = seen.order
    if order is not None and renews_itself(order.failures, order.renew_at, seen.now) and shown.warning == "expiring":
        return shown.model_copy(update={"warning": None})
    return shown


def print_domain(seen: EntrySeen, language: Language, settings: Settings) -> DomainState | None:
    """How far an entry's own domain is. What proves it is for its owner and administrators alone."""
    row = seen.domain
    if row is None:
        return None
    where = _where(row.pointing, list(row.addresses), language, settings)
    message = where if row.serves else why_unserved(seen, language, settings)
    return DomainState(
        domain=row.domain,
        proof=None if row.proof is None else row.proof.value,
        txt_name=txt_name(row.domain),
        txt_value=seen.proof_text or None,
        public_address=settings.public_address or None,
        points=row.pointing.value,
        addresses=list(row.addresses),
        checked_at=row.looked_at,
        message=message,
        acme=print_acme(seen, language, settings),
    )


def why_unserved(seen: EntrySeen, language: Language, settings: Settings) -> str | None:
    """Why gateways do not know the entry's own domain; None when they do, or when it has none."""
    row = seen.domain
    if row is None or row.serves:
        return None
    params = {"domain": row.domain, "record": txt_name(row.domain), "token": seen.proof_text}
    if row.held is None:
        return LOST.say(language, params)
    if not row.has_pair:
        asked = print_acme(seen, language, settings)
        return None if asked is None else asked.message
    return (UNPROVED if seen.proof_text else UNPROVED_OTHERS).say(language, params)


def print_verdict(
    verdict: Verdict, language: Language, settings: Settings, now: float, *, by_itself: bool
) -> DomainVerdict:
    """A domain looked at before it is asked for. `by_itself`: an authority will prove whose it is."""
    sight, pair = verdict.sight, verdict.pair
    params = {"domain": verdict.domain, "record": verdict.record, "token": verdict.token}
    where = _where(sight.pointing, list(sight.addresses), language, settings)
    unproved = "" if by_itself or verdict.proof is not None else UNPROVED.say(language, params)
    certificate = None
    if pair is not None:
        facts = pair.facts
        end = facts.not_after.timestamp()
        certificate = _certificate(facts.subject, list(facts.names), end, facts.issuer, now)
    return DomainVerdict(
        domain=verdict.domain,
        proof=None if verdict.proof is None else verdict.proof.value,
        txt_name=verdict.record,
        txt_value=verdict.token,
        public_address=settings.public_address or None,
        points=sight.pointing.value,
        addresses=list(sight.addresses),
        checked_at=now,
        message=" ".join(text for text in (where, unproved) if text),
        acme=None,
        certificate=certificate,
    )


def _where(pointing: Pointing, addresses: list[str], language: Language, settings: Settings) -> str:
    public = settings.public_address or _NOT_KNOWN.say(language, {})
    found = ", ".join(addresses) or _NOWHERE.say(language, {})
    return _POINTING[pointing].say(language, {"public": public, "found": found})


def _certificate(subject: str, sans: list[str], not_after: float, issuer: str, now: float) -> Certificate:
    due = due_warning(not_after, now)
    return Certificate(
        subject=subject,
        sans=sans,
        not_after=not_after,
        issuer=issuer,
        days_left=days_left(not_after, now),
        warning=None if due is None else "expiring" if due else "expired",
    )
