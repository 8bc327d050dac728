"""The HTTP/1.1 parsers against anything: they pass, or refuse, and never do a third thing."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from gateway.core.bodies import Body, Chunked, Length, request_body
from gateway.core.headers import Origin, request_head, response_head
from gateway.core.http1 import Malformed, head_end, parse_request, parse_response, split_host

ORIGIN = Origin("192.0.2.7", "http")
TOKENS = st.text("abcXYZ019!#$%&'*+-.^_`|~", min_size=1, max_size=12)
VALUES = st.text(st.characters(min_codepoint=0x20, max_codepoint=0xFF, exclude_characters="\x7f"), max_size=40)
LINES = st.one_of(
    st.builds("{}: {}".format, TOKENS, VALUES),
    st.builds("{}:{}".format, st.sampled_from(["Cookie", "Connection", "TE", "Upgrade", "Set-Cookie", "X_Y"]), VALUES),
    st.builds("Content-Length: {}".format, st.one_of(st.integers(), VALUES)),
    st.builds("Transfer-Encoding: {}".format, st.sampled_from(["chunked", "identity", "x, chunked", "", "\x0b"])),
    st.text(max_size=30),
)
STARTS = st.one_of(
    st.sampled_from(["GET / HTTP/1.1", "POST /x HTTP/1.0", "GET http://a/x HTTP/1.1", "HTTP/1.1 200 OK"]),
    st.builds("{} {} HTTP/{}.{}".format, TOKENS, VALUES, st.integers(0, 3), st.integers(0, 3)),
    st.text(max_size=30),
)


@st.composite
def heads(draw: st.DrawFn) -> bytes:
    """A head that is nearly right."""
    lines = [draw(STARTS), *draw(st.lists(st.one_of(st.just("Host: a"), LINES), max_size=6))]
    end = draw(st.sampled_from(["\r\n", "\r\n", "\r\n", "\n"]))
    return (end.join(lines) + end + end).encode("utf-8", "surrogatepass")


@settings(max_examples=400)
@given(st.one_of(heads(), st.binary(max_size=300).map(lambda data: data + b"\r\n\r\n")))
@example(b"GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n")
def test_what_the_gateway_forwards_parses_the_same_again(head: bytes) -> None:
    """A request that passes means one thing: what is sent upstream reads as the same request."""
    try:
        if head_end(head) != len(head):
            return
        request = parse_request(head)
    except Malformed:
        return
    again = parse_request(request_head(request, ORIGIN))
    assert (again.method, again.target, again.host) == (request.method, request.target, request.host)
    assert split_host(again.host)[0]
    assert framing(request_body(again)) == framing(request_body(request))
    assert not {field.name for field in again.fields.lines} & {b"x-starlight-token", b"keep-alive", b"proxy-connection"}


@settings(max_examples=400)
@given(st.one_of(heads(), st.binary(max_size=300).map(lambda data: b"HTTP/1.1 200 OK\r\n" + data + b"\r\n\r\n")))
def test_what_the_gateway_answers_parses_the_same_again(head: bytes) -> None:
    """A response that passes reads downstream with the same status and length."""
    try:
        if head_end(head) != len(head):
            return
        response = parse_response(head)
    except Malformed:
        return
    again = parse_response(response_head(response, "a", closes=True))
    assert again.status == response.status
    if response.status >= 200 and response.status != 204:
        assert again.value(b"content-length") == response.value(b"content-length")


@settings(max_examples=500)
@given(st.lists(st.binary(min_size=1, max_size=20), max_size=6), st.data())
def test_chunks_give_their_content_however_they_are_cut(chunks: list[bytes], data: st.DataObject) -> None:
    """The end is found at the same byte whatever the pieces are."""
    coded = b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n"
    stream = coded + b"GET / HTTP/1.1\r\n"
    body, at, content = Chunked(), 0, b""
    while not body.done:
        piece = stream[at : at + data.draw(st.integers(1, 30))]
        count = body.feed(piece)
        content += body.payload(piece[:count])
        at += count
    assert at == len(coded)
    assert content == b"".join(chunks)


@settings(max_examples=400)
@given(st.lists(st.one_of(st.binary(max_size=12), st.sampled_from([b"\r\n", b"3\r\n", b"abc", b"0\r\n", b"\n"]))))
def test_chunked_garbage_ends_or_is_refused(pieces: list[bytes]) -> None:
    """Byte by byte or at once, the verdict and the end are the same."""
    stream = b"".join(pieces)
    assert outcome(stream, len(stream) or 1) == outcome(stream, 1)


def outcome(stream: bytes, size: int) -> tuple[str, int]:
    """How a chunked body in pieces of `size` bytes comes out, and after how many bytes when it is complete."""
    body, at = Chunked(), 0
    try:
        while at < len(stream) and not body.done:
            at += body.feed(stream[at : at + size])
    except Malformed:
        return "malformed", 0
    return ("done", at) if body.done else ("more", 0)


def framing(body: Body) -> object:
    """What tells two bodies apart before a byte of them was read."""
    return body.feed(bytes(100)) if isinstance(body, Length) else type(body)
