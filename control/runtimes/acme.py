"""A certificate authority asked over ACME (RFC 8555), by certbot's library in threads of our own.

Each call is one question with a deadline, from what the database holds to a plain answer: an order is found again by
its URL, whoever opened it. What the authority says no with is a Complaint in its own words.
Holds state: the authority's directory, until something fails. The threads are few, and not those that hash passwords.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final, TypeVar

import requests
from acme import errors, messages
from acme.client import ClientNetwork, ClientV2
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from josepy.b64 import b64encode
from josepy.errors import Error as JoseError
from josepy.interfaces import JSONDeSerializable
from josepy.jwa import ES256
from josepy.jwk import JWKEC
from josepy.util import ComparableECKey
from requests.adapters import HTTPAdapter

from control.domain.acme import DETAIL_CHARACTERS, Complaint, Method

CALL_S: Final = 60.0
"""Seconds for one question, all of its requests together."""
THREADS: Final = 4
_REQUEST_S: Final = 20
_ANSWER_BYTES: Final = 512 * 1024
_PIECE_BYTES: Final = 16 * 1024
_POLL_S: Final = 2.0
_PROBLEM_PREFIX: Final = "urn:ietf:params:acme:error:"
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Account:
    """An account at the authority: its key (PEM), and its URL, None before it is registered."""

    key_pem: str = field(repr=False)
    url: str | None = None


@dataclass(frozen=True, slots=True)
class Offer:
    """A challenge that the authority offers; `authorization` is what it wants to be shown (RFC 8555 section 8.1)."""

    url: str
    token: str
    authorization: str
    status: str
    complaint: Complaint | None


@dataclass(frozen=True, slots=True)
class OrderSeen:
    """An order as the authority has it (RFC 8555 section 7.1.6). `again_s`: ask again after so long."""

    status: str
    finalize: str
    certificate: str | None
    offers: Mapping[Method, Offer]
    complaint: Complaint | None
    again_s: float


class RefusedError(Exception):
    """The authority said no, or could not be asked. `retry_after_s` is what it said of when to try again."""

    def __init__(self, complaint: Complaint, retry_after_s: float | None = None) -> None:
        super().__init__(f"{complaint.kind}: {complaint.detail}")
        self.complaint = complaint
        self.retry_after_s = retry_after_s


class AcmeAuthority:
    """The authority whose directory stands at one URL."""

    def __init__(self, directory_url: str, contact: str, bundle: Path | None, agent: str) -> None:
        """`bundle` holds the certificates (PEM) that the directory's own TLS is trusted by, else the machine's are."""
        self.directory_url = directory_url
        self._contact = contact
        self._trusted = str(bundle) if bundle else _machine_bundle()
        self._agent = agent
        self._directory: messages.Directory | None = None
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="acme")

    async def register(self, key_pem: str) -> str:
        """The URL of the account with this key, which is made if there is none. The terms were agreed to before."""

        def ask(talk: _Talk) -> str:
            wish = messages.NewRegistration.from_data(email=self._contact or None, terms_of_service_agreed=True)
            try:
                return str(ClientV2(talk.directory, talk.net).new_account(wish).uri)
            except errors.ConflictError as known:
                return known.location

        return await self._ask(Account(key_pem), ask)

    async def order(self, account: Account, domain: str) -> str:
        """Opens an order; its URL."""

        def ask(talk: _Talk) -> str:
            name = messages.Identifier(typ=messages.IDENTIFIER_FQDN, value=domain)
            return talk.post(talk.directory["newOrder"], messages.NewOrder(identifiers=[name])).headers["Location"]

        return await self._ask(account, ask)

    async def look(self, account: Account, order_url: str) -> OrderSeen:
        """The order, with what its one authorization offers while that is open."""

        def ask(talk: _Talk) -> OrderSeen:
            answer = talk.post(order_url)
            order = messages.Order.from_json(answer.json())
            offers: dict[Method, Offer] = {}
            if order.status in (messages.STATUS_PENDING, messages.STATUS_INVALID):
                for url in order.authorizations:
                    offers |= _offers(talk.post(url).json(), talk.key)
            return OrderSeen(
                status=str(order.status.name),
                finalize=order.finalize,
                certificate=order.certificate,
                offers=offers,
                complaint=None if order.error is None else _complaint(order.error),
                again_s=_retry_after_s(answer) or _POLL_S,
            )

        return await self._ask(account, ask)

    async def answer(self, account: Account, challenge_url: str) -> None:
        """Tells the authority to look (RFC 8555 section 7.5.1)."""
        await self._ask(account, lambda talk: talk.post(challenge_url, _Empty()))

    async def finalize(self, account: Account, url: str, request_pem: str) -> None:
        """Hands in the request for the certificate (RFC 8555 section 7.4)."""
        request = messages.CertificateRequest(csr=x509.load_pem_x509_csr(request_pem.encode()))
        await self._ask(account, lambda talk: talk.post(url, request))

    async def fetch(self, account: Account, certificate_url: str) -> str:
        """The certificate with its chain, PEM."""
        return await self._ask(account, lambda talk: str(talk.post(certificate_url).text))

    async def renewal(self, chain_pem: str) -> tuple[float | None, float]:
        """When the authority wants this one renewed (RFC 9773), None when it says nothing; when to ask again."""

        def ask(talk: _Talk) -> tuple[float | None, float]:
            wanted, again = ClientV2(talk.directory, talk.net).renewal_time(chain_pem.encode())
            return None if wanted is None else wanted.timestamp(), again.timestamp()

        return await self._ask(Account(""), ask)

    def close(self) -> None:
        """Ends the threads once their last question is answered."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _ask(self, account: Account, question: Callable[[_Talk], _T]) -> _T:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(CALL_S):
                return await loop.run_in_executor(self._threads, self._talk, account, question)
        except TimeoutError as late:
            raise RefusedError(Complaint("timeout", "the authority did not answer in time", away=True)) from late

    def _talk(self, account: Account, question: Callable[[_Talk], _T]) -> _T:
        """In a thread: one question, with whatever goes wrong turned into a Complaint."""
        talk = _Talk(account, self._trusted, self._agent)
        try:
            if self._directory is None:
                self._directory = ClientV2.get_directory(self.directory_url, talk.net)
            talk.directory = self._directory
            return question(talk)
        except messages.Error as refusal:
            away = talk.status >= HTTPStatus.INTERNAL_SERVER_ERROR or refusal.code == "badNonce"
            raise RefusedError(replace(_complaint(refusal), away=away), talk.retry_after_s) from refusal
        except OSError as fault:  # requests' own are OSErrors as well
            self._directory = None
            raise RefusedError(Complaint("connection", _cut(str(fault)), away=True)) from fault
        except (errors.Error, JoseError, KeyError, ValueError) as fault:
            self._directory = None
            odd = f"the authority's answer was not understood ({type(fault).__name__}: {fault})"
            away = talk.status != HTTPStatus.NOT_FOUND  # what it has forgotten is asked for anew
            raise RefusedError(Complaint("malformedAnswer", _cut(odd), away=away), talk.retry_after_s) from fault
        finally:
            talk.net.session.close()


