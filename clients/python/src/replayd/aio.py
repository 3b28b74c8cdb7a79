"""The client for asyncio. generate.py makes client.py of it, the client for blocking code."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, overload

import grpc
import grpc.aio
from google.protobuf.message import Message

from . import _collect
from ._asyncio import AsyncStream, AsyncWatch
from ._collect import Progress
from ._entities import EntityCollector
from ._error import ReplaydError, SilentError, from_grpc
from ._event import Format
from ._request import (
    ListOptions,
    StreamOptions,
    SubscribeOptions,
    TableOptions,
    WatchOptions,
    build,
    list_request,
    subscribe_request,
    table_options,
    watch_request,
)
from ._session import Session
from ._states import States, Watched
from ._stream import Events, batches_of, responses_of
from ._stubs import Stubs
from ._subscription import Subscribed, Subscription
from ._tables import Collector, participants_table, rows_of, to_pandas, to_polars
from ._upload import Source, Upload, check, name_of
from .events import AnyBatch, AnyEvent, AnyKind
from .v1 import broadcast_pb2, info_pb2, replay_pb2, report_pb2, stream_pb2, subscribe_pb2, watch_pb2

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

E = TypeVar("E")
B = TypeVar("B")


class AsyncClient:
    """A client of one daemon, for one event loop."""

    def __init__(self, channel: grpc.aio.Channel, metadata: tuple[tuple[str, str], ...] = ()) -> None:
        self._channel = channel
        self._metadata = metadata
        self._stubs = Stubs(channel)

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

        With a format, the types of the events are narrowed to it, and a replay of another format is an error."""
        session = Session(*build(replay, options), format)
        return AsyncStream(session, self._responses(session), Events())

    @overload
    def batches(self, replay: str, *, format: Format[E, B], **options: Unpack[StreamOptions]) -> AsyncStream[B]: ...
    @overload
    def batches(self, replay: str, *, format: None = None, **options: Unpack[StreamOptions]) -> AsyncStream[AnyBatch]: ...
    def batches(
        self, replay: str, *, format: Format[Any, Any] | None = None, **options: Unpack[StreamOptions]
    ) -> AsyncStream[Any]:
        """Streams the events of a replay, batch by batch. See events for formats."""
        session = Session(*build(replay, options), format)
        return AsyncStream(session, self._responses(session), batches_of)

    def responses(self, replay: str, **options: Unpack[StreamOptions]) -> AsyncStream[stream_pb2.StreamEventsResponse]:
        """Streams all responses of the daemon: start, states, batches, heartbeats, follow statuses, gaps, end."""
        session = Session(*build(replay, options))
        return AsyncStream(session, self._responses(session), responses_of)

    def rows(
        self, replay: str, kind: AnyKind, columns: Sequence[str] | None = None, **options: Unpack[TableOptions]
    ) -> AsyncStream[tuple[Any, ...]]:
        """Streams the events of one kind as plain tuples with the values of these columns, the fastest way of one by one.

        Without columns, a tuple has all columns of the kind's table, in its order. A later daemon may have more of them. docs/events
        lists each kind's columns. A dot leads into a struct: "input.target_x". It needs pyarrow."""
        session = Session(*build(replay, table_options(kind, columns, options)))
        return AsyncStream(session, self._responses(session), rows_of(kind, columns, options.get("field_columns", False)))

    async def table(
        self,
        replay: str,
        kind: AnyKind,
        columns: Sequence[str] | None = None,
        *,
        progress: Progress = None,
        **options: Unpack[TableOptions],
    ) -> pyarrow.Table:
        """Returns all events of one kind as a pyarrow.Table, of all columns or of these; see rows.

        A directory stands for all replays below it. Their rows come in the order of the replays' names, which are the first column,
        `replay`. Replays of formats without the kind are left out. A replay that cannot be read to its end is warned of, and has the
        rows before the damage. `progress` is called with the number of replays that are done, how many there are, and the name of
        the one that was done last; True prints that to stderr, which is the default if stderr is a terminal."""
        collector, error = await self._collect(replay, kind, columns, options)
        if error is None:
            return collector.table()
        if "replay" not in error.fields:
            raise error
        many = _collect.Many(error, progress)
        try:
            found = [found async for found in self.replays(replay)]
        except ReplaydError:  # it is no directory either
            raise error from None
        for name in many.each(found):
            many.take(*await self._collect(name, kind, columns, options))
        return many.table()

    async def _collect(
        self, replay: str, kind: str, columns: Sequence[str] | None, options: TableOptions
    ) -> tuple[Collector, ReplaydError | None]:
        """The tables of a replay, as far as they can be had."""
        session, collector = _collect.kind(replay, kind, columns, options)
        try:
            async for response in self._responses(session):
                collector.take(response)
        except ReplaydError as error:
            return collector, error
        return collector, None

    async def frame(
        self,
        replay: str,
        kind: AnyKind,
        columns: Sequence[str] | None = None,
        *,
        progress: Progress = None,
        **options: Unpack[TableOptions],
    ) -> pandas.DataFrame:
        """Returns all events of one kind, of a replay or of all below a directory, as a pandas.DataFrame; see table."""
        made: pandas.DataFrame = to_pandas(await self.table(replay, kind, columns, progress=progress, **options))
        return made

    async def polars(
        self,
        replay: str,
        kind: AnyKind,
        columns: Sequence[str] | None = None,
        *,
        progress: Progress = None,
        **options: Unpack[TableOptions],
    ) -> polars.DataFrame:
        """Returns all events of one kind, of a replay or of all below a directory, as a polars.DataFrame; see table."""
        made: polars.DataFrame = to_polars(await self.table(replay, kind, columns, progress=progress, **options))
        return made

    async def entities(
        self,
        replay: str,
        classes: str | Sequence[str],
        fields: Sequence[str],
        /,
        **options: Unpack[TableOptions],
    ) -> pyarrow.Table:
        """Returns the state of entities of a demo over time as a pyarrow.Table: a row for each change of one of the fields of an
        entity, or, with `every`, one for each entity each so many ticks, and a column for each field, in the order of `fields`.

        `classes` are patterns such as "CDOTA_Unit_Hero_*", `fields` names such as "m_iHealth". The other columns are `at_tick`,
        `time`, `entity` (its slot), `serial`, `class` and, where known, `name`. A field that an entity does not have is missing,
        and so is, with `every` above 1, a value that may be wrong.
        """
        if samples := _collect.samples(replay, classes, fields, options):
            try:
                return await self._collected(*samples)
            except ReplaydError as error:
                if error.reason != "BAD_REQUEST":
                    raise
        return await self._collected(*_collect.entities(replay, classes, fields, options))

    async def _collected(self, session: Session, collector: Collector | EntityCollector) -> pyarrow.Table:
        async for response in self._responses(session):
            collector.take(response)
        return collector.table()

    @overload
    def decode(self, source: Source, *, format: Format[E, B], **options: Unpack[StreamOptions]) -> AsyncStream[E]: ...
    @overload
    def decode(self, source: Source, *, format: None = None, **options: Unpack[StreamOptions]) -> AsyncStream[AnyEvent]: ...
    def decode(
        self, source: Source, *, format: Format[Any, Any] | None = None, **options: Unpack[StreamOptions]
    ) -> AsyncStream[Any]:
        """Sends a file to the daemon and streams its events, one by one. It is not resumed. An exception from reading the
        file is raised unchanged, such as FileNotFoundError.
        It reads files in the event loop, 64 KiB at a time."""
        session = Session(build(name_of(source), options)[0], None, format)
        return AsyncStream(session, self._decoded(session, source), Events())

    @overload
    def decode_batches(self, source: Source, *, format: Format[E, B], **options: Unpack[StreamOptions]) -> AsyncStream[B]: ...
    @overload
    def decode_batches(self, source: Source, *, format: None = None, **options: Unpack[StreamOptions]) -> AsyncStream[AnyBatch]: ...
    def decode_batches(
        self, source: Source, *, format: Format[Any, Any] | None = None, **options: Unpack[StreamOptions]
    ) -> AsyncStream[Any]:
        """Sends a file to the daemon and streams its events, batch by batch. It is not resumed."""
        session = Session(build(name_of(source), options)[0], None, format)
        return AsyncStream(session, self._decoded(session, source), batches_of)

    async def _decoded(self, session: Session, source: Source) -> AsyncGenerator[stream_pb2.StreamEventsResponse]:
        with Upload(source, session) as upload:
            call: Any = self._stubs.decode_replay(upload.parts(), metadata=self._metadata)
            upload.call.set_result(call)
            try:
                async for response in call:
                    if session.observe(response):
                        yield response
            except grpc.RpcError as error:
                raise self._failed(error) from None
            finally:
                call.cancel()
        check(session)

    async def _responses(self, session: Session) -> AsyncGenerator[stream_pb2.StreamEventsResponse]:
        while session.end is None:
            session.called()
            watch = AsyncWatch(self._stubs.stream_events(session.request, metadata=self._metadata), session.silence)
            failure: ReplaydError | None = None
            try:
                while (response := await watch.read()) is not None:
                    if session.observe(response):
                        yield response
            except grpc.RpcError as error:
                failure = self._failed(error)
            except SilentError as error:
                failure = error
            finally:
                watch.end()
            if session.end is None:
                await asyncio.sleep(session.delay(failure))

    async def subscribe(
        self, directory: str = "", **options: Unpack[SubscribeOptions]
    ) -> AsyncGenerator[Subscribed]:
        """Streams the events of all replays below a directory, or of all roots: of those that are over, live ones, and those to come.

        It goes on for ever, and yields each response. When the daemon restarts or the connection breaks, it continues after the last
        one; `retry` says how. With `token`, a later call continues where another one was."""
        subscription = Subscription(*subscribe_request(directory, options))
        while True:
            subscription.called()
            call = self._stubs.subscribe_events(subscription.request, metadata=self._metadata)
            watch = AsyncWatch(call, subscription.silence)
            failure: ReplaydError | None = None
            try:
                while (response := await watch.read()) is not None:
                    yield subscription.take(response)
            except grpc.RpcError as error:
                failure = self._failed(error)
            except SilentError as error:
                failure = error
            finally:
                watch.end()
            await asyncio.sleep(subscription.delay(failure))

    async def watch_state(self, directory: str = "", **options: Unpack[WatchOptions]) -> AsyncGenerator[States]:
        """Yields the latest states of the live games below a directory, or of all roots, after each response: a dict of WatchedReplay by
        number, which the next response changes. `replayd.players` has the players of one.

        It goes on for ever. When the daemon restarts or the connection breaks, the games have other numbers; `retry` says how it calls
        again. States between two responses are left out, so whoever is slow misses some."""
        watched = Watched(*watch_request(directory, options))
        while True:
            watched.called()
            call = self._stubs.watch_state(watched.request, metadata=self._metadata)
            watch = AsyncWatch(call, watched.silence)
            failure: ReplaydError | None = None
            try:
                while (response := await watch.read()) is not None:
                    yield watched.take(response)
            except grpc.RpcError as error:
                failure = self._failed(error)
            except SilentError as error:
                failure = error
            finally:
                watch.end()
            await asyncio.sleep(watched.delay(failure))

    async def replays(
        self, directory: str = "", **options: Unpack[ListOptions]
    ) -> AsyncGenerator[replay_pb2.Replay]:
        """Lists the replays below a directory, ordered by name if no order is given. It fetches further pages as needed.
        Without a directory it lists all replays."""
        request = list_request(directory, options)
        while True:
            page: replay_pb2.ListReplaysResponse = await self._call(self._stubs.list_replays, request)
            for replay in page.replays:
                yield replay
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def replay(self, name: str) -> replay_pb2.Replay:
        """Returns a replay's header, players, map and length."""
        response: replay_pb2.GetReplayResponse = await self._call(
            self._stubs.get_replay, replay_pb2.GetReplayRequest(replay=name)
        )
        return response.replay

    async def report(self, name: str, tick: int | None = None) -> report_pb2.Report:
        """Returns who took part in a game, where, and how it stood after a tick, or how it stands or ended now without one."""
        request = report_pb2.GetReportRequest(replay=name, tick=tick)
        response: report_pb2.GetReportResponse = await self._call(self._stubs.get_report, request)
        return response.report

    async def follow_broadcast(self, url: str) -> str:
        """Has the daemon follow the HTTP broadcast of a running match, once for each URL, and returns the name under which to
        stream it, with follow=True."""
        request = broadcast_pb2.FollowBroadcastRequest(url=url)
        response: broadcast_pb2.FollowBroadcastResponse = await self._call(self._stubs.follow_broadcast, request)
        return response.replay

    async def acknowledge(self, subscription: str, token: bytes) -> None:
        """Notes that the events of a named subscription were processed, up to the response with a token. A later `subscribe` without a
        token goes on behind it."""
        request = subscribe_pb2.AcknowledgeEventsRequest(subscription=subscription, token=token)
        await self._call(self._stubs.acknowledge_events, request)

    async def delete_subscription(self, subscription: str) -> None:
        """Removes a named subscription. A call that runs under its name ends."""
        request = subscribe_pb2.DeleteSubscriptionRequest(subscription=subscription)
        await self._call(self._stubs.delete_subscription, request)

    async def participants(self, name: str) -> list[replay_pb2.Participant]:
        """Returns everybody who took part in a teehistorian file, in the order in which they connected. The list is empty while
        the daemon has not decoded the file yet."""
        request = replay_pb2.GetReplayRequest(replay=name, view=replay_pb2.REPLAY_VIEW_PARTICIPANTS)
        response: replay_pb2.GetReplayResponse = await self._call(self._stubs.get_replay, request)
        return list(response.replay.participants)

    async def participants_table(self, name: str) -> pyarrow.Table:
        """Returns the participants as a pyarrow.Table: a row for each, and a column for each field of Participant."""
        return participants_table(await self.participants(name))

    async def server_info(self) -> info_pb2.GetServerInfoResponse:
        """Returns the daemon's version, formats with their kinds, limits and roots."""
        response: info_pb2.GetServerInfoResponse = await self._call(
            self._stubs.get_server_info, info_pb2.GetServerInfoRequest()
        )
        return response

    async def watch(self, directory: str = "") -> AsyncGenerator[watch_pb2.ReplayChange]:
        """Streams the existing replays, and then each change. It is not resumed. A new call begins with the replays that
        exist then."""
        request = watch_pb2.WatchReplaysRequest(directory=directory)
        call: Any = self._stubs.watch_replays(request, metadata=self._metadata)
        try:
            async for response in call:
                for change in response.changes:
                    yield change
        except grpc.RpcError as error:
            raise self._failed(error) from None
        finally:
            call.cancel()

    def _failed(self, error: grpc.RpcError) -> ReplaydError:
        """The exception for a call that failed."""
        return from_grpc(error)

    async def _call(self, method: Any, request: Message) -> Any:
        try:
            return await method(request, metadata=self._metadata)
        except grpc.RpcError as error:
            raise self._failed(error) from None
