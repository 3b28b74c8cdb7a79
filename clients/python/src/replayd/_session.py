"""The state of a stream over several connections. It does no input or output, so blocking code and asyncio share it."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import grpc

from ._error import ReplaydError, SequenceError
from ._event import Format
from .v1 import replay_pb2, state_pb2, stream_pb2

log = logging.getLogger("replayd")

DEFAULT_HEARTBEAT = 15.0
MIN_HEARTBEAT = 1.0
MAX_HEARTBEAT = 300.0
SILENT_HEARTBEATS = 3
"""The number of missed heartbeats after which a connection is considered dead."""
_LASTING = 60.0
"""A connection that lasts this many seconds resets the count of failures, even without a response. The daemon may have had no
replay to follow yet."""


@dataclass(frozen=True)
class Retry:
    """How an interrupted stream is resumed. A stream that has not begun is retried only if it follows. Other streams raise the
    error, which may for example be a wrong address."""

    initial: float = 0.1
    """The delay before the first attempt, in seconds. It doubles with each attempt. A random part of up to half is subtracted.
    If the daemon asks for a delay (ReplaydError.retry_after), the delay is at least that."""
    maximum: float = 5.0
    """The longest delay between two attempts, in seconds, even if the daemon asks for a longer one."""
    give_up_after: float = 600.0
    """How long to try without success, in seconds. After that, the last error is raised."""


def silence_of(request: stream_pb2.StreamEventsRequest | state_pb2.WatchStateRequest) -> float:
    """For how many seconds a connection may be silent."""
    heartbeat: float = request.heartbeat_interval.ToTimedelta().total_seconds() or DEFAULT_HEARTBEAT
    return SILENT_HEARTBEATS * min(max(heartbeat, MIN_HEARTBEAT), MAX_HEARTBEAT)


def add_schemas(tables: Iterable[stream_pb2.Table], schemas: dict[str, bytes]) -> None:
    """Adds the schema to each table. The daemon sends it only with the first of a kind."""
    for table in tables:
        if table.schema:
            schemas[table.kind] = table.schema
        else:
            table.schema = schemas[table.kind]


class Attempts:
    """The calls of one stream, of which each may fail."""

    def __init__(self, retry: Retry | None) -> None:
        self.retry = retry
        self._failures = 0
        self._failing_since: float | None = None
        self._called = 0.0

    def called(self) -> None:
        """Records the time when a call begins."""
        self._called = time.monotonic()

    def succeeded(self) -> None:
        """Records that the stream goes on."""
        self._failures, self._failing_since = 0, None

    def delay(self, error: ReplaydError | None, begun: bool, what: str) -> float:
        """Returns how many seconds to wait before the next attempt, or raises the error if there must be none. None means that
        the stream stopped without an end."""
        error = error or ReplaydError(grpc.StatusCode.UNAVAILABLE, "the stream stopped without an end")
        if self.retry is None or not begun or not _transient(error):
            raise error
        now = time.monotonic()
        if now - self._called > _LASTING:
            self.succeeded()
        self._failing_since = self._failing_since or now
        if now - self._failing_since > self.retry.give_up_after:
            raise error
        longest: float = min(self.retry.initial * 2 ** min(self._failures, 30), self.retry.maximum)
        self._failures += 1
        asked = min(error.retry_after or 0.0, self.retry.maximum)
        wait: float = max(longest * random.uniform(0.5, 1), asked)
        log.warning("stream of %s was interrupted, next attempt in %.1f s: %s", what, wait, error)
        return wait


class Session:
    """One stream over any number of connections."""

    def __init__(
        self, request: stream_pb2.StreamEventsRequest, retry: Retry | None, format: Format[Any, Any] | None = None
    ) -> None:
        self.request = stream_pb2.StreamEventsRequest()
        self.request.CopyFrom(request)
        self.retry = retry
        self.format = format
        self.start: stream_pb2.StreamStart | None = None
        self.replay: replay_pb2.Replay | None = None
        self.end: stream_pb2.StreamEnd | None = None
        self.state = stream_pb2.FOLLOW_STATE_UNSPECIFIED
        self.missed = 0
        self.reconnects = 0
        self._expected = 0
        self._schemas: dict[str, bytes] = {}
        self._state_due = True  # the state at the current position was not yielded completely yet
        self._attempts = Attempts(retry)
        self.silence = silence_of(request)

    def called(self) -> None:
        """Records the time when a call begins."""
        self._attempts.called()

    def observe(self, response: stream_pb2.StreamEventsResponse) -> bool:
        """Updates the stream with a response. Returns False if the response concerns only the connection and must not be
        yielded."""
        what = response.WhichOneof("response")
        if what == "start":
            return self._started(response.start)
        if what == "end" and response.end.reason == stream_pb2.END_REASON_SERVER_DRAINING and self.retry:
            self._resume_at(response.cursor)
            return False
        self._attempts.succeeded()
        yielded = True
        if what == "state" or what == "batch":
            add_schemas(getattr(response, what).tables, self._schemas)
        if what == "state":
            # A resumed stream with with_state begins with the state again, which the caller already has.
            yielded = self._state_due
            self._state_due = yielded and not response.state.complete
        elif what == "batch":
            batch = response.batch
            self._advance(batch.first_sequence, batch.next_sequence)
            events = sum(table.rows for table in batch.tables) or len(batch.offsets)  # the events themselves are parsed when they are read
            if events != batch.next_sequence - batch.first_sequence:
                raise SequenceError(f"got {events} events, want {batch.first_sequence} to {batch.next_sequence}")
        elif what == "gap":
            self._advance(response.gap.first_sequence, response.gap.next_sequence)
            self.missed += response.gap.next_sequence - response.gap.first_sequence
            self._state_due = True
        elif what == "follow_status":
            self.state = response.follow_status.state
            if response.follow_status.HasField("successor"):
                self.replay = response.follow_status.successor
                self.request.replay = self.replay.name
                self._state_due = True
        elif what == "end":
            self.end = response.end
        self._resume_at(response.cursor)
        return yielded

    def _resume_at(self, cursor: bytes) -> None:
        """Makes the next connection start at a cursor. It keeps with_state, because each gap is followed by another state."""
        if cursor:
            self.request.start.cursor = cursor

    def _started(self, start: stream_pb2.StreamStart) -> bool:
        again = self.start is not None
        if self.format and start.replay.format != replay_pb2.Format.Value(f"FORMAT_{self.format.name.upper()}"):
            message = f"{start.replay.name} does not have the format {self.format.name}"
            raise ReplaydError(grpc.StatusCode.FAILED_PRECONDITION, message)
        if again and self.request.start.WhichOneof("at") == "cursor" and start.next_sequence != self._expected:
            raise SequenceError(f"resumed at event {start.next_sequence}, want {self._expected}")
        self.reconnects += again
        self._expected = start.next_sequence
        self.start, self.replay = start, start.replay
        self.request.replay = start.replay.name  # if a directory was requested, its newest replay may differ on resuming
        return not again

    def _advance(self, first: int, next_: int) -> None:
        if first != self._expected:
            raise SequenceError(f"got event {first}, want {self._expected}")
        self._expected = next_

    def delay(self, error: ReplaydError | None) -> float:
        """Returns how many seconds to wait before the next attempt, or raises the error if there must be none. None means that
        the stream stopped without an end."""
        begun = self.start is not None or self.request.follow
        return self._attempts.delay(error, begun, self.request.replay)


def _transient(error: ReplaydError) -> bool:
    if error.reason:  # the daemon refused the call
        if error.reason == "LIMIT_EXCEEDED":  # with a delay, other callers will release it; without, the request is too long
            return bool(error.retry_after)
        return error.code == grpc.StatusCode.UNAVAILABLE or error.reason == "TOO_MANY_STREAMS"
    return error.code in _BROKEN


# A broken connection gives any of these codes, depending on where it broke.
_BROKEN = {
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.ABORTED,
    grpc.StatusCode.CANCELLED,
    grpc.StatusCode.INTERNAL,
    grpc.StatusCode.UNKNOWN,
}
