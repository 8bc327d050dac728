"""The framed protocol between those who need a stream into a job and the bridge that lends it.

One call is one connection to the bridge's SOCK_SEQPACKET Unix socket: one request message, one
reply message, JSON in UTF-8, then both close. Peer credentials decide who may call what; file
descriptors ride on the reply (SCM_RIGHTS). A bridge only introduces: the descriptor's other end is
the job's app or its shim, so that a stream outlives the bridge.

request  {"v": 1, "verb": VERB, "subject": SUBJECT, "args": {...}, "visitor": NAME or null,
          "grounds": [...], "expires_at": epoch seconds}
reply    {"v": 1, "ok": true, "result": {...}}                             + descriptors
         {"v": 1, "ok": false, "code": FAULT, "detail": "for the log"}     none

SUBJECT is `JOB`, `JOB.NODE`, `JOB.NODE.CONTAINER` or `home:USER@CLUSTER`. Into a home lead shell, sftp and what a
shell's visitor lends (listen: agent, display); their args hold {user_id: the number of the person's account} beside.

Stream verbs (gateways and control may call them) and what the descriptor is:
  connect  {port: int} or {path: str}                    the connected socket itself, made inside the job
  reach    {host: str, port: int}                        a connection from inside the job to another machine
  listen   {port: int} or {path: str} or {agent: true} or {display: {protocol, cookie: hex, screen: int}}
                                                         sockets that listen inside the job, on loopback; the result
                                                         tells {listeners: how many of the descriptors they are, port
                                                         (0 asks for a free one), path, display, xauthority}. What comes
                                                         after them is a lifeline: its closing takes away the files
  shell    {command: str|null, env: {..}, pty: null | {term, rows, cols, modes: {opcode: value}}}
                                                         a SOCK_STREAM socket that carries frames (below);
                                                         command null is the login shell, else `$SHELL -c command`;
                                                         bytes of it that are not UTF-8 travel as lone surrogates
                                                         (PEP 383), so that a command arrives byte for byte
  sftp     {env?: {..}}                                  frames as well: an sftp-server speaks on DATA
  keys     {}   (subject home:USER@CLUSTER)              a read-only file: the home's authorized_keys as it is now
  log      {}                                            two read-only descriptors: output, time index
Launch verbs (control only):
  start    {spec: {...}}   (with subject `app:NAME` and no spec: begin to build what that app needs)
  stop {grace_s}   signal {signal}   probe {}   forget {}   capabilities {}
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Any, Final

BRIDGE_VERSION: Final = 1
MESSAGE_LIMIT: Final = 64 * 1024
"""Bytes of one request or reply; a longer one is refused by both sides."""
FRAME_LIMIT: Final = 256 * 1024
"""Bytes of one frame's payload."""
KEYS_LIMIT: Final = 64 * 1024
"""Bytes of an authorized_keys; a longer one is refused."""
HOME: Final = "home:"
"""What the subject of a home begins with."""


def home_subject(user: str, cluster: str) -> str:
    """The subject that names a person's home on a cluster."""
    return f"{HOME}{user}@{cluster}"


class Verb(StrEnum):
    """What a bridge can be asked."""

    CONNECT = "connect"
    REACH = "reach"
    LISTEN = "listen"
    SHELL = "shell"
    SFTP = "sftp"
    KEYS = "keys"
    LOG = "log"
    START = "start"
    STOP = "stop"
    SIGNAL = "signal"
    PROBE = "probe"
    FORGET = "forget"
    CAPABILITIES = "capabilities"


LAUNCH_VERBS: Final = frozenset({Verb.START, Verb.STOP, Verb.SIGNAL, Verb.PROBE, Verb.FORGET, Verb.CAPABILITIES})


class Fault(StrEnum):
    """Why a bridge said no. Each becomes a Refusal or a Problem at its caller."""

    NOT_FOUND = "not_found"
    NOT_RUNNING = "not_running"
    NOT_LISTENING = "not_listening"
    FORBIDDEN = "forbidden"
    UNSUPPORTED = "unsupported"
    BAD_REQUEST = "bad_request"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Call:
    """A request to a bridge."""

    verb: Verb
    subject: str
    args: dict[str, Any] = field(default_factory=dict)
    visitor: str | None = None
    grounds: tuple[str, ...] = ()
    expires_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Reply:
    """A bridge's answer; `fault` is None when it did what was asked."""

    result: dict[str, Any] = field(default_factory=dict)
    fault: Fault | None = None
    detail: str = ""


