"""Streams whose responses make one table. It does no input or output, so blocking code and asyncio share it."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ._entities import EntityCollector, SampleCollector
from ._error import ReplaydError
from ._request import TableOptions, build, entity_options, sample_options, table_options
from ._session import Session
from ._tables import Collector, joined
from .v1 import replay_pb2

if TYPE_CHECKING:
    import pyarrow

Progress = bool | Callable[[int, int, str], object] | None
"""Who is told how many replays of how many are done, and the name of the last one."""


def kind(
    replay: str, kind: str, columns: Sequence[str] | None, options: TableOptions
) -> tuple[Session, Collector]:
    """For the table of the events of one kind."""
    collector = Collector(kind, columns, options.get("field_columns", False))
    return Session(*build(replay, table_options(kind, columns, options))), collector


def entities(
    replay: str, classes: str | Sequence[str], fields: Sequence[str], options: TableOptions
) -> tuple[Session, EntityCollector]:
    """For the state of entities over time. Their rows are made here, so `every` is no condition of the request."""
    asked = options.copy()
    every = asked.pop("every", None)
    return Session(*build(replay, entity_options(classes, fields, asked))), EntityCollector(fields, every)


_SAMPLED = {"every", "strict", "retry", "heartbeat", "arrow_compression", "narrow_columns"}
"""The options of entities with which the daemon's samples are the same."""


def samples(
    replay: str, classes: str | Sequence[str], fields: Sequence[str], options: TableOptions
) -> tuple[Session, SampleCollector] | None:
    """For the state of entities each so many ticks, as samples that the daemon takes: it refuses fields that not all classes have with one
    type, and those whose type it does not know. None if the options ask for another thing, and for each tick: changes are fewer then."""
    patterns = isinstance(fields, str) or not fields or any("*" in name or "?" in name for name in fields)
    if patterns or options.keys() - _SAMPLED or (options.get("every") or 0) < 2:
        return None
    return Session(*build(replay, sample_options(classes, fields, options))), SampleCollector(fields)


class Many:
    """The tables of many replays."""

    def __init__(self, refused: ReplaydError, progress: Progress) -> None:
        """refused is the error that is raised if no replay has a table."""
        self._refused = refused
        self._tables: list[tuple[str, Any]] = []
        self._replay = replay_pb2.Replay()
        self._without: set[replay_pb2.Format.ValueType] = set()  # formats that refuse the request
        if progress is None:
            progress = sys.stderr.isatty()
        self._progress = progress if callable(progress) else _print if progress else None

    def each(self, replays: Sequence[replay_pb2.Replay]) -> Iterator[str]:
        """The names of the replays whose tables must be taken."""
        for done, replay in enumerate(replays, 1):
            self._replay = replay
            if replay.format and replay.format not in self._without:
                yield replay.name
            if self._progress:
                self._progress(done, len(replays), replay.name)

    def take(self, collector: Collector, error: ReplaydError | None) -> None:
        """Adds the table of the replay that each has named last."""
        if error is None:
            self._tables.append((self._replay.name, collector.table()))
        elif error.reason == "BAD_REQUEST":
            self._without.add(self._replay.format)
            self._refused = error
        elif error.reason in ("CORRUPT", "TRUNCATED", "UNSUPPORTED_VERSION", "TOO_LARGE", "REPLAY_NOT_FOUND"):
            warnings.warn(f"{self._replay.name}: {error}", stacklevel=4)
            self._tables.append((self._replay.name, collector.table()))
        else:
            raise error

    def table(self) -> pyarrow.Table:
        """The rows of all replays."""
        if not self._tables:
            raise self._refused
        return joined(self._tables)


def _print(done: int, total: int, name: str) -> None:
    """Prints the progress in one line."""
    print(f"\r\x1b[K{done} of {total} replays: {name}"[:160], end="\n" if done == total else "", file=sys.stderr, flush=True)
