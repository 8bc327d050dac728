"""The frames and states of one HTTP/2 connection (RFC 9113), kept by the `h2` library with our own limits.

Fields are checked by `core/http2.py`, where one bad request is answered by itself; the library would
end the whole connection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import ConnectionTerminated, Event
from h2.exceptions import FrameTooLargeError
from h2.frame_buffer import FrameBuffer
from h2.settings import SettingCodes, Settings
from hyperframe.frame import Frame, GoAwayFrame, HeadersFrame

if TYPE_CHECKING:
    from typing_extensions import Buffer

STREAMS_LIMIT: Final = 100
"""Requests that one connection may have open at once."""
STREAM_WINDOW: Final = 256 * 1024
"""Bytes of one body that may be on their way to us; as many may wait here when their taker is slow."""
CONNECTION_WINDOW: Final = 1024 * 1024
"""The same for all bodies of a connection together."""
HEADERS_LIMIT: Final = 128 * 1024
"""Bytes of a head unpacked, 32 more for each field (RFC 9113, 6.5.2): more than may pass, so that 431 can be said."""
TABLE_LIMIT: Final = 4096
"""Bytes of the compression table that we keep for a peer, whatever it offers to remember."""
LAST_STREAM: Final = 2**31 - 1
_LENGTH_BYTES: Final = 3
_ALL: Final = 2**63
_HEAD_BYTES: Final = 256
"""Packed bytes of a head that take about as much time as any small frame."""


class Idle(Event):
    """A frame came and changed nothing: one for a stream that is over, one of a kind that nobody here listens to."""


class Peer(H2Connection):
    """One side of a connection. Unlike the library's own it goes on with open streams after a GOAWAY.

    `has_more`: frames may be here that the last call was not to look at.
    """

    incoming_buffer: _Paced
    has_more = False

    MAX_CLOSED_STREAMS = 2048
    """Streams whose end is remembered: frames that were on their way then are no fault."""

    def __init__(self, *, client_side: bool) -> None:
        """`client_side` on the way to an app, the server's side towards a person."""
        super().__init__(
            H2Configuration(
                client_side=client_side,
                header_encoding=None,
                validate_outbound_headers=False,
                normalize_outbound_headers=False,
                validate_inbound_headers=False,
                normalize_inbound_headers=False,
            )
        )
        settings: dict[SettingCodes, int] = {
            SettingCodes.INITIAL_WINDOW_SIZE: STREAM_WINDOW,
            SettingCodes.MAX_HEADER_LIST_SIZE: HEADERS_LIMIT,
        }
        if client_side:
            settings[SettingCodes.ENABLE_PUSH] = 0
        else:
            settings |= {SettingCodes.MAX_CONCURRENT_STREAMS: STREAMS_LIMIT, SettingCodes.ENABLE_CONNECT_PROTOCOL: 1}
        self.local_settings = Settings(client=client_side, initial_values=settings)
        self.incoming_buffer = _Paced(server=not client_side)
        self._client_side = client_side
        self.decoder.max_header_list_size = HEADERS_LIMIT

    def open(self) -> None:
        """Says the preface, our settings and the connection's window."""
        self.initiate_connection()
        # One stream too many is to be refused by itself (REFUSED_STREAM); the library would end the connection,
        # also that of a peer who could not know the limit yet.
        kept = {SettingCodes(code): value for code, value in self.local_settings.items()}
        kept[SettingCodes.MAX_CONCURRENT_STREAMS] = LAST_STREAM
        self.local_settings = Settings(client=self._client_side, initial_values=kept)
        self.increment_flow_control_window(CONNECTION_WINDOW - self.inbound_flow_control_window)

    def receive_data(self, data: Buffer, most: int = _ALL) -> list[Event]:
        """The events of at most so many of the frames that are complete. Raises ProtocolError."""
        self.incoming_buffer.room = most
        events = super().receive_data(data)
        self.has_more = self.incoming_buffer.room <= 0
        # The library looks at a frame's length when it has all of it: sixteen megabytes could gather here.
        begun = self.incoming_buffer._data  # noqa: SLF001
        if len(begun) >= _LENGTH_BYTES and int.from_bytes(begun[:_LENGTH_BYTES], "big") > self.max_inbound_frame_size:
            self._terminate_connection(ErrorCodes.FRAME_SIZE_ERROR)
            raise FrameTooLargeError("a frame larger than was agreed")
        return events

    def bound_table(self) -> None:
        """To be called when the peer's settings changed: its wish for the compression table is not our command."""
        if self.encoder.header_table_size > TABLE_LIMIT:
            self.encoder.header_table_size = TABLE_LIMIT

    def go_away(self, last_stream: int, code: ErrorCodes = ErrorCodes.NO_ERROR) -> bytes:
        """A GOAWAY, after which streams up to `last_stream` go on (the library's own ends the connection)."""
        return GoAwayFrame(0, last_stream_id=last_stream, error_code=code).serialize()

    def _receive_frame(self, frame: Frame) -> list[Event]:
        return super()._receive_frame(frame) or [Idle()]

    def _receive_goaway_frame(self, frame: GoAwayFrame) -> tuple[list[Frame], list[Event]]:
        # The library would forbid every further frame, also on streams that the peer goes on with (RFC 9113, 6.8).
        told = ConnectionTerminated()
        told.error_code, told.last_stream_id = frame.error_code, frame.last_stream_id
        return [], [told]


class _Paced(FrameBuffer):
    """What came and was not looked at yet; gives out `room` more frames, so that not all is done at once."""

    def __init__(self, *, server: bool) -> None:
        super().__init__(server=server)
        self.room = _ALL

    def __next__(self) -> Frame:
        """Another frame, a long head counted as several. Raises StopIteration."""
        if self.room <= 0:
            raise StopIteration
        frame = super().__next__()
        self.room -= 1
        if isinstance(frame, HeadersFrame):
            self.room -= len(frame.data) // _HEAD_BYTES
        return frame