class _Talk:
    """One thread's connection to the authority, for one question."""

    def __init__(self, account: Account, trusted: str | bool, agent: str) -> None:
        self.directory = messages.Directory({})
        self.retry_after_s: float | None = None
        self.status = 0
        self.key: JWKEC | None = None
        registered = None
        if account.key_pem:
            private = serialization.load_pem_private_key(account.key_pem.encode(), None)
            assert isinstance(private, ec.EllipticCurvePrivateKey), "certs.acme.new_key makes no other kind"
            self.key = JWKEC(key=ComparableECKey(private))
        if account.url is not None:
            registered = messages.RegistrationResource(uri=account.url, body=messages.Registration())
        # The library says bool, and hands it on to requests, where it may be a bundle's path as well.
        verify: Any = trusted
        self.net = ClientNetwork(
            self.key, registered, alg=ES256, verify_ssl=verify, user_agent=agent, timeout=_REQUEST_S
        )
        for scheme in ("https://", "http://"):
            self.net.session.mount(scheme, _Bounded())
        self.net.session.trust_env = False
        self.net.session.hooks["response"].append(self._note)

    def post(self, url: str, wish: JSONDeSerializable | None = None) -> requests.Response:
        """A signed request; without a wish it only reads (RFC 8555 section 6.3)."""
        # The library takes None for a read, though its types do not say so.
        body: Any = wish
        return self.net.post(url, body, new_nonce_url=self.directory["newNonce"])

    def _note(self, response: requests.Response, **_: Any) -> None:
        self.retry_after_s, self.status = _retry_after_s(response), response.status_code


