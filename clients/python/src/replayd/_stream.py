"""What the streams of both clients have in common. No input or output."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ._event import Batch
from ._session import Session
from .v1 import replay_pb2, stream_pb2


class StreamBase:
    """What is known of a stream."""

    cursor: bytes
    """Resumes the stream behind the last batch of which all events were taken. Empty before there is one."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.cursor = b""

    @property
    def start(self) -> stream_pb2.StreamStart | None:
        """What is streamed, and from where. None before the first item."""
        return self._session.start

    @property
    def replay(self) -> replay_pb2.Replay | None:
        """The replay that is streamed now, with its header. None before the first item."""
        return self._session.replay

    @property
    def state(self) -> stream_pb2.FollowState.ValueType:
        """The state of a stream that follows: whether it has reached the end of the live replay."""
        return self._session.state

    @property
    def end(self) -> stream_pb2.StreamEnd | None:
        """How the stream ended. None before it has."""
        return self._session.end

    @property
    def missed(self) -> int:
        """How many events gaps have left out. Always 0 without SLOW_CONSUMER_DROP."""
        return self._session.missed

    @property
    def reconnects(self) -> int:
        """How often the stream was resumed."""
        return self._session.reconnects


def events_of(response: stream_pb2.StreamEventsResponse) -> Iterable[Any]:
    """The events of a response, those of a state too."""
    return Batch(response) if _has_events(response) else ()


def batches_of(response: stream_pb2.StreamEventsResponse) -> Iterable[Any]:
    """The batch that a response is, if it is one."""
    return (Batch(response),) if _has_events(response) else ()


def responses_of(response: stream_pb2.StreamEventsResponse) -> Iterable[stream_pb2.StreamEventsResponse]:
    """The response itself."""
    return (response,)


def _has_events(response: stream_pb2.StreamEventsResponse) -> bool:
    return response.HasField("batch") or response.HasField("state")
