"""A certificate that an authority gives over ACME, as the API shows it: what has to be so, how far it is."""

from __future__ import annotations

from typing import Final, Literal

from certs.acme import dns_record
from control.actions.acme import Landing, landings
from control.actions.entries import EntrySeen
from control.api.route import Shape
from control.api.values import Instant
from control.config import Settings
from control.domain.acme import Method, Stage, stage
from control.domain.errors import Language, Sentence
from control.domain.instants import rfc3339
from control.store.acme_tables import AcmeOrder

ChallengeWord = Literal["http-01", "tls-alpn-01", "dns-01"]
StageWord = Literal["waiting", "by_hand", "looking", "issuing", "issued", "failed"]


class AcmeWay(Shape):
    """A way in which the authority looks. `world_port` is the one it calls, `our_port` what has to be behind it."""

    challenge: ChallengeWord
    world_port: int | None
    our_port: int | None
    message: str


class AcmeState(Shape):
    """How far a certificate by ACME is. `txt_name` and `txt_value` make the record that a person sets for dns-01.

    `complaint` is what the authority said no with, in its own words.
    """

    challenge: ChallengeWord
    stage: StageWord
    txt_name: str | None
    txt_value: str | None
    complaint: str | None
    complained_at: Instant | None
    next_try_at: Instant | None
    renews_at: Instant | None
    message: str


_WAYS: Final[dict[Method, Sentence]] = {
    Method.HTTP: Sentence(
        "签发机构会访问域名的 80 端口来验证；域名须指向 {public}。",
        "The authority calls port 80 of the domain, which has to point to {public}.",
    ),
    Method.TLS: Sentence(
        "签发机构会访问域名的 443 端口来验证；域名须指向 {public}。",
        "The authority calls port 443 of the domain, which has to point to {public}.",
    ),
    Method.DNS: Sentence(
        "由您添加一条 TXT 记录来验证，每次续期都要更换；域名可以不指向平台。",
        "You set a TXT record, and another one at each renewal; the domain need not point here for it.",
    ),
}
_FORWARD: Final = Sentence(
    "注意：还需要把 {public} 的 {world} 端口转发到平台的 {ours} 端口（STARLIGHT_{setting}），"
    "否则验证会失败，请询问管理员。",
    "Port {world} of {public} has to be forwarded to the platform's port {ours} (STARLIGHT_{setting}), or the "
    "authority finds nothing; ask the administrator.",
)
_OFF: Final = Sentence(
    "平台已停用自动签发，请上传证书。", "Certificates are no longer made by themselves here; upload one."
)
_SETTINGS: Final = {Method.HTTP: "ACME_HTTP_PORT", Method.TLS: "ACME_TLS_PORT"}
_PUBLIC: Final = Sentence("平台的公网地址", "the platform's public address")
_STAGES: Final[dict[Stage, Sentence]] = {
    Stage.WAITING: Sentence("正在申请证书。", "A certificate is being asked for."),
    Stage.BY_HAND: Sentence(
        "请添加 TXT 记录 {record}，值为 {value}；生效后点击“继续”。",
        "Set the TXT record {record} to {value}; once it stands, go on.",
    ),
    Stage.LOOKING: Sentence("签发机构正在验证域名。", "The authority is looking at the domain."),
    Stage.ISSUING: Sentence("正在签发证书。", "The certificate is being made."),
    Stage.ISSUED: Sentence(
        "证书自动签发，将于 {renews} 续期。", "The certificate was given; it is renewed on {renews}."
    ),
    Stage.FAILED: Sentence(
        "未能取得证书，{next} 自动重试。签发机构说：“{complaint}”。",
        "No certificate yet; it is asked for again at {next}. The authority says: “{complaint}”.",
    ),
}


def print_ways(settings: Settings, language: Language) -> list[AcmeWay] | None:
    """The ways that are offered; None when no authority is set."""
    offered = landings(settings)
    if not offered:
        return None
    return [
        AcmeWay(
            challenge=one.method.value,
            world_port=one.world_port,
            our_port=one.our_port,
            message=_way(one, settings, language),
        )
        for one in offered
    ]


def print_acme(seen: EntrySeen, language: Language, settings: Settings) -> AcmeState | None:
    """How far the certificate of an entry's domain is; what to set is for its owner and administrators alone."""
    order = seen.order
    if order is None:
        return None
    record, value = _record(order) if seen.proof_text else (None, None)
    now = stage(order.facts)
    complaint = order.complaint or {}
    said = {
        "record": record or "",
        "value": value or "",
        "renews": (rfc3339(order.renew_at) or "")[:10],
        "next": _minute(order.due_at),
        "complaint": complaint.get("detail", ""),
    }
    message = (_STAGES[now] if settings.acme_directory else _OFF).say(language, said)
    if now in (Stage.WAITING, Stage.FAILED):
        message = " ".join([message, *_forward(order.method, settings, language)])
    return AcmeState(
        challenge=order.method.value,
        stage=now.value,
        txt_name=record,
        txt_value=value,
        complaint=complaint.get("detail"),
        complained_at=complaint.get("at"),
        next_try_at=order.due_at if now is Stage.FAILED else None,
        renews_at=order.renew_at if order.chain_pem is not None else None,
        message=message,
    )


def _minute(instant: float) -> str:
    return f"{(rfc3339(instant) or '')[:16].replace('T', ' ')} UTC"


def _record(order: AcmeOrder) -> tuple[str | None, str | None]:
    if order.method is not Method.DNS or order.authorization is None:
        return None, None
    return dns_record(order.domain, order.authorization)


def _way(one: Landing, settings: Settings, language: Language) -> str:
    public = settings.public_address or _PUBLIC.say(language, {})
    return " ".join([_WAYS[one.method].say(language, {"public": public}), *_forward(one.method, settings, language)])


def _forward(method: Method, settings: Settings, language: Language) -> list[str]:
    """The forward that the world's port needs, if it needs one."""
    for one in landings(settings):
        if one.method is method and not one.is_direct:
            public = settings.public_address or _PUBLIC.say(language, {})
            named = {"public": public, "world": one.world_port, "ours": one.our_port, "setting": _SETTINGS[method]}
            return [_FORWARD.say(language, named)]
    return []