class _Bounded(HTTPAdapter):
    """Reads an answer whole, up to a size and a time: requests alone would read on for as long as bytes come."""

    def send(self, request: requests.PreparedRequest, *arguments: Any, **options: Any) -> requests.Response:
        """One request and its answer. Raises RequestException."""
        end = time.monotonic() + _REQUEST_S
        response = super().send(request, *arguments, **(options | {"stream": True}))
        body = b""
        for piece in response.iter_content(_PIECE_BYTES):
            body += piece
            if len(body) > _ANSWER_BYTES or time.monotonic() > end:
                response.close()
                raise requests.ConnectionError("the authority's answer is too long or too slow")
        response._content = body  # noqa: SLF001 - where requests itself puts what it has read
        return response


class _Empty(JSONDeSerializable):
    """`{}`: what tells the authority to look."""

    def to_partial_json(self) -> dict[str, Any]:
        """Nothing."""
        return {}

    @classmethod
    def from_json(cls, jobj: Any) -> _Empty:  # noqa: ARG003 - the library's
        """Never asked for: it is only sent."""
        return cls()


def _offers(authorization: Mapping[str, Any], key: JWKEC | None) -> dict[Method, Offer]:
    """The challenges of an authorization, read by hand: the library no longer knows TLS-ALPN-01."""
    assert key is not None, "an order is looked at by its account"
    print_of_key = b64encode(key.thumbprint()).decode()
    found = {}
    for plain in authorization.get("challenges", ()):
        if plain.get("type") in set(Method):
            error = plain.get("error")
            found[Method(plain["type"])] = Offer(
                url=plain["url"],
                token=plain["token"],
                authorization=f"{plain['token']}.{print_of_key}",
                status=plain.get("status", "pending"),
                complaint=None if error is None else _complaint(messages.Error.from_json(error)),
            )
    return found


def _complaint(error: messages.Error) -> Complaint:
    kind = str(error.typ or "").removeprefix(_PROBLEM_PREFIX) or "unknown"
    parts = [error.detail or error.title or "", *(f"{one.detail}" for one in error.subproblems or () if one.detail)]
    return Complaint(kind[:64], _cut("; ".join(part for part in parts if part)))


def _cut(text: str) -> str:
    return "".join(char if char.isprintable() else " " for char in text)[:DETAIL_CHARACTERS]


def _retry_after_s(response: requests.Response) -> float | None:
    """Retry-After in seconds, told as such or as a date beside the answer's own (RFC 9110 section 10.2.3)."""
    told = response.headers.get("Retry-After", "")
    if told.isascii() and told.isdigit():
        return float(told[:9])
    try:
        dates = [parsedate_to_datetime(text) for text in (told, response.headers.get("Date", ""))]
        return max((dates[0] - dates[1]).total_seconds(), 0.0)
    except (TypeError, ValueError):
        return None


def _machine_bundle() -> str | bool:
    """The authorities that this machine trusts, rather than those that a package brings along."""
    return ssl.get_default_verify_paths().cafile or True
