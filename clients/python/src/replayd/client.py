"""The client for ordinary, blocking code."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Generic, TypeVar, Unpack, overload

import grpc
from google.protobuf.message import Message

from ._error import ReplaydError, from_grpc
from ._event import Batch, Format
from ._request import StreamOptions, build
from ._session import Session
from ._upload import Source, Upload, check, name_of
from .events import AnyBatch, AnyEvent
from .v1 import info_pb2, replay_pb2, stream_pb2, watch_pb2

T = TypeVar("T")
E = TypeVar("E")
B = TypeVar("B")

_SERVICE = "/replayd.v1.ReplayService/"


class Stream(Generic[T]):
    """An iterator over a stream, with what is known of it. Leave it by `close`, by a `with` block, or simply drop it."""

    def __init__(self, session: Session, items: Callable[[Stream[T]], Iterator[T]]) -> None:
        self._session = session
        self._items = items(self)
        self.cursor = b""
        """Where to go on behind what was handed over completely: the last batch of which all events were taken."""

    def __iter__(self) -> Iterator[T]:
        return self._items

    def __next__(self) -> T:
        return next(self._items)

    @property
    def start(self) -> stream_pb2.StreamStart | None:
        """What is streamed, from where; once the first item came."""
        return self._session.start

    @property
    def replay(self) -> replay_pb2.Replay | None:
        """The replay that is streamed at present, with its header."""
        return self._session.replay

    @property
    def state(self) -> stream_pb2.FollowState.ValueType:
        """How a stream that follows stands to the live replay."""
        return self._session.state

    @property
    def end(self) -> stream_pb2.StreamEnd | None:
        """How the stream ended, once it has."""
        return self._session.end

    @property
    def missed(self) -> int:
        """How many events gaps have left out. Always 0 but with SLOW_CONSUMER_DROP."""
        return self._session.missed

    @property
    def reconnects(self) -> int:
        """How often the stream was taken up again."""
        return self._session.reconnects

    def close(self) -> None:
        """Ends the stream."""
        close = getattr(self._items, "close", None)
        if close is not None:
            close()

    def __enter__(self) -> Stream[T]:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class Client:
    """A client of one daemon. It may be shared by threads; a stream belongs to one thread at a time."""

    def __init__(self, channel: grpc.Channel, metadata: tuple[tuple[str, str], ...] = ()) -> None:
        self._channel = channel
        self._metadata = metadata
        self._decode_replay = channel.stream_stream(
            _SERVICE + "DecodeReplay",
            request_serializer=stream_pb2.DecodeReplayRequest.SerializeToString,
            response_deserializer=stream_pb2.StreamEventsResponse.FromString,
        )
        self._stream_events = channel.unary_stream(
            _SERVICE + "StreamEvents",
            request_serializer=stream_pb2.StreamEventsRequest.SerializeToString,
            response_deserializer=stream_pb2.StreamEventsResponse.FromString,
        )

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection. Streams end."""
        self._channel.close()

    @overload
    def events(self, replay: str, *, format: Format[E, B], **options: Unpack[StreamOptions]) -> Stream[E]: ...
    @overload
    def events(self, replay: str, *, format: None = None, **options: Unpack[StreamOptions]) -> Stream[AnyEvent]: ...
    def events(
        self, replay: str, *, format: Format[Any, Any] | None = None, **options: Unpack[StreamOptions]
    ) -> Stream[Any]:
        """Streams the events of a replay, one by one.

        With a format a type checker knows that the events are of that format, and other replays are refused."""
        session = Session(*build(replay, options), format)
        return Stream(session, lambda stream: _events(stream, self._responses(session)))

    @overload
    def batches(self, replay: str, *, format: Format[E, B], **options: Unpack[StreamOptions]) -> Stream[B]: ...
    @overload
    def batches(self, replay: str, *, format: None = None, **options: Unpack[StreamOptions]) -> Stream[AnyBatch]: ...
    def batches(
        self, replay: str, *, format: Format[Any, Any] | None = None, **options: Unpack[StreamOptions]
    ) -> Stream[Any]:
        """Streams the events of a replay, batch by batch. See events for formats."""
        session = Session(*build(replay, options), format)
        return Stream(session, lambda stream: _batches(stream, self._responses(session)))

    def responses(self, replay: str, **options: Unpack[StreamOptions]) -> Stream[stream_pb2.StreamEventsResponse]:
        """Streams everything that the daemon says: start, states, batches, heartbeats, what becomes of the replay, gaps, end."""

        def items(stream: Stream[stream_pb2.StreamEventsResponse]) -> Iterator[stream_pb2.StreamEventsResponse]:
            for response in self._responses(session):
                yield response
                stream.cursor = response.cursor or stream.cursor

        session = Session(*build(replay, options))
        return Stream(session, items)

    @overload
    def decode(self, source: Source, *, format: Format[E, B], **options: Unpack[StreamOptions]) -> Stream[E]: ...
    @overload
    def decode(self, source: Source, *, format: None = None, **options: Unpack[StreamOptions]) -> Stream[AnyEvent]: ...
    def decode(
        self, source: Source, *, format: Format[Any, Any] | None = None, **options: Unpack[StreamOptions]
    ) -> Stream[Any]:
        """Sends a file to the daemon and streams its events, one by one. It is not resumed. What keeps the file from
        being read is raised as it is, such as FileNotFoundError."""
        session = Session(build(name_of(source), options)[0], None, format)
        return Stream(session, lambda stream: _events(stream, self._decoded(session, source)))

    @overload
    def decode_batches(self, source: Source, *, format: Format[E, B], **options: Unpack[StreamOptions]) -> Stream[B]: ...
    @overload
    def decode_batches(self, source: Source, *, format: None = None, **options: Unpack[StreamOptions]) -> Stream[AnyBatch]: ...
    def decode_batches(
        self, source: Source, *, format: Format[Any, Any] | None = None, **options: Unpack[StreamOptions]
    ) -> Stream[Any]:
        """Sends a file to the daemon and streams its events, batch by batch. It is not resumed."""
        session = Session(build(name_of(source), options)[0], None, format)
        return Stream(session, lambda stream: _batches(stream, self._decoded(session, source)))

    def _decoded(self, session: Session, source: Source) -> Iterator[stream_pb2.StreamEventsResponse]:
        with Upload(source, session) as upload:
            call: Any = self._decode_replay(upload.parts(), metadata=self._metadata)
            upload.call.set_result(call)
            try:
                for response in call:
                    if session.observe(response):
                        yield response
            except grpc.RpcError as error:
                raise upload.failure or from_grpc(error) from None
            finally:
                call.cancel()
        check(session)

    def _responses(self, session: Session) -> Iterator[stream_pb2.StreamEventsResponse]:
        while session.end is None:
            session.called()
            call: Any = self._stream_events(session.request, metadata=self._metadata)
            watchdog = _Watchdog(call, session.silence)
            failure: ReplaydError | None = None
            try:
                for response in watchdog.watch(session):
                    if session.observe(response):
                        yield response
            except grpc.RpcError as error:
                failure = from_grpc(error)
                if watchdog.barked:
                    failure = ReplaydError(grpc.StatusCode.UNAVAILABLE, f"not a word for {session.silence:g} s")
            finally:
                watchdog.stop()
                call.cancel()
            if session.end is None:
                time.sleep(session.delay(failure))

    def replays(
        self,
        directory: str = "",
        *,
        formats: list[replay_pb2.Format.ValueType] | None = None,
        filter: replay_pb2.ReplayFilter | None = None,
        view: replay_pb2.ReplayView.ValueType = replay_pb2.REPLAY_VIEW_UNSPECIFIED,
        page_size: int | None = None,
    ) -> Iterator[replay_pb2.Replay]:
        """Lists the replays below a directory, ordered by name; all of them when none is given. They are fetched page by
        page. What is told of each depends on the view; see ReplayView in replay.proto."""
        basic = view in (replay_pb2.REPLAY_VIEW_UNSPECIFIED, replay_pb2.REPLAY_VIEW_BASIC)
        request = replay_pb2.ListReplaysRequest(
            directory=directory, formats=formats, filter=filter, view=view, page_size=page_size or (1000 if basic else 100)
        )
        while True:
            page = self._unary("ListReplays", request, replay_pb2.ListReplaysResponse)
            yield from page.replays
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def replay(self, name: str) -> replay_pb2.Replay:
        """Describes a replay: header, players, map, length."""
        request = replay_pb2.GetReplayRequest(replay=name)
        return self._unary("GetReplay", request, replay_pb2.GetReplayResponse).replay

    def server_info(self) -> info_pb2.GetServerInfoResponse:
        """What the daemon is and can do: version, formats and their kinds, limits, roots."""
        return self._unary("GetServerInfo", info_pb2.GetServerInfoRequest(), info_pb2.GetServerInfoResponse)

    def watch(self, directory: str = "") -> Iterator[watch_pb2.ReplayChange]:
        """Tells which replays are there, then what becomes of them. Not resumed: start it again, it begins with a new
        picture."""
        method = self._channel.unary_stream(
            _SERVICE + "WatchReplays",
            request_serializer=watch_pb2.WatchReplaysRequest.SerializeToString,
            response_deserializer=watch_pb2.WatchReplaysResponse.FromString,
        )
        call: Any = method(watch_pb2.WatchReplaysRequest(directory=directory), metadata=self._metadata)
        try:
            for response in call:
                yield from response.changes
        except grpc.RpcError as error:
            raise from_grpc(error) from None
        finally:
            call.cancel()

    def _unary(self, method: str, request: Message, response: type[R]) -> R:
        call: Any = self._channel.unary_unary(
            _SERVICE + method,
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=response.FromString,
        )
        try:
            return call(request, metadata=self._metadata)  # type: ignore[no-any-return]
        except grpc.RpcError as error:
            raise from_grpc(error) from None


