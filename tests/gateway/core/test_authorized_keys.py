"""Lines of authorized_keys: which keys admit, on what conditions, and that no option is ever skipped."""

import base64
import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.contract.bridge import KEYS_LIMIT
from gateway.core.authorized_keys import Conditions, fitting, read

NOW = 1_800_000_000.0
"""2027-01-15 08:00 UTC."""


def public(name: bytes = b"a", kind: str = "ssh-ed25519") -> str:
    """The words of a key, made up."""
    blob = len(kind).to_bytes(4, "big") + kind.encode() + (32).to_bytes(4, "big") + name * 32
    return f"{kind} {base64.b64encode(blob).decode()}"


def fingerprint(key: str) -> str:
    """As OpenSSH writes it."""
    digest = hashlib.sha256(base64.b64decode(key.split()[1])).digest()
    return f"SHA256:{base64.b64encode(digest).rstrip(b'=').decode()}"


KEY = public()


def conditions(options: str) -> Conditions | None:
    """What a line with these options allows; None when it admits nobody."""
    (line,) = read(f"{options} {KEY} alice@home\n".encode())
    assert line.fingerprint == fingerprint(KEY)
    return line.conditions if line.unmet is None else None


def admitted(options: str, address: str = "10.1.2.3", now: float = NOW) -> bool:
    """Whether the key signs in from there at that time."""
    line = fitting(read(f"{options} {KEY}".encode()), fingerprint(KEY), address, now)
    return line is not None and line.unmet is None


def test_plain_lines_comments_and_rubbish() -> None:
    """Every key line counts with its number; comments, empty lines, other kinds and broken base64 are no keys."""
    other = public(b"b", "ecdsa-sha2-nistp256")
    text = f"# mine\n\n{KEY} a comment, with commas\r\n\t{other}\nssh-dss AAAA\nssh-ed25519 !!!\nssh-ed25519\nhello\n"
    lines = read(text.encode())
    assert [(line.number, line.fingerprint) for line in lines] == [(3, fingerprint(KEY)), (4, fingerprint(other))]
    assert all(line.conditions == Conditions() for line in lines)


def test_a_key_whose_inside_says_another_kind_is_none() -> None:
    """The word before the base64 cannot turn one kind into another."""
    assert read(f"ssh-rsa {KEY.split()[1]}".encode()) == ()


def test_a_file_over_the_limit_admits_nobody() -> None:
    """Rather than the keys before the limit."""
    assert read(f"{KEY}\n".encode() + b"#" * KEYS_LIMIT) == ()


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ("no-pty", Conditions(pty=False)),
        ("no-port-forwarding,no-agent-forwarding", Conditions(forwarding=False, agent=False)),
        ("no-X11-forwarding,no-user-rc", Conditions(display=False)),
        ("restrict", Conditions(pty=False, forwarding=False, agent=False, display=False)),
        ("restrict,pty", Conditions(forwarding=False, agent=False, display=False)),
        ('command="echo \\"a, b\\"",no-pty', Conditions(pty=False, command='echo "a, b"')),
        ('environment="A=b=c",environment="D="', Conditions(env=(("A", "b=c"), ("D", "")))),
        ('permitopen="localhost:80",permitopen="[::1]:*"', Conditions(places=(("localhost", 80), ("::1", None)))),
        ('permitlisten="8080"', Conditions(listening=(("localhost", 8080),))),
        ('from="10.0.0.0/8,!10.9.0.0/16"', Conditions(sources=("10.0.0.0/8", "!10.9.0.0/16"))),
    ],
)
def test_options_that_are_honoured(options: str, wanted: Conditions) -> None:
    """Each says what the key may do; later ones change earlier ones as in sshd."""
    assert conditions(options) == wanted


@pytest.mark.parametrize(
    "options",
    [
        "cert-authority",
        'principals="alice"',
        'tunnel="0"',
        "verify-required",
        "no-touch-required",
        "unheard-of",
        'unheard-of="x"',
        "command",
        'pty="yes"',
        'expiry-time="tomorrow"',
        'environment="no equals"',
        'permitopen="host:port"',
        'permitopen="host:70000"',
        'from=""',
        'from="10.0.0.0/8",from="10.0.0.0/8"',
        'command="a",command="b"',
        'command="never ends',
        "restrict,,pty",
    ],
)
def test_a_line_with_an_option_that_cannot_be_kept_admits_nobody(options: str) -> None:
    """It is refused whole, never taken without the option."""
    assert not admitted(options)


def test_where_from_and_until_when() -> None:
    """Networks, wildcards, negations and ends, in UTC."""
    assert admitted('from="10.0.0.0/8"')
    assert admitted('from="*.example.org,10.1.*"')
    assert not admitted('from="10.0.0.0/8,!10.1.0.0/16"')
    assert not admitted('from="*.example.org"')
    assert admitted('from="2001:db8::/32"', "2001:db8::1")
    assert admitted('expiry-time="202701150801Z"')
    assert not admitted('expiry-time="20270115080000Z"')
    assert not admitted('expiry-time="20270101Z",expiry-time="20990101Z"')


def test_the_first_line_that_fits_counts() -> None:
    """As in sshd: another address, another line; one that cannot be kept is found only when there is no other."""
    text = f'from="10.0.0.1",no-pty {KEY}\ncert-authority {KEY}\nno-agent-forwarding {KEY}\n'
    lines = read(text.encode())
    numbers = [fitting(lines, fingerprint(KEY), address, NOW) for address in ("10.0.0.1", "10.0.0.2")]
    assert [line and line.number for line in numbers] == [1, 3]
    only = fitting(lines[:2], fingerprint(KEY), "10.0.0.2", NOW)
    assert only is not None
    assert only.unmet == "cert-authority"
    assert fitting(lines, "SHA256:other", "10.0.0.1", NOW) is None


def test_places_to_forward_to_and_to_listen_on() -> None:
    """Only those that are listed, when any is."""
    free, some = Conditions(), Conditions(places=(("localhost", 80),), listening=(("localhost", 0), ("*", 9000)))
    assert free.may_forward_to("localhost", 22)
    assert some.may_forward_to("LOCALHOST", 80)
    assert not some.may_forward_to("localhost", 81)
    assert not some.may_forward_to("127.0.0.1", 80)
    assert some.may_listen_on("", 0)
    assert some.may_listen_on("0.0.0.0", 9000)
    assert not some.may_listen_on("", 9001)
    assert not Conditions(forwarding=False, places=(("localhost", 80),)).may_forward_to("localhost", 80)


@given(st.binary(max_size=400))
def test_any_bytes_are_read_without_a_fault(content: bytes) -> None:
    """Whatever a home holds: lines or none."""
    for line in read(content + b" " + KEY.encode()):
        fitting([line], line.fingerprint, "::1", NOW)
