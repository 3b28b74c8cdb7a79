"""The state of a stream over several connections. No input or output: client.py and aio.py share it."""

from __future__ import annotations

import logging
import random
import time
from dataclasses import dataclass
from typing import Any

import grpc

from ._error import ReplaydError, SequenceError
from ._event import Format
from .v1 import replay_pb2, stream_pb2

log = logging.getLogger("replayd")

DEFAULT_HEARTBEAT = 15.0
MIN_HEARTBEAT = 1.0
MAX_HEARTBEAT = 300.0
SILENT_HEARTBEATS = 3
"""How many heartbeats may be missed before a connection is taken for dead."""
_LASTING = 60.0
"""A connection that lasts this many seconds was a success, also when nothing came: there may have been nothing to follow."""


@dataclass(frozen=True)
class Retry:
    """How a stream that broke is resumed. A stream that never began is retried only when it follows: for others the error
    says what is wrong, such as the address."""

    initial: float = 0.1
    """The wait before the first try, in seconds. It doubles with each try; up to half of it is left out at random."""
    maximum: float = 5.0
    """The longest wait between two tries, in seconds."""
    give_up_after: float = 600.0
    """How long to try without success, in seconds; then the last error is raised."""


class Session:
    """One stream over as many connections as it takes."""

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
        self._state_due = True  # the state at the place where the stream is was not yielded yet
        self._failures = 0
        self._failing_since: float | None = None
        self._called = 0.0
        heartbeat = request.heartbeat_interval.ToTimedelta().total_seconds() or DEFAULT_HEARTBEAT
        self.silence = SILENT_HEARTBEATS * min(max(heartbeat, MIN_HEARTBEAT), MAX_HEARTBEAT)

    def called(self) -> None:
        """Records the time at which a call begins."""
        self._called = time.monotonic()

    def observe(self, response: stream_pb2.StreamEventsResponse) -> bool:
        """Updates the stream by a response. Returns False for one that concerns the connection only, and is not yielded."""
        what = response.WhichOneof("response")
        if what == "start":
            return self._started(response.start)
        if what == "end" and response.end.reason == stream_pb2.END_REASON_SERVER_DRAINING and self.retry:
            self._resume_at(response.cursor)
            return False
        self._failures, self._failing_since = 0, None
        yielded = True
        if what == "state":
            # A resumed stream begins with the state again, as the request says: its reader has it already.
            yielded = self._state_due
            self._state_due = yielded and not response.state.complete
        elif what == "batch":
            self._advance(response.batch.first_sequence, response.batch.next_sequence)
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
        """Makes the next connection begin at a cursor. with_state stays as it was: a gap is followed by another state."""
        if cursor:
            self.request.start.cursor = cursor

    def _started(self, start: stream_pb2.StreamStart) -> bool:
        again = self.start is not None
        if self.format and start.replay.format != replay_pb2.Format.Value(f"FORMAT_{self.format.name.upper()}"):
            message = f"{start.replay.name} is of another format than {self.format.name}"
            raise ReplaydError(grpc.StatusCode.FAILED_PRECONDITION, message)
        if again and self.request.start.WhichOneof("at") == "cursor" and start.next_sequence != self._expected:
            raise SequenceError(f"resumed at event {start.next_sequence} instead of {self._expected}")
        self._expected = start.next_sequence
        self.start, self.replay = start, start.replay
        self.request.replay = start.replay.name  # a directory may have a newer one when the stream is resumed
        return not again

    def _advance(self, first: int, next_: int) -> None:
        if first != self._expected:
            raise SequenceError(f"event {first} came where {self._expected} was due")
        self._expected = next_

    def delay(self, error: ReplaydError | None) -> float:
        """Returns how many seconds to wait before the next connection, or raises the error when there is to be none. None
        means that the stream stopped without an end."""
        error = error or ReplaydError(grpc.StatusCode.UNAVAILABLE, "the stream stopped without an end")
        begun = self.start is not None or self.request.follow
        if self.retry is None or not begun or not _transient(error):
            raise error
        now = time.monotonic()
        if now - self._called > _LASTING:  # a success, also when nothing came
            self._failures, self._failing_since = 0, None
        self._failing_since = self._failing_since or now
        if now - self._failing_since > self.retry.give_up_after:
            raise error
        longest: float = min(self.retry.initial * 2 ** min(self._failures, 30), self.retry.maximum)
        self._failures += 1
        self.reconnects += 1
        wait: float = longest * random.uniform(0.5, 1)
        log.warning("stream of %s broke, next try in %.1f s: %s", self.request.replay, wait, error)
        return wait


def _transient(error: ReplaydError) -> bool:
    if error.reason:  # the daemon refused the call
        if error.reason == "LIMIT_EXCEEDED":  # what others will give back; without a delay the replay itself is too large
            return error.retry_after is not None
        return error.code == grpc.StatusCode.UNAVAILABLE or error.reason == "TOO_MANY_STREAMS"
    return error.code in _BROKEN


# The codes of a connection that was cut, depending on where.
_BROKEN = {
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.ABORTED,
    grpc.StatusCode.CANCELLED,
    grpc.StatusCode.INTERNAL,
    grpc.StatusCode.UNKNOWN,
}
