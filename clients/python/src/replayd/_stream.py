"""The common part of the blocking and the asyncio streams. It does no input or output."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ._event import Batch
from ._session import Session
from .v1 import replay_pb2, stream_pb2


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


def events_of(response: stream_pb2.StreamEventsResponse) -> Iterable[Any]:
    """The events of a response, including those of a state."""
    return Batch(response) if _has_events(response) else ()


def batches_of(response: stream_pb2.StreamEventsResponse) -> Iterable[Any]:
    """The batch in a response, if it has one."""
    return (Batch(response),) if _has_events(response) else ()


def responses_of(response: stream_pb2.StreamEventsResponse) -> Iterable[stream_pb2.StreamEventsResponse]:
    """The response itself."""
    return (response,)


def _has_events(response: stream_pb2.StreamEventsResponse) -> bool:
    return response.HasField("batch") or response.HasField("state")
