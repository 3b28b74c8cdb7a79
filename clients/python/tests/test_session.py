"""Tests of the state of a stream and of its retries, without a daemon."""

from __future__ import annotations

import grpc
import pytest

import replayd
from replayd._session import Session
from replayd.events import datafile, dem, sc2replay, teehistorian
from replayd.v1 import replay_pb2, stream_pb2

Response = stream_pb2.StreamEventsResponse


def started(retry: replayd.Retry | None = replayd.Retry(), **request: object) -> Session:
    session = Session(stream_pb2.StreamEventsRequest(replay="r/directory", **request), retry)  # type: ignore[arg-type]
    session.called()
    start = stream_pb2.StreamStart(replay=replay_pb2.Replay(name="r/directory/first"))
    assert session.observe(Response(cursor=b"0", start=start))
    return session


def batch(first: int, next_: int) -> Response:
    return Response(cursor=b"%d" % next_, batch=stream_pb2.EventBatch(first_sequence=first, next_sequence=next_, offsets=[1] * (next_ - first)))


def state(complete: bool, cursor: bytes = b"s") -> Response:
    return Response(cursor=cursor, state=stream_pb2.StateBatch(complete=complete))


def successor() -> Response:
    status = stream_pb2.FollowStatus(
        state=stream_pb2.FOLLOW_STATE_SUCCESSOR, successor=replay_pb2.Replay(name="r/directory/second")
    )
    return Response(cursor=b"s", follow_status=status)


def test_it_resumes_after_the_last_response_in_the_same_replay() -> None:
    session = started(start=stream_pb2.Start(now=stream_pb2.Now()), follow=True)
    session.observe(batch(0, 3))
    assert session.request.start.cursor == b"3"
    assert session.request.replay == "r/directory/first"
    assert session.request.follow


def test_it_resumes_in_the_successor() -> None:
    session = started(follow=True)
    session.observe(successor())
    assert (session.request.replay, session.state) == ("r/directory/second", stream_pb2.FOLLOW_STATE_SUCCESSOR)


def test_gaps_are_counted_and_other_omissions_are_errors() -> None:
    session = started()
    session.observe(batch(0, 3))
    session.observe(Response(gap=stream_pb2.Gap(first_sequence=3, next_sequence=10)))
    session.observe(batch(10, 11))
    assert session.missed == 7
    with pytest.raises(replayd.SequenceError):
        session.observe(batch(12, 13))
    with pytest.raises(replayd.SequenceError):
        session.observe(batch(10, 11))


def test_a_batch_has_as_many_events_as_its_sequence_numbers() -> None:
    rows = [stream_pb2.Table(kind="tick", rows=2, schema=b"s"), stream_pb2.Table(kind="join", rows=1, schema=b"s")]
    assert started().observe(Response(batch=stream_pb2.EventBatch(next_sequence=3, tables=rows)))
    for wrong in (batch(0, 3), Response(batch=stream_pb2.EventBatch(tables=rows))):
        wrong.batch.next_sequence = 1 << 40
        with pytest.raises(replayd.SequenceError):
            started().observe(wrong)


def test_a_state_is_yielded_once_for_each_position() -> None:
    session = started(start=stream_pb2.Start(now=stream_pb2.Now(), with_state=True))
    again = Response(cursor=b"0", start=stream_pb2.StreamStart(replay=replay_pb2.Replay(name="r/directory/first")))
    assert session.observe(state(complete=False))
    assert not session.observe(again)
    assert session.observe(state(complete=False))  # only a part was yielded before
    assert session.observe(state(complete=True))
    assert session.observe(batch(0, 3))
    assert session.request.start == stream_pb2.Start(cursor=b"3", with_state=True)
    again.start.next_sequence = 3
    assert not session.observe(again)
    assert not session.observe(state(complete=False)) and not session.observe(state(complete=True))
    assert session.observe(batch(3, 4))
    assert session.observe(Response(gap=stream_pb2.Gap(first_sequence=4, next_sequence=10)))
    assert session.observe(state(complete=True)) and not session.observe(state(complete=True))
    assert session.observe(successor())
    assert session.observe(state(complete=True))


def test_a_stream_of_another_format_is_an_error() -> None:
    for format, fails in ((teehistorian.FORMAT, False), (dem.FORMAT, True), (sc2replay.FORMAT, True), (datafile.FORMAT, True)):
        session = Session(stream_pb2.StreamEventsRequest(replay="r/x"), None, format)
        replay = replay_pb2.Replay(name="r/x", format=replay_pb2.FORMAT_TEEHISTORIAN)
        try:
            session.observe(Response(start=stream_pb2.StreamStart(replay=replay)))
        except replayd.ReplaydError as error:
            assert fails and error.code == grpc.StatusCode.FAILED_PRECONDITION and format.name in str(error)
        else:
            assert not fails


def test_a_resumed_stream_that_starts_elsewhere_is_an_error() -> None:
    session = started()
    session.observe(batch(0, 3))
    with pytest.raises(replayd.SequenceError):
        session.observe(Response(start=stream_pb2.StreamStart(next_sequence=4)))


