"""Streams whose responses make one table. It does no input or output, so blocking code and asyncio share it."""

from __future__ import annotations

from collections.abc import Sequence

from ._entities import EntityCollector
from ._request import TableOptions, build, entity_options, table_options
from ._session import Session
from ._tables import Collector


def kind(
    replay: str, kind: str, columns: Sequence[str] | None, options: TableOptions
) -> tuple[Session, Collector]:
    """For the table of the events of one kind."""
    return Session(*build(replay, table_options(kind, columns, options))), Collector(kind, columns)


def entities(
    replay: str, classes: str | Sequence[str], fields: Sequence[str], options: TableOptions
) -> tuple[Session, EntityCollector]:
    """For the state of entities over time. Their rows are made here, so `every` is no condition of the request."""
    asked = options.copy()
    every = asked.pop("every", None)
    return Session(*build(replay, entity_options(classes, fields, asked))), EntityCollector(fields, every)
