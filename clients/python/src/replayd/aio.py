"""The client for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import Any, Generic, TypeVar, Unpack, overload

import grpc
import grpc.aio
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
R = TypeVar("R", bound=Message)

_SERVICE = "/replayd.v1.ReplayService/"


class AsyncStream(Generic[T]):
    """An asynchronous iterator over a stream, with what is known of it. Leave it by `aclose` or an `async with` block."""

    def __init__(self, session: Session, items: Callable[[AsyncStream[T]], AsyncIterator[T]]) -> None:
        self._session = session
        self._items = items(self)
        self.cursor = b""
        """Where to go on behind what was handed over completely: the last batch of which all events were taken."""

    def __aiter__(self) -> AsyncIterator[T]:
        return self._items

    async def __anext__(self) -> T:
        return await anext(self._items)

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

    async def aclose(self) -> None:
        """Ends the stream."""
        close = getattr(self._items, "aclose", None)
        if close is not None:
            await close()

    async def __aenter__(self) -> AsyncStream[T]:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class AsyncClient:
    """A client of one daemon, for one event loop."""

    def __init__(self, channel: grpc.aio.Channel, metadata: tuple[tuple[str, str], ...] = ()) -> None:
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

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connection. Streams end."""
        await self._channel.close()

    @overload
    def events(self, replay: str, *, format: Format[E, B], **options: Unpack[StreamOptions]) -> AsyncStream[E]: ...
    @overload
    def events(self, replay: str, *, format: None = None, **options: Unpack[StreamOptions]) -> AsyncStream[AnyEvent]: ...
    def events(
        self, replay: str, *, format: Format[Any, Any] | None = None, **options: Unpack[StreamOptions]
    ) -> AsyncStream[Any]:
        """Streams the events of a replay, one by one.

        With a format a type checker knows that the events are of that format, and other replays are refused."""
        session = Session(*build(replay, options), format)
        return AsyncStream(session, lambda stream: _events(stream, self._responses(session)))

    @overload
    def batches(self, replay: str, *, format: Format[E, B], **options: Unpack[StreamOptions]) -> AsyncStream[B]: ...
    @overload
    def batches(self, replay: str, *, format: None = None, **options: Unpack[StreamOptions]) -> AsyncStream[AnyBatch]: ...
    def batches(
        self, replay: str, *, format: Format[Any, Any] | None = None, **options: Unpack[StreamOptions]
    ) -> AsyncStream[Any]:
        """Streams the events of a replay, batch by batch. See events for formats."""
        session = Session(*build(replay, options), format)
        return AsyncStream(session, lambda stream: _batches(stream, self._responses(session)))

    def responses(self, replay: str, **options: Unpack[StreamOptions]) -> AsyncStream[stream_pb2.StreamEventsResponse]:
        """Streams everything that the daemon says: start, states, batches, heartbeats, what becomes of the replay, gaps, end."""

        async def items(
            stream: AsyncStream[stream_pb2.StreamEventsResponse],
        ) -> AsyncIterator[stream_pb2.StreamEventsResponse]:
            async for response in self._responses(session):
                yield response
                stream.cursor = response.cursor or stream.cursor

        session = Session(*build(replay, options))
        return AsyncStream(session, items)

    @overload
    def decode(self, source: Source, *, format: Format[E, B], **options: Unpack[StreamOptions]) -> AsyncStream[E]: ...
    @overload
    def decode(self, source: Source, *, format: None = None, **options: Unpack[StreamOptions]) -> AsyncStream[AnyEvent]: ...
    def decode(
        self, source: Source, *, format: Format[Any, Any] | None = None, **options: Unpack[StreamOptions]
    ) -> AsyncStream[Any]:
        """Sends a file to the daemon and streams its events, one by one. It is not resumed. Files are read in the event
        loop, 64 KiB at a time; what keeps one from being read is raised as it is, such as FileNotFoundError."""
        session = Session(build(name_of(source), options)[0], None, format)
        return AsyncStream(session, lambda stream: _events(stream, self._decoded(session, source)))

    @overload
    def decode_batches(self, source: Source, *, format: Format[E, B], **options: Unpack[StreamOptions]) -> AsyncStream[B]: ...
    @overload
    def decode_batches(self, source: Source, *, format: None = None, **options: Unpack[StreamOptions]) -> AsyncStream[AnyBatch]: ...
    def decode_batches(
        self, source: Source, *, format: Format[Any, Any] | None = None, **options: Unpack[StreamOptions]
    ) -> AsyncStream[Any]:
        """Sends a file to the daemon and streams its events, batch by batch. It is not resumed."""
        session = Session(build(name_of(source), options)[0], None, format)
        return AsyncStream(session, lambda stream: _batches(stream, self._decoded(session, source)))

    async def _decoded(self, session: Session, source: Source) -> AsyncIterator[stream_pb2.StreamEventsResponse]:
        with Upload(source, session) as upload:
            call: Any = self._decode_replay(upload.parts(), metadata=self._metadata)
            upload.call.set_result(call)
            try:
                async for response in call:
                    if session.observe(response):
                        yield response
            except (grpc.aio.AioRpcError, asyncio.CancelledError) as error:
                if upload.failure:
                    raise upload.failure from None
                if isinstance(error, grpc.aio.AioRpcError):
                    raise from_grpc(error) from None
                raise
            finally:
                call.cancel()
        check(session)

    async def _responses(self, session: Session) -> AsyncIterator[stream_pb2.StreamEventsResponse]:
        while session.end is None:
            session.called()
            call: Any = self._stream_events(session.request, metadata=self._metadata)
            failure: ReplaydError | None = None
            # Waiting is limited from the first response on: until then the daemon may be seeking, or there may be
            # nothing to follow yet.
            limit: float | None = None
            try:
                while (response := await asyncio.wait_for(call.read(), limit)) is not grpc.aio.EOF:
                    limit = session.silence
                    if session.observe(response):
                        yield response
                if await call.code() != grpc.StatusCode.OK:
                    failure = ReplaydError(await call.code(), await call.details())
            except grpc.aio.AioRpcError as error:
                failure = from_grpc(error)
            except TimeoutError:
                failure = ReplaydError(grpc.StatusCode.UNAVAILABLE, f"not a word for {session.silence:g} s")
            finally:
                call.cancel()
            if session.end is None:
                await asyncio.sleep(session.delay(failure))

    async def replays(
        self,
        directory: str = "",
        *,
        formats: list[replay_pb2.Format.ValueType] | None = None,
        filter: replay_pb2.ReplayFilter | None = None,
        view: replay_pb2.ReplayView.ValueType = replay_pb2.REPLAY_VIEW_UNSPECIFIED,
        page_size: int | None = None,
    ) -> AsyncIterator[replay_pb2.Replay]:
        """Lists the replays below a directory, ordered by name; all of them when none is given. They are fetched page by
        page. What is told of each depends on the view; see ReplayView in replay.proto."""
        basic = view in (replay_pb2.REPLAY_VIEW_UNSPECIFIED, replay_pb2.REPLAY_VIEW_BASIC)
        request = replay_pb2.ListReplaysRequest(
            directory=directory, formats=formats, filter=filter, view=view, page_size=page_size or (1000 if basic else 100)
        )
        while True:
            page = await self._unary("ListReplays", request, replay_pb2.ListReplaysResponse)
            for replay in page.replays:
                yield replay
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def replay(self, name: str) -> replay_pb2.Replay:
        """Describes a replay: header, players, map, length."""
        request = replay_pb2.GetReplayRequest(replay=name)
        return (await self._unary("GetReplay", request, replay_pb2.GetReplayResponse)).replay

    async def server_info(self) -> info_pb2.GetServerInfoResponse:
        """What the daemon is and can do: version, formats and their kinds, limits, roots."""
        return await self._unary("GetServerInfo", info_pb2.GetServerInfoRequest(), info_pb2.GetServerInfoResponse)

    async def watch(self, directory: str = "") -> AsyncIterator[watch_pb2.ReplayChange]:
        """Tells which replays are there, then what becomes of them. Not resumed: start it again, it begins with a new
        picture."""
        method = self._channel.unary_stream(
            _SERVICE + "WatchReplays",
            request_serializer=watch_pb2.WatchReplaysRequest.SerializeToString,
            response_deserializer=watch_pb2.WatchReplaysResponse.FromString,
        )
        call: Any = method(watch_pb2.WatchReplaysRequest(directory=directory), metadata=self._metadata)
        try:
            async for response in call:
                for change in response.changes:
                    yield change
        except grpc.aio.AioRpcError as error:
            raise from_grpc(error) from None
        finally:
            call.cancel()

    async def _unary(self, method: str, request: Message, response: type[R]) -> R:
        call: Any = self._channel.unary_unary(
            _SERVICE + method,
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=response.FromString,
        )
        try:
            return await call(request, metadata=self._metadata)  # type: ignore[no-any-return]
        except grpc.aio.AioRpcError as error:
            raise from_grpc(error) from None


async def _events(
    stream: AsyncStream[Any], responses: AsyncIterator[stream_pb2.StreamEventsResponse]
) -> AsyncIterator[Any]:
    async for response in responses:
        if response.HasField("batch") or response.HasField("state"):
            for event in Batch(response):
                yield event
        stream.cursor = response.cursor or stream.cursor


async def _batches(
    stream: AsyncStream[Any], responses: AsyncIterator[stream_pb2.StreamEventsResponse]
) -> AsyncIterator[Any]:
    async for response in responses:
        if response.HasField("batch") or response.HasField("state"):
            yield Batch(response)
        stream.cursor = response.cursor or stream.cursor
