"""The state of a subscription over several connections. It does no input or output."""

from __future__ import annotations

from collections.abc import Iterator

from ._error import ReplaydError
from ._event import Batch
from ._session import Attempts, Retry, add_schemas, silence_of
from .events import AnyBatch, AnyEvent
from .v1 import replay_pb2, subscribe_pb2


class Subscribed:
    """A response of a subscription. Iterating it yields its events, of most responses none."""

    def __init__(self, response: subscribe_pb2.SubscribeEventsResponse, replay: replay_pb2.Replay | None) -> None:
        what = response.WhichOneof("response")
        self.token: bytes = response.token
        """Resumes the subscription after this response. Store it together with the results of the events."""
        self.replay = replay
        """Describes the replay that the response is of. None for a heartbeat, and for a failure before the replay's start."""
        self.response = response.streamed if what == "streamed" else None
        """What Client.responses yields for the replay: a start, a batch, an end."""
        self.failure = response.failure if what == "failure" else None
        """Why a replay is not streamed; others go on."""
        self.heartbeat = response.heartbeat if what == "heartbeat" else None
        """The progress."""
        kind = self.response.WhichOneof("response") if self.response else None
        self.batch: AnyBatch | None = Batch(self.response) if self.response and kind in ("batch", "state") else None
        """The events, or their tables."""

    def __iter__(self) -> Iterator[AnyEvent]:
        return iter(self.batch or ())

    def __repr__(self) -> str:
        return f"<Subscribed {self.replay.name if self.replay else ''} {self.batch or self.failure or self.heartbeat or self.response}>"


class Subscription:
    """One subscription over any number of connections."""

    def __init__(self, request: subscribe_pb2.SubscribeEventsRequest, retry: Retry | None) -> None:
        self.request = request
        self.silence = silence_of(request.options)
        self._attempts = Attempts(retry)
        self._replays: dict[int, replay_pb2.Replay] = {}
        self._schemas: dict[int, dict[str, bytes]] = {}

    def called(self) -> None:
        """Records the time when a call begins. Its replays have numbers of their own."""
        self._attempts.called()
        self._replays.clear()
        self._schemas.clear()

    def take(self, response: subscribe_pb2.SubscribeEventsResponse) -> Subscribed:
        """Updates the subscription with a response."""
        self._attempts.succeeded()
        number, streamed = response.replay, response.streamed
        what = streamed.WhichOneof("response")
        if what == "start":
            self._replays[number] = streamed.start.replay
        elif what in ("batch", "state"):
            add_schemas(getattr(streamed, what).tables, self._schemas.setdefault(number, {}))
        taken = Subscribed(response, self._replays.get(number))
        if what == "end" or taken.failure and not taken.failure.retried:
            self._replays.pop(number, None)
            self._schemas.pop(number, None)
        self.request.token = response.token
        return taken

    def delay(self, error: ReplaydError | None) -> float:
        """Returns how many seconds to wait before the next attempt, or raises the error if there must be none."""
        return self._attempts.delay(error, True, self.request.directory or "all replays")
