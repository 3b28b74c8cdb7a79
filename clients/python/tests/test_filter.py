"""Tests of the requests that options form, and of the filter of kinds to layers."""

from __future__ import annotations

from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from replayd._request import StreamOptions, build
from replayd.v1 import filter_pb2


def conditions(of: Descriptor) -> list[FieldDescriptor]:
    """The lists of a filter's message and of those below it."""
    found: list[FieldDescriptor] = []
    for field in of.fields:
        if field.is_repeated:
            found.append(field)
        elif field.message_type is not None:
            found += conditions(field.message_type)
    return found


def values(of: Message) -> list[tuple[str, list[Any]]]:
    """What the lists have of a filter's message and of those below it."""
    found: list[tuple[str, list[Any]]] = []
    for field, value in of.ListFields():
        found += [(field.name, list(value))] if field.is_repeated else values(value)
    return found


def test_each_condition_alone_is_sent() -> None:
    for field in conditions(filter_pb2.EventFilter.DESCRIPTOR):
        value: Any = "a" if field.type == FieldDescriptor.TYPE_STRING else 1
        options: Any = {field.name: [value]}
        request, _ = build("r/a", options)
        assert [values(f) for f in request.include] == [[(field.name, [value])]], field.name


def test_no_condition() -> None:
    assert not build("r/a", {})[0].include
    assert not build("r/a", {"players": [], "classes": [], "groups": []})[0].include


def test_where_is_sent() -> None:
    assert build("r/a", {"where": "event.x > 1"})[0].where == "event.x > 1"
    assert not build("r/a", {})[0].where


def test_batches_are_large() -> None:
    """A response costs more than hundreds of events."""
    options: list[StreamOptions] = [{}, {"tables": True}, {"max_batch_events": 7}, {"max_batch_events": 0}]
    assert [build("r/a", some)[0].max_batch_events for some in options] == [4096, 0, 7, 0]