def test_draining_ends_a_stream_only_without_retry() -> None:
    end = Response(cursor=b"e", end=stream_pb2.StreamEnd(reason=stream_pb2.END_REASON_SERVER_DRAINING))
    session = started()
    assert not session.observe(end)
    assert session.end is None and session.request.start.cursor == b"e"
    without_retry = started(retry=None)
    assert without_retry.observe(end)
    assert without_retry.end is not None


def full(retry_after: float) -> replayd.ReplaydError:
    error = replayd.ReplaydError(grpc.StatusCode.RESOURCE_EXHAUSTED, "", "LIMIT_EXCEEDED")
    error.retry_after = retry_after
    return error


@pytest.mark.parametrize(
    ("error", "again"),
    [
        (replayd.ReplaydError(grpc.StatusCode.UNAVAILABLE, "refused"), True),
        (replayd.ReplaydError(grpc.StatusCode.UNAVAILABLE, "", "DRAINING"), True),
        (replayd.ReplaydError(grpc.StatusCode.RESOURCE_EXHAUSTED, "", "TOO_MANY_STREAMS"), True),
        (replayd.ReplaydError(grpc.StatusCode.RESOURCE_EXHAUSTED, "", "LIMIT_EXCEEDED"), False),
        (full(0.01), True),
        (full(0), False),
        (replayd.ReplaydError(grpc.StatusCode.INTERNAL, "", "INTERNAL"), False),
        (replayd.ReplaydError(grpc.StatusCode.INTERNAL, "RST_STREAM"), True),
        (replayd.ReplaydError(grpc.StatusCode.NOT_FOUND, "", "REPLAY_NOT_FOUND"), False),
        (replayd.ReplaydError(grpc.StatusCode.DATA_LOSS, "", "CORRUPT"), False),
        (replayd.ReplaydError(grpc.StatusCode.INVALID_ARGUMENT, "", "BAD_REQUEST"), False),
        (replayd.ReplaydError(grpc.StatusCode.UNAUTHENTICATED, "unknown token"), False),
    ],
)
def test_which_errors_are_retried(error: replayd.ReplaydError, again: bool) -> None:
    session = started()
    if again:
        assert 0.05 <= session.delay(error) <= 0.1
        assert 0.1 <= session.delay(error) <= 0.2
    else:
        with pytest.raises(replayd.ReplaydError):
            session.delay(error)


@pytest.mark.parametrize(("asked", "least", "most"), [(0.01, 0.05, 0.1), (3, 3, 3), (60, 4, 4)])
def test_the_delay_is_at_least_what_the_daemon_asks_for_and_at_most_the_maximum(asked: float, least: float, most: float) -> None:
    assert least <= started(retry=replayd.Retry(maximum=4)).delay(full(asked)) <= most


def test_reconnects_count_resumptions_and_not_attempts() -> None:
    session = started()
    error = replayd.ReplaydError(grpc.StatusCode.UNAVAILABLE, "refused")
    for reconnects in (1, 2):
        for _ in range(3):
            session.delay(error)
        assert session.reconnects == reconnects - 1
        start = stream_pb2.StreamStart(replay=replay_pb2.Replay(name="r/directory/first"))
        assert not session.observe(Response(start=start))
        assert session.reconnects == reconnects


def test_it_gives_up() -> None:
    session = started(retry=replayd.Retry(give_up_after=-1))
    error = replayd.ReplaydError(grpc.StatusCode.UNAVAILABLE, "refused")
    with pytest.raises(replayd.ReplaydError):
        session.delay(error)


def test_a_connection_that_lasted_resets_the_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    """A daemon that has no replay to follow yet answers nothing for hours, and then restarts."""
    now = 1000.0
    monkeypatch.setattr("replayd._session.time.monotonic", lambda: now)
    session = started(retry=replayd.Retry(maximum=4, give_up_after=600))
    error = replayd.ReplaydError(grpc.StatusCode.UNAVAILABLE, "refused")
    for _ in range(6):
        session.delay(error)
    assert session.delay(error) >= 2
    session.called()
    now += 3600
    assert session.delay(error) <= 0.1


def test_unknown_kinds_and_formats() -> None:
    """An old client reads the known parts of an event, and raises an error for an unknown format."""
    from replayd.teehistorian.v1 import events_pb2

    unknown = events_pb2.Event.FromString(b"\x08\x05\xfa\x3f\x00")  # at_tick 5, field 1023
    known = events_pb2.Event(at_tick=6, join=events_pb2.Join(client_id=3))
    response = batch(7, 9)
    response.batch.teehistorian.events.extend([unknown, known])
    events: list[replayd.Event] = list(replayd.Batch(response))
    assert [(event.sequence, event.tick, event.kind) for event in events] == [(7, 5, ""), (8, 6, "join")]
    assert [event.__class__ for event in events] == [teehistorian.Unknown, teehistorian.Join]
    assert events[0].value is None and events[1].value.client_id == 3
    for event in replayd.Event(0, unknown), teehistorian.Unknown(0, unknown):
        assert (event.tick, event.kind, event.value) == (5, "", None)
    assert (replayd.Event(0, known).kind, replayd.Event(0, known).value) == ("join", known.join)
    with pytest.raises(NotImplementedError):
        replayd.Batch(batch(0, 1))
