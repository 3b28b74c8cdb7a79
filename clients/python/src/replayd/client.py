"""The client for blocking code."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from itertools import chain
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar, Unpack, overload

import grpc
from google.protobuf.message import Message

from . import _collect
from ._error import ReplaydError, from_grpc
from ._event import Format
from ._request import ListOptions, StreamOptions, TableOptions, build, list_request, table_options
from ._session import Session
from ._stream import StreamBase, batches_of, events_of, responses_of
from ._stubs import Stubs
from ._tables import participants_table, rows_of, to_pandas, to_polars
from ._upload import Source, Upload, check, name_of
from .events import AnyBatch, AnyEvent, AnyKind
from .v1 import info_pb2, replay_pb2, report_pb2, stream_pb2, watch_pb2

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

T = TypeVar("T")
E = TypeVar("E")
B = TypeVar("B")


class Stream(StreamBase, Generic[T]):
    """An iterator over a stream. End it with `close` or a `with` block, or delete it."""

    def __init__(
        self,
        session: Session,
        responses: Iterator[stream_pb2.StreamEventsResponse],
        items_of: Callable[[stream_pb2.StreamEventsResponse], Iterable[T]],
    ) -> None:
        super().__init__(session)
        self._parts = self._run(responses, items_of)
        self._items = chain.from_iterable(self._parts)  # a generator would take several times as long for each item

    def _run(
        self,
        responses: Iterator[stream_pb2.StreamEventsResponse],
        items_of: Callable[[stream_pb2.StreamEventsResponse], Iterable[T]],
    ) -> Generator[Iterable[T], None, None]:
        for response in responses:
            yield items_of(response)
            self.cursor = response.cursor or self.cursor

    def __iter__(self) -> Iterator[T]:
        """Returns an iterator that is faster than the stream itself. After `close` it still has what was received."""
        return self._items

    def __next__(self) -> T:
        return next(self._items)

    def close(self) -> None:
        """Ends the stream."""
        self._parts.close()
        self._items = chain()

    def __enter__(self) -> Stream[T]:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class Client:
    """A client of one daemon. Threads may share a client. A stream must be used by one thread at a time."""

    def __init__(
        self,
        channel: grpc.Channel,
        metadata: tuple[tuple[str, str], ...] = (),
        compression: stream_pb2.ArrowCompression.ValueType = stream_pb2.ARROW_COMPRESSION_UNSPECIFIED,
    ) -> None:
        self._channel = channel
        self._metadata = metadata
        self._compression = compression
        self._stubs = Stubs(channel)

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

        With a format, the types of the events are narrowed to it, and a replay of another format is an error."""
        session = Session(*build(replay, options), format)
        return Stream(session, self._responses(session), events_of)

    @overload
    def batches(self, replay: str, *, format: Format[E, B], **options: Unpack[StreamOptions]) -> Stream[B]: ...
    @overload
    def batches(self, replay: str, *, format: None = None, **options: Unpack[StreamOptions]) -> Stream[AnyBatch]: ...
    def batches(
        self, replay: str, *, format: Format[Any, Any] | None = None, **options: Unpack[StreamOptions]
    ) -> Stream[Any]:
        """Streams the events of a replay, batch by batch. See events for formats."""
        session = Session(*build(replay, options), format)
        return Stream(session, self._responses(session), batches_of)

    def responses(self, replay: str, **options: Unpack[StreamOptions]) -> Stream[stream_pb2.StreamEventsResponse]:
        """Streams all responses of the daemon: start, states, batches, heartbeats, follow statuses, gaps, end."""
        session = Session(*build(replay, options))
        return Stream(session, self._responses(session), responses_of)

    def rows(
        self, replay: str, kind: AnyKind, columns: Sequence[str] | None = None, **options: Unpack[TableOptions]
    ) -> Stream[tuple[Any, ...]]:
        """Streams the events of one kind as plain tuples with the values of these columns, the fastest way of one by one.

        Without columns, a tuple has all columns of the kind's table, in its order. A later daemon may have more of them. docs/events
        lists each kind's columns. A dot leads into a struct: "input.target_x". It needs pyarrow."""
        session = Session(*build(replay, table_options(kind, columns, options)))
        return Stream(session, self._responses(session), rows_of(kind, columns))

    def table(
        self, replay: str, kind: AnyKind, columns: Sequence[str] | None = None, **options: Unpack[TableOptions]
    ) -> pyarrow.Table:
        """Returns all events of one kind as a pyarrow.Table, of all columns or of these; see rows."""
        session, collector = _collect.kind(replay, kind, columns, options)
        for response in self._responses(session):
            collector.take(response)
        return collector.table()

    def frame(
        self, replay: str, kind: AnyKind, columns: Sequence[str] | None = None, **options: Unpack[TableOptions]
    ) -> pandas.DataFrame:
        """Returns all events of one kind as a pandas.DataFrame; see table."""
        made: pandas.DataFrame = to_pandas(self.table(replay, kind, columns, **options))
        return made

    def polars(
        self, replay: str, kind: AnyKind, columns: Sequence[str] | None = None, **options: Unpack[TableOptions]
    ) -> polars.DataFrame:
        """Returns all events of one kind as a polars.DataFrame; see table."""
        made: polars.DataFrame = to_polars(self.table(replay, kind, columns, **options))
        return made

    def entities(
        self,
        replay: str,
        classes: str | Sequence[str],
        fields: Sequence[str],
        /,
        every: int | None = None,
        **options: Unpack[TableOptions],
    ) -> pyarrow.Table:
        """Returns the state of entities of a demo over time as a pyarrow.Table: a row for each change of one of the fields of an
        entity, or, with `every`, one for each entity each so many ticks, and a column for each field.

        `classes` are patterns such as "CDOTA_Unit_Hero_*", `fields` names such as "m_iHealth". The other columns are `at_tick`,
        `time`, `entity` (its slot), `serial`, `class` and, where known, `name`. A field that an entity does not have is missing.
        """
        session, collector = _collect.entities(replay, classes, fields, every, options)
        for response in self._responses(session):
            collector.take(response)
        return collector.table()

    @overload
    def decode(self, source: Source, *, format: Format[E, B], **options: Unpack[StreamOptions]) -> Stream[E]: ...
    @overload
    def decode(self, source: Source, *, format: None = None, **options: Unpack[StreamOptions]) -> Stream[AnyEvent]: ...
    def decode(
        self, source: Source, *, format: Format[Any, Any] | None = None, **options: Unpack[StreamOptions]
    ) -> Stream[Any]:
        """Sends a file to the daemon and streams its events, one by one. It is not resumed. An exception from reading the
        file is raised unchanged, such as FileNotFoundError."""
        session = Session(build(name_of(source), options)[0], None, format)
        return Stream(session, self._decoded(session, source), events_of)

    @overload
    def decode_batches(self, source: Source, *, format: Format[E, B], **options: Unpack[StreamOptions]) -> Stream[B]: ...
    @overload
    def decode_batches(self, source: Source, *, format: None = None, **options: Unpack[StreamOptions]) -> Stream[AnyBatch]: ...
    def decode_batches(
        self, source: Source, *, format: Format[Any, Any] | None = None, **options: Unpack[StreamOptions]
    ) -> Stream[Any]:
        """Sends a file to the daemon and streams its events, batch by batch. It is not resumed."""
        session = Session(build(name_of(source), options)[0], None, format)
        return Stream(session, self._decoded(session, source), batches_of)

    def _decoded(self, session: Session, source: Source) -> Iterator[stream_pb2.StreamEventsResponse]:
        session.compress(self._compression)
        with Upload(source, session) as upload:
            call: Any = self._stubs.decode_replay(upload.parts(), metadata=self._metadata)
            upload.call.set_result(call)
            try:
                for response in call:
                    if session.observe(response):
                        yield response
            except grpc.RpcError as error:
                raise upload.failure or self._failed(error) from None
            finally:
                call.cancel()
        check(session)

    def _responses(self, session: Session) -> Iterator[stream_pb2.StreamEventsResponse]:
        session.compress(self._compression)
        while session.end is None:
            session.called()
            call: Any = self._stubs.stream_events(session.request, metadata=self._metadata)
            watchdog = _Watchdog(call, session.silence)
            failure: ReplaydError | None = None
            try:
                for response in watchdog.watch(session):
                    if session.observe(response):
                        yield response
            except grpc.RpcError as error:
                failure = self._failed(error)
                if watchdog.expired:
                    failure = ReplaydError(grpc.StatusCode.UNAVAILABLE, f"no response for {session.silence:g} s")
            finally:
                watchdog.stop()
                call.cancel()
            if session.end is None:
                time.sleep(session.delay(failure))

    def replays(
        self, directory: str = "", **options: Unpack[ListOptions]
    ) -> Iterator[replay_pb2.Replay]:
        """Lists the replays below a directory, ordered by name. It fetches further pages as needed. Without a directory it
        lists all replays."""
        request = list_request(directory, options)
        while True:
            page: replay_pb2.ListReplaysResponse = self._call(self._stubs.list_replays, request)
            yield from page.replays
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def replay(self, name: str) -> replay_pb2.Replay:
        """Returns a replay's header, players, map and length."""
        response: replay_pb2.GetReplayResponse = self._call(
            self._stubs.get_replay, replay_pb2.GetReplayRequest(replay=name)
        )
        return response.replay

    def report(self, name: str, tick: int | None = None) -> report_pb2.Report:
        """Returns who took part in a game, where, and how it stood after a tick, or how it stands or ended now without one."""
        request = report_pb2.GetReportRequest(replay=name, tick=tick)
        response: report_pb2.GetReportResponse = self._call(self._stubs.get_report, request)
        return response.report

    def participants(self, name: str) -> list[replay_pb2.Participant]:
        """Returns everybody who took part in a teehistorian file, in the order in which they connected. The list is empty while
        the daemon has not decoded the file yet."""
        request = replay_pb2.GetReplayRequest(replay=name, view=replay_pb2.REPLAY_VIEW_PARTICIPANTS)
        response: replay_pb2.GetReplayResponse = self._call(self._stubs.get_replay, request)
        return list(response.replay.participants)

    def participants_table(self, name: str) -> pyarrow.Table:
        """Returns the participants as a pyarrow.Table: a row for each, and a column for each field of Participant."""
        return participants_table(self.participants(name))

    def server_info(self) -> info_pb2.GetServerInfoResponse:
        """Returns the daemon's version, formats with their kinds, limits and roots."""
        response: info_pb2.GetServerInfoResponse = self._call(
            self._stubs.get_server_info, info_pb2.GetServerInfoRequest()
        )
        return response

    def watch(self, directory: str = "") -> Iterator[watch_pb2.ReplayChange]:
        """Streams the existing replays, and then each change. It is not resumed. A new call begins with the replays that
        exist then."""
        request = watch_pb2.WatchReplaysRequest(directory=directory)
        call: Any = self._stubs.watch_replays(request, metadata=self._metadata)
        try:
            for response in call:
                yield from response.changes
        except grpc.RpcError as error:
            raise self._failed(error) from None
        finally:
            call.cancel()

    def _failed(self, error: grpc.RpcError) -> ReplaydError:
        """The exception for a call that failed."""
        return from_grpc(error)

    def _call(self, method: Any, request: Message) -> Any:
        try:
            return method(request, metadata=self._metadata)
        except grpc.RpcError as error:
            raise self._failed(error) from None


class _Watchdog:
    """Cancels a call if a receive takes too long. It measures only receives, so a slow reader does not trigger it."""

    def __init__(self, call: Any, silence: float) -> None:
        self.expired = False
        self._call = call
        self._silence = silence
        self._waiting_since: float | None = None
        self._stopped = threading.Event()

    def watch(self, session: Session) -> Iterator[stream_pb2.StreamEventsResponse]:
        """Yields the call's responses. It sets no limit before the first one, because the daemon may be seeking or waiting for a
        replay to follow."""
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
                self.expired = True
                self._call.cancel()
                return

    def stop(self) -> None:
        self._stopped.set()