class FrameKind(IntEnum):
    """What a frame on a shell or sftp stream carries.

    Towards the job: DATA (stdin), EOF, RESIZE, SIGNAL. From the job: DATA (stdout or the pty), ERROR
    (stderr), EOF (both outputs ended), EXIT (the last frame). Payloads other than DATA and ERROR are
    JSON objects: RESIZE {rows, cols}, SIGNAL {name: "TERM"}, EXIT {status: int} or {signal: "KILL"}; EOF is empty.
    """

    DATA = 0
    ERROR = 1
    EOF = 2
    RESIZE = 3
    SIGNAL = 4
    EXIT = 5


_HEAD: Final = struct.Struct("!BI")
FRAME_HEAD_BYTES: Final = _HEAD.size


def encode_call(call: Call) -> bytes:
    """The request message. Raises ValueError when it would be longer than MESSAGE_LIMIT."""
    return _bounded(
        {
            "v": BRIDGE_VERSION,
            "verb": call.verb,
            "subject": call.subject,
            "args": call.args,
            "visitor": call.visitor,
            "grounds": call.grounds,
            "expires_at": call.expires_at,
        }
    )


def decode_call(message: bytes) -> Call:
    """The request. Raises ValueError for anything that is not one of this version."""
    plain = _object(message)
    args = plain.get("args", {})
    subject, visitor, grounds = plain.get("subject"), plain.get("visitor"), plain.get("grounds", [])
    expires_at = plain.get("expires_at", 0.0)
    if not isinstance(args, dict) or not isinstance(subject, str) or not isinstance(grounds, list):
        raise ValueError("a call has a text subject, an object of args and a list of grounds")
    if not (visitor is None or isinstance(visitor, str)) or not isinstance(expires_at, (int, float)):
        raise ValueError("a call's visitor is text or null and its expiry a number")
    return Call(Verb(str(plain.get("verb"))), subject, args, visitor, tuple(map(str, grounds)), float(expires_at))


def encode_reply(reply: Reply) -> bytes:
    """The reply message. Raises ValueError when it would be longer than MESSAGE_LIMIT."""
    if reply.fault is None:
        return _bounded({"v": BRIDGE_VERSION, "ok": True, "result": reply.result})
    return _bounded({"v": BRIDGE_VERSION, "ok": False, "code": reply.fault, "detail": reply.detail[:500]})


def decode_reply(message: bytes) -> Reply:
    """The reply. Raises ValueError for anything that is not one of this version."""
    plain = _object(message)
    if plain.get("ok") is True:
        result = plain.get("result", {})
        if not isinstance(result, dict):
            raise ValueError("a reply's result is an object")
        return Reply(result)
    return Reply(fault=Fault(str(plain.get("code"))), detail=str(plain.get("detail", "")))


def encode_frame(kind: FrameKind, payload: bytes = b"") -> bytes:
    """One frame: a kind byte, a 32-bit length, the payload."""
    return _HEAD.pack(kind, len(payload)) + payload


def encode_frame_json(kind: FrameKind, **fields: Any) -> bytes:
    """One frame whose payload is a JSON object."""
    return encode_frame(kind, json.dumps(fields).encode())


def decode_frame_head(head: bytes) -> tuple[FrameKind, int]:
    """A frame's kind and payload length. Raises ValueError for an unknown kind or a length over FRAME_LIMIT."""
    kind, length = _HEAD.unpack(head)
    if length > FRAME_LIMIT:
        raise ValueError(f"a frame of {length} bytes is over the limit of {FRAME_LIMIT}")
    return FrameKind(kind), length


def _bounded(plain: dict[str, Any]) -> bytes:
    # surrogatepass: json.loads reads bytes the same way, so that a command's stray bytes survive the trip.
    message = json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    if len(message) > MESSAGE_LIMIT:
        raise ValueError(f"a message of {len(message)} bytes is over the limit of {MESSAGE_LIMIT}")
    return message


def _object(message: bytes) -> dict[str, Any]:
    plain = json.loads(message)
    if not isinstance(plain, dict) or plain.get("v") != BRIDGE_VERSION:
        raise ValueError(f"not a bridge message of version {BRIDGE_VERSION}")
    return plain
