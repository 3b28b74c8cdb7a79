"""The common part of the blocking and the asyncio streams. It does no input or output."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from ._event import Batch, Event, made
from ._session import Session
from .v1 import replay_pb2, stream_pb2

getrefcount: Any = getattr(sys, "getrefcount", lambda _: 0)  # CPython has it
_ALONE: int = max(map(getrefcount, [object()]))
"""What getrefcount returns of an object that only a list has."""
_LISTED: int = [getrefcount(event) for event in [object()]][0]
"""The same, of a variable of a comprehension over the list."""


class StreamBase:
    """The state of a stream."""

    cursor: bytes
    """Resumes the stream after the last batch whose events were all taken. Empty before the first."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.cursor = b""

    @property
    def start(self) -> stream_pb2.StreamStart | None:
        """The daemon's first response, with the replay and the start position. None before the first item."""
        return self._session.start

    @property
    def replay(self) -> replay_pb2.Replay | None:
        """The current replay, with its header. None before the first item."""
        return self._session.replay

    @property
    def state(self) -> stream_pb2.FollowState.ValueType:
        """The state of a stream that follows: whether it has reached the end of the live replay."""
        return self._session.state

    @property
    def end(self) -> stream_pb2.StreamEnd | None:
        """How the stream ended. None before the end."""
        return self._session.end

    @property
    def missed(self) -> int:
        """The number of events that the daemon dropped in gaps. Always 0 without SLOW_CONSUMER_DROP."""
        return self._session.missed

    @property
    def reconnects(self) -> int:
        """How often the stream was resumed. Attempts that failed do not count; they are logged."""
        return self._session.reconnects


class Events:
    """Makes the events of a stream's responses. Objects that the caller has dropped are used again for the next response, as zip does
    with its tuples: making them takes several times as long as passing them."""

    def __init__(self) -> None:
        self._batch = Batch.__new__(Batch)
        self._events: list[Event] = []
        """Those of the last response, all of self._batch, but for the last one: the variable of a loop still has that."""

    def _part(self) -> None:
        """Gives events that the caller has kept, if they are few, what they need of their batch, which would stay in memory for them."""
        kept = [event for event in self._events if getrefcount(event) > _LISTED]
        if len(kept) * 16 > len(self._events) or "events" not in vars(self._batch):
            return  # a batch that was not read is its bytes
        strings = tuple(self._batch.strings)
        for event in kept:
            nth = event._nth
            event._batch = self._batch.only(nth, strings)
            self._events[nth : nth + 1] = made(self._batch, range(nth, nth + 1))

    def _dropped(self) -> bool:
        """Whether only self has self._batch and its events."""
        references: int = sum(map(getrefcount, self._events), getrefcount(self._batch))
        return references == len(self._events) * (_ALONE + 1) + _ALONE

    def __call__(self, response: stream_pb2.StreamEventsResponse) -> Iterable[Any]:
        """The events of a response, including those of a state."""
        if not _has_events(response) or not (batch := Batch[Any](response)):
            return ()
        last = len(batch) - 1
        if self._events:
            self._events.pop()
        if not self._dropped():
            self._part()
            if not self._dropped():
                self._batch, self._events = Batch.__new__(Batch), []
        self._batch.__dict__ = vars(batch)
        del self._events[last:]
        self._events += made(self._batch, range(len(self._events), last))
        self._events += made(batch, range(last, last + 1))
        return self._events


def batches_of(response: stream_pb2.StreamEventsResponse) -> Iterable[Any]:
    """The batch in a response, if it has one."""
    return (Batch(response),) if _has_events(response) else ()


def responses_of(response: stream_pb2.StreamEventsResponse) -> Iterable[stream_pb2.StreamEventsResponse]:
    """The response itself, with its events parsed."""
    return (stream_pb2.StreamEventsResponse.FromString(response.SerializeToString()),)


def _has_events(response: stream_pb2.StreamEventsResponse) -> bool:
    return response.HasField("batch") or response.HasField("state")
