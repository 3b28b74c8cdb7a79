"""Tests how events are made of responses, without a daemon."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from google.protobuf.message import DecodeError

import replayd
from replayd import _event, _stream
from replayd._lazy import Response
from replayd.events import dem, teehistorian
from replayd.dem.v1 import events_pb2 as dem_pb2
from replayd.teehistorian.v1 import events_pb2
from replayd.v1 import stream_pb2


def response(first: int, count: int) -> stream_pb2.StreamEventsResponse:
    """A response, as the client gets it: a join, and then ticks."""
    events = [events_pb2.Event(at_tick=first + n, tick=events_pb2.Tick(skipped=n)) for n in range(count)]
    if events:
        events[0] = events_pb2.Event(at_tick=first, join=events_pb2.Join(client_id=first))
    batch = stream_pb2.EventBatch(
        first_sequence=first, next_sequence=first + count, teehistorian=events_pb2.EventList(events=events),
        offsets=[first + 1] * min(count, 1) + [1] * (count - 1),
    )  # fmt: skip
    return Response.FromString(stream_pb2.StreamEventsResponse(cursor=b"c", batch=batch).SerializeToString())


def read(event: replayd.Event) -> tuple[Any, ...]:
    value = event.value.client_id if event.kind == "join" else event.value.skipped
    return event.sequence, event.tick, event.offset, event.index, event.kind, value, event.state


def expected(*counts: int) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    for count in counts:
        first = len(found)
        found += [(first + n, first + n, first + n + 1, 0, "tick" if n else "join", n or first, False) for n in range(count)]
    return found


def responses(*counts: int) -> list[stream_pb2.StreamEventsResponse]:
    return [response(sum(counts[:i]), count) for i, count in enumerate(counts)]


@pytest.mark.parametrize("counts, new", [((9, 9, 9, 9), 12), ((1, 5, 2, 0, 1, 7, 7, 3), 17), ((6, 1, 1, 6), 14)])
def test_events_that_are_dropped_are_used_again(counts: tuple[int, ...], new: int, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def counted(batch: replayd.Batch, numbers: range) -> Iterator[replayd.Event]:
        for event in _event.made(batch, numbers):
            made.append(event.sequence)
            yield event

    checks: list[bool] = []
    dropped = _stream.Events._dropped

    def checked(events: _stream.Events) -> bool:
        checks.append(dropped(events))
        return checks[-1]

    monkeypatch.setattr(_stream, "made", counted)
    monkeypatch.setattr(_stream.Events, "_dropped", checked)
    events, seen = _stream.Events(), []
    for answer in responses(*counts):
        for event in events(answer):
            seen.append(read(event))
    assert seen == expected(*counts)
    assert len(made) == new  # the last of each batch, which the variable of the loop has, and those by which batches grow
    assert len(checks) == sum(map(bool, counts))  # a check takes as long as all else that is done for a batch


KEEP: list[Callable[[replayd.Event], Any]] = [lambda event: event, copy.copy, lambda event: event.to_dict]


@pytest.mark.parametrize("keep", KEEP)
@pytest.mark.parametrize("place", range(4))
def test_an_event_that_is_kept_stays_the_same(place: int, keep: Callable[[replayd.Event], Any]) -> None:
    events, kept = _stream.Events(), []
    for answer in responses(4, 4, 2, 6, 6, 4):
        for n, event in enumerate(events(answer)):
            if n == place:
                kept.append(keep(event))
    assert [read(getattr(k, "__self__", k)) for k in kept] == [e for e in expected(4, 4, 2, 6, 6, 4) if e[0] in (
        place, 4 + place, 10 + place, 16 + place, 22 + place, *([8 + place] if place < 2 else []))]  # fmt: skip


@pytest.mark.parametrize("reads", [True, False])
def test_few_events_that_are_kept_let_go_of_their_batch(reads: bool) -> None:
    events, kept = _stream.Events(), []
    for answer in responses(100, 100, 100):
        kept += [event for event in events(answer) if (not reads or event.tick >= 0) and event.sequence % 100 in (0, 41)]
    assert [len(event._batch.events) for event in kept] == [1 if reads else 100] * 4 + [100] * 2
    assert [read(event) for event in kept] == [expected(100, 100, 100)[n] for n in (0, 41, 100, 141, 200, 241)]
    assert not reads or kept[0].strings is kept[1].strings


def test_all_events_may_be_kept() -> None:
    events = _stream.Events()
    kept = [event for answer in responses(3, 5, 1, 5) for event in events(answer)]
    assert [read(event) for event in kept] == expected(3, 5, 1, 5)


def test_events_are_parsed_when_they_are_read() -> None:
    broken = response(0, 3)
    setattr(broken.batch, "teehistorian", b"\xff")
    some = list(_stream.Events()(broken))
    assert [event.sequence for event in some] == [0, 1, 2] and some[2].offset == 3
    with pytest.raises(DecodeError):
        some[0].kind
    batch = replayd.Batch(response(0, 3))
    assert batch.events is batch.events and batch._kinds is batch._kinds and batch._places is batch._places


def test_tables_have_no_events() -> None:
    batch = stream_pb2.EventBatch(next_sequence=1, tables=[stream_pb2.Table(kind="join", rows=1)])
    tables = Response.FromString(stream_pb2.StreamEventsResponse(batch=batch).SerializeToString())
    with pytest.raises(TypeError, match=r"batch\.tables"):
        _stream.Events()(tables)
    with pytest.raises(TypeError, match=r"batch\.tables"):
        list(replayd.Batch(tables))


def test_events_are_instances_of_their_kind() -> None:
    join, tick = _stream.Events()(response(0, 2))
    assert isinstance(join, teehistorian.Join) and not isinstance(tick, teehistorian.Join) and isinstance(tick, replayd.Event)
    match tick:
        case teehistorian.Tick(value=value):
            assert value.skipped == 1
        case _:
            pytest.fail("no tick")
    made = teehistorian.Join(7, events_pb2.Event(join=events_pb2.Join(client_id=3)), offset=5, index=128)
    assert made.__class__ is teehistorian.Join and read(made) == (7, 0, 5, 128, "join", 3, False)
    assert teehistorian.FORMAT.classes["tick"] is teehistorian.Tick and teehistorian.FORMAT.classes[""] is teehistorian.Unknown


def test_a_state_and_its_strings() -> None:
    entered = dem_pb2.Event(at_tick=9, entity_entered=dem_pb2.EntityEntered(index=1))
    state = stream_pb2.StateBatch(complete=True, dem=dem_pb2.EventList(events=[entered] * 3, strings=["a", "b"]))
    real = stream_pb2.StreamEventsResponse(state=state)
    lazy = Response.FromString(real.SerializeToString())
    for event in [*_stream.Events()(lazy), *replayd.Batch(lazy), *replayd.Batch(real)]:
        assert (event.sequence, event.offset, event.index, event.tick, event.state, event.string(1)) == (0, 0, 0, 9, True, "b")
        assert isinstance(event, dem.EntityEntered)
    assert len(replayd.Batch(lazy)) == 3 and list(_stream.responses_of(lazy)) == [real]
    assert not list(_stream.Events()(Response.FromString(b"\x1a\x00")))
