"""Requests from keyword arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, TypedDict

from ._session import Retry
from .events import AnyKind
from .v1 import filter_pb2, replay_pb2, state_pb2, stream_pb2, subscribe_pb2


class CommonOptions(TypedDict, total=False):
    """The options of all calls that stream events."""

    kinds: Sequence[AnyKind]
    """Only events of these kinds. For names that are unknown to type checkers, use an `include` filter."""
    players: Sequence[int]
    """Only events of these players. See EventFilter.players in filter.proto for their numbers."""
    teams: Sequence[int]
    """Only events of these teams. See EventFilter.teams."""
    classes: Sequence[str]
    """For Source 2 demos: only events of entities whose class matches one of these patterns."""
    fields: Sequence[str]
    """For Source 2 demos: only entity fields whose name matches one of these patterns."""
    types: Sequence[str]
    """For Source 2 demos: only events of these types, such as COMBAT_LOG_TYPE_DEATH. See DemFilter.types."""
    groups: Sequence[int]
    """For maps: only events of these groups of layers."""
    layers: Sequence[int]
    """For maps: only events of these layers, by their index over all groups."""
    every: int
    """Only events of ticks that are multiples of this number. Without it, samples are of each second of the game."""
    include: Sequence[filter_pb2.EventFilter]
    """Only events that match at least one of these filters. Cannot be combined with `kinds` to `every`, which form one filter."""
    exclude: Sequence[filter_pb2.EventFilter]
    """No events that match one of these filters."""
    where: str
    """Only events for which this expression in CEL is true, such as "event.damage > 100". See StreamEventsRequest.where."""
    with_state: bool
    """Begin with events that describe the state at the start position; see Event.state."""
    resolve_players: bool
    """Add the players to the events of a teehistorian file, in Event.event.player."""
    max_batch_events: int
    """The maximum number of events in a batch. Default 4096, with tables 131072. Many events that are kept keep their batch in
    memory."""
    max_batch_delay: float
    """How many seconds events may wait for a batch to fill. Default 0."""
    heartbeat: float
    """Seconds between heartbeats. Default 15. After three times as long without a response the stream is resumed."""
    tables: bool
    """Send events as tables of Apache Arrow, one for each kind; see Batch.tables. They are read many times as fast."""
    arrow_compression: stream_pb2.ArrowCompression.ValueType
    """How tables are compressed. Default: LZ4, but not at all for a daemon on this machine."""
    narrow_columns: bool
    """Send columns of tables as smaller types where all values fit. Table restores them. Default True."""
    strict: bool
    """Raise DATA_LOSS for a file that ends without the end marker of its format."""
    slow_consumer: stream_pb2.SlowConsumer.ValueType
    """What the daemon does if the client reads a live replay too slowly. Default: it still sends all events."""
    retry: Retry | None
    """How an interrupted stream is resumed. None disables resuming."""


class TableOptions(CommonOptions, total=False):
    """The options of the calls that return a table, which name its columns themselves; and of streams. All are optional. See
    proto/replayd/v1/stream.proto for details."""

    cursor: bytes
    """Resume exactly after the batch or other response that has this cursor."""
    tick: int
    """Start at the first event of this tick or later."""
    last: int
    """Start with the last N events, 1 to 1000000."""
    now: bool
    """Start at the current end."""
    follow: bool
    """Wait for the file to grow, until the replay ends. `replay` may then be a directory, which means the newest replay directly
    inside it."""
    follow_successors: bool
    """With follow: when the replay ends, continue with the next one of the same game server."""
    successor_rule: stream_pb2.SuccessorRule.ValueType
    """How the next replay is determined. Default: by proof."""
    field_columns: bool
    """For Source 2 demos, with tables of "sample_entity" and `classes`, or of "game_event" and one of `types`: a column for each field or
    key. See StreamEventsRequest.field_columns."""


class StreamOptions(TableOptions, total=False):
    """The options of a stream. All are optional."""

    columns: Sequence[str]
    """Only with tables: only these columns, by the names in docs/events; a dot leads into a struct. Default: all. Every kind that
    the stream lets through must have them."""


class SubscribeOptions(CommonOptions, total=False):
    """The options of a subscription. All are optional. See proto/replayd/v1/subscribe.proto for details."""

    columns: Sequence[str]
    """Only with tables: only these columns; see StreamOptions."""
    token: bytes
    """Resume exactly after the response that has this token. The conditions below and the directory must be the same."""
    subscription: str
    """The name under which the daemon keeps where the subscription stands. Without a token it goes on behind what was acknowledged."""
    formats: Sequence[replay_pb2.Format.ValueType]
    """Only replays of these formats."""
    filter: replay_pb2.ReplayFilter
    """Only replays that match this filter."""
    parallel: int
    """How many replays are streamed at once in each root, besides the live ones. Default 2."""


class WatchOptions(TypedDict, total=False):
    """The options of a watch of states. All are optional. See proto/replayd/v1/state.proto for details."""

    formats: Sequence[replay_pb2.Format.ValueType]
    """Only games of these formats."""
    filter: replay_pb2.ReplayFilter
    """Only games that match this filter."""
    interval: float
    """Seconds between responses. Default 1."""
    columns: Sequence[str]
    """The fields of a player that are wanted, besides the number. Default: all."""
    players: Sequence[int]
    """Only these players."""
    teams: Sequence[int]
    """Only players of these teams."""
    resolve_players: bool
    """Add the names of the clients of a teehistorian file, in Event.player."""
    heartbeat: float
    """Seconds between responses when nothing changes. Default 15. After three times as long without one the call is made again."""
    retry: Retry | None
    """How the call is made again after it broke. None disables that."""


class ListOptions(TypedDict, total=False):
    """The options of a list of replays. All are optional. See proto/replayd/v1/replay.proto for details."""

    formats: Sequence[replay_pb2.Format.ValueType]
    """Only replays of these formats."""
    filter: replay_pb2.ReplayFilter
    """Only replays that match this filter."""
    order: replay_pb2.ReplayOrder.ValueType
    """The order. Default: by name."""
    view: replay_pb2.ReplayView.ValueType
    """Which fields of each replay are set. Default: REPLAY_VIEW_BASIC."""
    page_size: int
    """How many replays to fetch per call. Default 1000, or 100 with a view for which the daemon reads the replays."""


def list_request(directory: str, options: ListOptions) -> replay_pb2.ListReplaysRequest:
    """The request that the options describe."""
    _check_names(options, ListOptions.__optional_keys__)
    view = options.get("view", replay_pb2.REPLAY_VIEW_UNSPECIFIED)
    basic = view in (replay_pb2.REPLAY_VIEW_UNSPECIFIED, replay_pb2.REPLAY_VIEW_BASIC)
    return replay_pb2.ListReplaysRequest(
        directory=directory,
        formats=options.get("formats"),
        filter=options.get("filter"),
        order=options.get("order", replay_pb2.REPLAY_ORDER_UNSPECIFIED),
        view=view,
        page_size=options.get("page_size") or (1000 if basic else 100),
    )


def _check_names(options: Mapping[str, object], known: frozenset[str]) -> None:
    """Raises TypeError for an unknown name. Without the check, a misspelt filter would be ignored and all events streamed."""
    if unknown := options.keys() - known:
        raise TypeError(f"there is no option {min(unknown)!r}")


def build(replay: str, options: StreamOptions) -> tuple[stream_pb2.StreamEventsRequest, Retry | None]:
    """The request that the options describe."""
    _check_names(options, StreamOptions.__optional_keys__)
    if isinstance(options.get("columns"), str):
        raise TypeError("columns must be a list, not a str")
    request = stream_pb2.StreamEventsRequest(
        replay=replay,
        follow=options.get("follow", False),
        follow_successors=options.get("follow_successors", False),
        successor_rule=options.get("successor_rule", stream_pb2.SUCCESSOR_RULE_UNSPECIFIED),
        resolve_players=options.get("resolve_players", False),
        max_batch_events=options.get("max_batch_events", 0 if options.get("tables") else 4096),
        strict=options.get("strict", False),
        where=options.get("where", ""),
        encoding=stream_pb2.ENCODING_ARROW if options.get("tables") else stream_pb2.ENCODING_UNSPECIFIED,
        columns=options.get("columns"),
        narrow_columns=options.get("narrow_columns", bool(options.get("tables"))),
        field_columns=options.get("field_columns", False),
        arrow_compression=options.get("arrow_compression", stream_pb2.ARROW_COMPRESSION_UNSPECIFIED),
        slow_consumer=options.get("slow_consumer", stream_pb2.SLOW_CONSUMER_UNSPECIFIED),
    )
    values = ((name, options.get(name)) for name in ("cursor", "tick", "last", "now"))
    starts = [name for name, value in values if value is not None and value is not False]  # 0 counts; the daemon checks it
    if len(starts) > 1:
        raise ValueError(f"{starts[0]} and {starts[1]} exclude each other")
    if "cursor" in starts:
        request.start.cursor = options["cursor"]
    elif "tick" in starts:
        request.start.tick = options["tick"]
    elif "last" in starts:
        request.start.last_events = options["last"]
    elif "now" in starts:
        request.start.now.SetInParent()
    if options.get("with_state"):
        request.start.with_state = True
    if filter := _filter(options):
        if options.get("include"):
            raise ValueError("kinds, players and the like exclude include: put them into its filters")
        request.include.append(filter)
    request.include.extend(options.get("include", ()))
    request.exclude.extend(options.get("exclude", ()))
    if (delay := options.get("max_batch_delay")) is not None:
        request.max_batch_delay.FromTimedelta(timedelta(seconds=delay))
    if (heartbeat := options.get("heartbeat")) is not None:
        request.heartbeat_interval.FromTimedelta(timedelta(seconds=heartbeat))
    return request, options.get("retry", Retry())


def subscribe_request(
    directory: str, options: SubscribeOptions
) -> tuple[subscribe_pb2.SubscribeEventsRequest, Retry | None]:
    """The request that the options describe."""
    _check_names(options, SubscribeOptions.__optional_keys__)
    own: Any = {name: value for name, value in options.items() if name in StreamOptions.__optional_keys__}
    streamed, retry = build("", own)
    request = subscribe_pb2.SubscribeEventsRequest(
        directory=directory,
        formats=options.get("formats"),
        filter=options.get("filter"),
        token=options.get("token", b""),
        options=streamed,
        parallel=options.get("parallel", 0),
        subscription=options.get("subscription", ""),
    )
    return request, retry


def watch_request(directory: str, options: WatchOptions) -> tuple[state_pb2.WatchStateRequest, Retry | None]:
    """The request that the options describe."""
    _check_names(options, WatchOptions.__optional_keys__)
    if isinstance(options.get("columns"), str):
        raise TypeError("columns must be a list, not a str")
    request = state_pb2.WatchStateRequest(
        directory=directory,
        formats=options.get("formats"),
        filter=options.get("filter"),
        columns=options.get("columns"),
        resolve_players=options.get("resolve_players", False),
    )
    if (players := options.get("players")) or options.get("teams"):
        request.include.add(players=players, teams=options.get("teams"))
    if interval := options.get("interval"):
        request.interval.FromTimedelta(timedelta(seconds=interval))
    if heartbeat := options.get("heartbeat"):
        request.heartbeat_interval.FromTimedelta(timedelta(seconds=heartbeat))
    return request, options.get("retry", Retry())


def table_options(kind: str, columns: Sequence[str] | None, options: TableOptions) -> StreamOptions:
    """The options for the events of one kind as tables, of all columns or of these."""
    for name in ("kinds", "tables", "columns"):
        if name in options:
            raise TypeError(f"{name} is not an option here: the kind is {kind!r}")
    if columns is not None:
        if isinstance(columns, str):
            raise TypeError("columns must be a list, not a str")
        if not columns:
            raise ValueError("columns is empty: name one or more")
    whole: StreamOptions = {**options, "tables": True, "columns": columns or ()}
    if "include" in options:
        whole["include"] = [_of_kinds(filter, [kind]) for filter in options["include"]]
    else:
        kinds: list[Any] = [kind]
        whole["kinds"] = kinds
    return whole


def entity_options(classes: str | Sequence[str], fields: Sequence[str], options: TableOptions) -> StreamOptions:
    """The options for the state of entities as tables."""
    if isinstance(fields, str):
        raise TypeError("fields must be a list, not a str")
    for name in ("kinds", "tables", "classes", "fields", "field_columns", "include", "where"):
        if name in options:
            raise TypeError(f"{name} is not an option here")
    changed: Any = {name: value for name, value in options.items() if name in _FILTERS}
    changed["classes"] = [classes] if isinstance(classes, str) else classes
    deleted = changed | {"kinds": ["entity_deleted"]}  # they have no fields, so a filter for fields does not let them through
    changed.update(kinds=["entity_created", "entity_updated", "entity_entered"], fields=fields)
    rest: Any = {name: value for name, value in options.items() if name not in _FILTERS}
    rest.update(tables=True, include=[_filter(changed), _filter(deleted)])
    made: StreamOptions = rest
    return made


def sample_options(classes: str | Sequence[str], fields: Sequence[str], options: TableOptions) -> StreamOptions:
    """The options for samples of entities, as a table with a column for each field."""
    made: StreamOptions = {
        **options, "kinds": ["sample_entity"], "tables": True, "field_columns": True,
        "classes": [classes] if isinstance(classes, str) else classes, "fields": fields,
        "columns": ["at_tick", "time", "sample_entity_index", "serial", "class", *fields],
    }  # fmt: skip
    return made


def _of_kinds(filter: filter_pb2.EventFilter, kinds: Sequence[str]) -> filter_pb2.EventFilter:
    if filter.kinds:
        raise ValueError("a filter has kinds, but the kind is given beside it")
    copy = filter_pb2.EventFilter()
    copy.CopyFrom(filter)
    copy.kinds.extend(kinds)
    return copy


_FILTERS = ("kinds", "players", "teams", "classes", "fields", "types", "groups", "layers", "every")
"""The options that form one filter."""


def _filter(options: TableOptions) -> filter_pb2.EventFilter | None:
    """The filter for the options kinds to every. None without any."""
    for name in _FILTERS:
        if isinstance(options.get(name), str):
            raise TypeError(f"{name} must be a list, not a str")
    filter = filter_pb2.EventFilter(
        kinds=options.get("kinds"), players=options.get("players"), teams=options.get("teams")
    )
    classes, fields, types = options.get("classes"), options.get("fields"), options.get("types")
    if classes or fields or types:
        filter.dem.CopyFrom(filter_pb2.DemFilter(classes=classes, fields=fields, types=types))
    groups, layers = options.get("groups"), options.get("layers")
    if groups or layers:
        filter.datafile.CopyFrom(filter_pb2.DatafileFilter(groups=groups, layers=layers))
    if (every := options.get("every")) is not None:
        filter.ticks.every = every
    return filter if filter.ListFields() else None
