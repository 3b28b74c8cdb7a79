"""Requests from keyword arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TypedDict

from ._session import Retry
from .events import AnyKind
from .v1 import filter_pb2, replay_pb2, stream_pb2


class StreamOptions(TypedDict, total=False):
    """What to stream and how. All are optional; see proto/replayd/v1/stream.proto for the details."""

    kinds: Sequence[AnyKind]
    """Only events of these kinds. Names that a type checker cannot know go into an `include` filter."""
    players: Sequence[int]
    """Only events of these players: see EventFilter.players in filter.proto for what their numbers are."""
    teams: Sequence[int]
    """Only events of these teams: see EventFilter.teams."""
    classes: Sequence[str]
    """Of a Source 2 demo: only events of entities of classes that match any of these patterns."""
    fields: Sequence[str]
    """Of a Source 2 demo: of entities only fields that match any of these patterns."""
    groups: Sequence[int]
    """Of a map: only events of these groups of layers."""
    layers: Sequence[int]
    """Of a map: only events of these layers, by their index over all groups."""
    include: Sequence[filter_pb2.EventFilter]
    """Only events that match any of these; in place of `kinds` to `layers`, which together are one filter."""
    exclude: Sequence[filter_pb2.EventFilter]
    """No events that match any of these."""
    cursor: bytes
    """Go on exactly behind what carried this cursor."""
    tick: int
    """Start at the first event of this tick or later."""
    last: int
    """Start at the last so many events, 1 to 1000000."""
    now: bool
    """Start at the present end."""
    with_state: bool
    """Send first what a client would know that had read everything before: see Event.state."""
    follow: bool
    """Wait for the file to grow, until the replay is over. `replay` may then be a directory: its newest replay, directories
    inside it not included."""
    follow_successors: bool
    """With follow: when the replay is over, go on with the next one of the same game server."""
    successor_rule: stream_pb2.SuccessorRule.ValueType
    """What makes a replay the next one. Default: proof."""
    resolve_players: bool
    """Put beside the client ids of a teehistorian's events who the clients are: Event.event.player."""
    max_batch_events: int
    """Events in a batch at most. Default 512, with columns 16384."""
    max_batch_delay: float
    """Seconds that events may wait for a batch to fill. Default 0."""
    heartbeat: float
    """Seconds between heartbeats. Default 15. After three times as long without a word the stream is resumed."""
    columns: bool
    """Let events that are many and alike travel as arrays: see Batch.columns. They are read several times as fast."""
    strict: bool
    """Make a file that simply stops an error DATA_LOSS."""
    slow_consumer: stream_pb2.SlowConsumer.ValueType
    """What happens when the client reads a live replay too slowly. Default: it gets everything all the same."""
    retry: Retry | None
    """How a stream that broke is taken up again. None: not at all."""


class ListOptions(TypedDict, total=False):
    """Which replays to list and how. All are optional; see proto/replayd/v1/replay.proto for the details."""

    formats: Sequence[replay_pb2.Format.ValueType]
    """Only replays of these formats."""
    filter: replay_pb2.ReplayFilter
    """Only replays that match this filter."""
    view: replay_pb2.ReplayView.ValueType
    """Which fields of each replay are set. Default: REPLAY_VIEW_BASIC."""
    page_size: int
    """How many replays to fetch at once. Default 1000, and 100 with a view that reads the replays."""


def list_request(directory: str, options: ListOptions) -> replay_pb2.ListReplaysRequest:
    """The request that the options describe."""
    _check_names(options, ListOptions.__optional_keys__)
    view = options.get("view", replay_pb2.REPLAY_VIEW_UNSPECIFIED)
    basic = view in (replay_pb2.REPLAY_VIEW_UNSPECIFIED, replay_pb2.REPLAY_VIEW_BASIC)
    return replay_pb2.ListReplaysRequest(
        directory=directory,
        formats=options.get("formats"),
        filter=options.get("filter"),
        view=view,
        page_size=options.get("page_size") or (1000 if basic else 100),
    )


def _check_names(options: Mapping[str, object], known: frozenset[str]) -> None:
    """Raises for names that are not known: a misspelt option would be ignored, and everything be streamed."""
    if unknown := options.keys() - known:
        raise TypeError(f"there is no option {min(unknown)!r}")


_COLUMNS_BATCH = 16384
"""Arrays are worth the more the longer they are."""


def build(replay: str, options: StreamOptions) -> tuple[stream_pb2.StreamEventsRequest, Retry | None]:
    """The request that the options describe."""
    _check_names(options, StreamOptions.__optional_keys__)
    request = stream_pb2.StreamEventsRequest(
        replay=replay,
        follow=options.get("follow", False),
        follow_successors=options.get("follow_successors", False),
        successor_rule=options.get("successor_rule", stream_pb2.SUCCESSOR_RULE_UNSPECIFIED),
        resolve_players=options.get("resolve_players", False),
        max_batch_events=options.get("max_batch_events", _COLUMNS_BATCH if options.get("columns") else 0),
        strict=options.get("strict", False),
        encoding=stream_pb2.ENCODING_COLUMNS if options.get("columns") else stream_pb2.ENCODING_UNSPECIFIED,
        slow_consumer=options.get("slow_consumer", stream_pb2.SLOW_CONSUMER_UNSPECIFIED),
    )
    values = ((name, options.get(name)) for name in ("cursor", "tick", "last", "now"))
    starts = [name for name, value in values if value is not None and value is not False]  # 0 is one, if a bad one
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


def _filter(options: StreamOptions) -> filter_pb2.EventFilter | None:
    """The filter that options are short for."""
    for name in ("kinds", "players", "teams", "classes", "fields", "groups", "layers"):
        if isinstance(options.get(name), str):
            raise TypeError(f"{name} is a list")
    filter = filter_pb2.EventFilter(
        kinds=options.get("kinds"), players=options.get("players"), teams=options.get("teams")
    )
    classes, fields = options.get("classes"), options.get("fields")
    if classes or fields:
        filter.dem.CopyFrom(filter_pb2.DemFilter(classes=classes, fields=fields))
    groups, layers = options.get("groups"), options.get("layers")
    if groups or layers:
        filter.datafile.CopyFrom(filter_pb2.DatafileFilter(groups=groups, layers=layers))
    return filter if filter.ListFields() else None