R = TypeVar("R", bound=Message)


def _events(
    stream: Stream[Any], responses: Iterator[stream_pb2.StreamEventsResponse]
) -> Iterator[Any]:
    for response in responses:
        if response.HasField("batch") or response.HasField("state"):
            yield from Batch(response)
        stream.cursor = response.cursor or stream.cursor


def _batches(
    stream: Stream[Any], responses: Iterator[stream_pb2.StreamEventsResponse]
) -> Iterator[Any]:
    for response in responses:
        if response.HasField("batch") or response.HasField("state"):
            yield Batch(response)
        stream.cursor = response.cursor or stream.cursor


class _Watchdog:
    """Cancels a call that is waited for too long. It looks only while somebody waits: a slow reader is no dead line."""

    def __init__(self, call: Any, silence: float) -> None:
        self.barked = False
        self._call = call
        self._silence = silence
        self._waiting_since: float | None = None
        self._stopped = threading.Event()

    def watch(self, session: Session) -> Iterator[stream_pb2.StreamEventsResponse]:
        """The call's responses. Waiting is limited from the first one on: until then the daemon may be seeking, or
        there may be nothing to follow yet."""
        call = self._call
        first = next(call, None)
        if first is None:
            return
        yield first
        threading.Thread(target=self._run, daemon=True, name="replayd-watchdog").start()
        while True:
            self._waiting_since = time.monotonic()
            response = next(call, None)
            self._waiting_since = None
            if response is None:
                return
            yield response

    def _run(self) -> None:
        while not self._stopped.wait(self._silence / 6):
            since = self._waiting_since
            if since is not None and time.monotonic() - since > self._silence:
                self.barked = True
                self._call.cancel()
                return

    def stop(self) -> None:
        self._stopped.set()
