"""Our side's settings and limits of an HTTP/2 connection."""

from __future__ import annotations

from h2.events import ConnectionTerminated
from h2.settings import SettingCodes
from hyperframe.frame import GoAwayFrame, RstStreamFrame, SettingsFrame

from gateway.entries.http2 import peer
from gateway.entries.http2.peer import Peer


def joined() -> tuple[Peer, Peer]:
    """A person's side and ours, after their settings were exchanged."""
    theirs, ours = Peer(client_side=True), Peer(client_side=False)
    theirs.open()
    ours.open()
    for _ in range(2):
        ours.receive_data(theirs.data_to_send())
        theirs.receive_data(ours.data_to_send())
    return theirs, ours


def test_people_are_told_of_streams_windows_and_websockets() -> None:
    """And an app that it must not push."""
    theirs, ours = joined()
    told = theirs.remote_settings
    assert told.max_concurrent_streams == peer.STREAMS_LIMIT
    assert told.initial_window_size == peer.STREAM_WINDOW
    assert told.max_header_list_size == peer.HEADERS_LIMIT
    assert told[SettingCodes.ENABLE_CONNECT_PROTOCOL] == 1
    assert theirs.outbound_flow_control_window == peer.CONNECTION_WINDOW
    assert ours.remote_settings.enable_push == 0


def test_a_stream_too_many_is_no_fault_of_the_connection() -> None:
    """The library hands it over, and we refuse it by itself."""
    theirs, ours = joined()
    theirs.remote_settings[SettingCodes.MAX_CONCURRENT_STREAMS] = 1000
    theirs.remote_settings.acknowledge()
    for number in range(peer.STREAMS_LIMIT + 5):
        theirs.send_headers(2 * number + 1, [(b":method", b"GET")])
    assert len(ours.receive_data(theirs.data_to_send())) == peer.STREAMS_LIMIT + 5


def test_after_a_goaway_open_streams_go_on() -> None:
    """On both sides (RFC 9113, 6.8)."""
    theirs, ours = joined()
    theirs.send_headers(1, [(b":method", b"GET")], end_stream=True)
    ours.receive_data(theirs.data_to_send())
    (told,) = theirs.receive_data(ours.go_away(1))
    assert isinstance(told, ConnectionTerminated) and (told.last_stream_id, told.error_code) == (1, 0)
    ours.receive_data(GoAwayFrame(0, last_stream_id=0).serialize())
    ours.send_headers(1, [(b":status", b"204")], end_stream=True)
    assert theirs.receive_data(ours.data_to_send())


def test_so_many_frames_are_looked_at_as_wanted() -> None:
    """The others wait, in their order, until they are asked for; parts of a head count as frames."""
    theirs, ours = joined()
    for number in (1, 3, 5):
        theirs.send_headers(number, [(b":method", b"GET")])
    said = theirs.data_to_send()
    assert ours.receive_data(said, 0) == [] and ours.has_more
    assert [event.stream_id for event in ours.receive_data(b"", 2)] == [1, 3] and ours.has_more
    assert [event.stream_id for event in ours.receive_data(b"", 2)] == [5] and not ours.has_more


def test_a_long_head_counts_as_many_frames() -> None:
    """To unpack it takes the time of as many."""
    theirs, ours = joined()
    for number in (1, 3):
        more = [(b"x-%d-%d" % (number, at), b"~" * 60) for at in range(200)]
        theirs.send_headers(number, [(b":method", b"GET"), *more])
    said = theirs.data_to_send()
    assert [event.stream_id for event in ours.receive_data(said, 32)] == [1] and ours.has_more
    assert [event.stream_id for event in ours.receive_data(b"", 32)] == [3]


def test_a_frame_that_changes_nothing_is_told() -> None:
    """So that whoever counts frames can count it."""
    theirs, ours = joined()
    theirs.send_headers(1, [(b":method", b"GET")])
    theirs.reset_stream(1)
    ours.receive_data(theirs.data_to_send())
    assert [type(event) for event in ours.receive_data(RstStreamFrame(1).serialize())] == [peer.Idle]


def test_a_wish_for_a_large_compression_table_is_not_granted() -> None:
    """Else every peer could have us remember gigabytes of fields."""
    _, ours = joined()
    ours.receive_data(SettingsFrame(0, settings={SettingCodes.HEADER_TABLE_SIZE: 2**32 - 1}).serialize())
    ours.bound_table()
    assert ours.encoder.header_table_size == peer.TABLE_LIMIT
    ours.receive_data(SettingsFrame(0, settings={SettingCodes.HEADER_TABLE_SIZE: 0}).serialize())
    ours.bound_table()
    assert ours.encoder.header_table_size == 0
