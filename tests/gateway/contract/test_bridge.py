"""The bridge's messages and frames: they survive the wire, and what is not one is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.contract.bridge import (
    FRAME_HEAD_BYTES,
    FRAME_LIMIT,
    MESSAGE_LIMIT,
    Call,
    Fault,
    FrameKind,
    Reply,
    Verb,
    decode_call,
    decode_frame_head,
    decode_reply,
    encode_call,
    encode_frame,
    encode_frame_json,
    encode_reply,
)

CALL = Call(Verb.SHELL, "jupyter-17.node1", {"command": "echo 你好"}, "alice", ("user:1", "entry:17"), 1.5)


def test_a_call_survives_the_wire() -> None:
    """Verb, subject, arguments, visitor, grounds and expiry."""
    assert decode_call(encode_call(CALL)) == CALL
    assert decode_call(encode_call(Call(Verb.PROBE, "x"))) == Call(Verb.PROBE, "x")


def test_a_command_that_is_not_utf8_travels() -> None:
    """Its stray bytes are lone surrogates in Python and come back as such."""
    command = b"echo \xff\xfe".decode("utf-8", "surrogateescape")
    assert decode_call(encode_call(Call(Verb.SHELL, "x", {"command": command}))).args == {"command": command}


@pytest.mark.parametrize(
    "reply", [Reply(), Reply({"handle": {"shim_pid": 7}}), Reply(fault=Fault.FAILED, detail="why")]
)
def test_a_reply_survives_the_wire(reply: Reply) -> None:
    """A yes with its result, a no with its fault and detail."""
    assert decode_reply(encode_reply(reply)) == reply


def test_a_long_detail_is_shortened() -> None:
    """A log's sentence never makes a reply too long."""
    assert decode_reply(encode_reply(Reply(fault=Fault.FAILED, detail="x" * MESSAGE_LIMIT))).detail == "x" * 500


def test_messages_have_a_limit() -> None:
    """A call or a result that does not fit is refused before it is sent."""
    with pytest.raises(ValueError, match="over the limit"):
        encode_call(Call(Verb.SHELL, "x", {"command": "y" * MESSAGE_LIMIT}))
    with pytest.raises(ValueError, match="over the limit"):
        encode_reply(Reply({"text": "y" * MESSAGE_LIMIT}))


@pytest.mark.parametrize(
    "fault",
    [
        {"v": 2},
        {"verb": "dance"},
        {"subject": None},
        {"args": []},
        {"grounds": "user:1"},
        {"visitor": 3},
        {"expires_at": "soon"},
    ],
)
def test_a_wrong_call_is_a_value_error(fault: dict[str, Any]) -> None:
    """Another version, an unknown verb, a misshapen field."""
    message = json.dumps(json.loads(encode_call(CALL)) | fault).encode()
    with pytest.raises(ValueError):  # noqa: PT011 - each fault has its own sentence
        decode_call(message)


@pytest.mark.parametrize("message", [b"", b"[]", b"\xff", b'{"v":1,"ok":true,"result":[]}', b'{"v":1,"ok":false}'])
def test_a_wrong_reply_is_a_value_error(message: bytes) -> None:
    """Anything that is not a reply of this version."""
    with pytest.raises(ValueError):  # noqa: PT011 - each fault has its own sentence
        decode_reply(message)


@given(st.sampled_from(FrameKind), st.binary(max_size=300))
def test_a_frame_is_its_head_and_its_payload(kind: FrameKind, payload: bytes) -> None:
    """The head tells kind and length; the payload follows as it is."""
    frame = encode_frame(kind, payload)
    assert decode_frame_head(frame[:FRAME_HEAD_BYTES]) == (kind, len(payload))
    assert frame[FRAME_HEAD_BYTES:] == payload


def test_a_json_frame_holds_its_fields() -> None:
    """RESIZE, SIGNAL and EXIT carry an object."""
    frame = encode_frame_json(FrameKind.EXIT, status=7)
    assert json.loads(frame[FRAME_HEAD_BYTES:]) == {"status": 7}


@pytest.mark.parametrize("head", [b"\x09\x00\x00\x00\x00", b"\x00" + (FRAME_LIMIT + 1).to_bytes(4, "big")])
def test_a_wrong_frame_head_is_a_value_error(head: bytes) -> None:
    """An unknown kind, or a length over the limit."""
    with pytest.raises(ValueError):  # noqa: PT011 - each fault has its own sentence
        decode_frame_head(head)
