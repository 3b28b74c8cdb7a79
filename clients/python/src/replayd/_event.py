"""Events and batches, as they are handed over."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import count, repeat
from typing import Any, Generic

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from typing_extensions import TypeVar

from ._columns import Columns, columns_of, rows
from .options.v1 import options_pb2
from .v1 import stream_pb2

M = TypeVar("M", bound=Message, default=Any)

_NO_STRINGS: Sequence[str] = ()


class Event(Generic[M]):
    """One thing that happened.

    `event` is the generated message, such as replayd.teehistorian.v1.events_pb2.Event. The fields of its kind are also
    within reach directly: `event.player_diff.x` is `event.event.player_diff.x`.
    """

    __slots__ = ("sequence", "event", "strings")

    sequence: int
    """The event's number in its stream, from 0, counted after filtering. It goes on when a stream is resumed."""
    event: M
    """The generated message."""
    strings: Sequence[str]
    """What the numbers of the event refer to that are marked as string_index in the .proto."""

    def __init__(self, sequence: int, event: M, strings: Sequence[str] = _NO_STRINGS) -> None:
        self.sequence = sequence
        self.event = event
        self.strings = strings

    @property
    def kind(self) -> str:
        """The name of the event's kind, as filters take it. Empty for a kind that this client is too old to know."""
        return self.event.WhichOneof("kind") or ""

    @property
    def tick(self) -> int:
        """When it happened, by the replay's clock. 0 for formats without one."""
        return self.event.at_tick  # type: ignore[attr-defined, no-any-return]

    @property
    def value(self) -> Any:
        """The message of the event's kind: `event.player_diff` when the kind is "player_diff"."""
        kind = self.event.WhichOneof("kind")
        return getattr(self.event, kind) if kind else None

    def string(self, index: int) -> str:
        """The string that a number marked as string_index stands for: `event.string(update.field)`."""
        return self.strings[index]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.event, name)

    def to_dict(self) -> dict[str, Any]:
        """The event as `replayd cat` prints it: names of the .proto, enums by name, 64-bit integers as strings, bytes
        as base64, strings in place of their indices, scalars also when they are zero."""
        descriptor: Any = self.event.DESCRIPTOR
        whole = MessageToDict(
            self.event, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
        )
        _resolve(descriptor, whole, self.strings)
        kind = self.kind
        result: dict[str, Any] = {"sequence": self.sequence, "tick": whole.pop("at_tick")}
        if kind:
            result["kind"] = kind
            value = whole.pop(kind)
            if kind == "tick":  # the number keeps the name
                result.update(value)
            else:
                result[kind] = value
        result.update((name, value) for name, value in whole.items() if value not in ([], 0, "", False))
        return result

    def to_json(self) -> str:
        """The event as one line of JSON; see to_dict."""
        return json.dumps(self.to_dict(), ensure_ascii=False, separators=(",", ":"))

    def __repr__(self) -> str:
        return f"<Event {self.sequence} tick={self.tick} {self.kind} {str(self.value).strip()!r}>"


class Batch(Generic[M]):
    """The events of one response. Iterating makes the Events one by one, in their order; `events` holds the bare
    messages."""

    __slots__ = ("first_sequence", "next_sequence", "cursor", "events", "strings", "columns", "_list")

    first_sequence: int
    """The number of the first event."""
    next_sequence: int
    """The number of the event behind the last one."""
    cursor: bytes
    """Where to go on behind this batch. Store it once the batch was dealt with, and nothing is lost or comes twice."""
    events: Sequence[M]
    """The generated messages; with columns=True those that have no columns."""
    strings: Sequence[str]
    """What numbers marked as string_index refer to."""
    columns: dict[str, Columns]
    """With columns=True: the other events as arrays, by kind."""

    def __init__(self, response: stream_pb2.StreamEventsResponse) -> None:
        batch = response.batch
        name = batch.WhichOneof("events")
        if name is None:
            raise NotImplementedError("events of a format that this client is too old to know: install a newer one")
        events = getattr(batch, name)
        self.first_sequence = batch.first_sequence
        self.next_sequence = batch.next_sequence
        self.cursor = response.cursor
        self.events = events.events
        self.strings = getattr(events, "strings", _NO_STRINGS)
        self.columns = columns_of(events)
        self._list = events

    def __len__(self) -> int:
        return self.next_sequence - self.first_sequence

    def __iter__(self) -> Iterator[Event[M]]:
        events = rows(self._list, self.columns) if self.columns else self.events
        return map(Event, count(self.first_sequence), events, repeat(self.strings))

    def __repr__(self) -> str:
        return f"<Batch {self.first_sequence}..{self.next_sequence}>"


# Which fields of a message type are, or hold, indices of strings: name to None, or to the type that holds them.
_Plan = dict[str, Descriptor | None]
_plans: dict[str, _Plan] = {}


def _plan(message: Descriptor) -> _Plan:
    plan = _plans.get(message.full_name)
    if plan is None:
        plan = _plans[message.full_name] = {}
        for field in message.fields:
            if _holds_index(field, set()):
                plan[field.name] = field.message_type
    return plan


def _holds_index(field: FieldDescriptor, seen: set[str]) -> bool:
    message = field.message_type
    if message is None:
        return bool(field.GetOptions().Extensions[options_pb2.string_index])
    if message.full_name in seen:
        return False
    seen.add(message.full_name)
    return any(_holds_index(inner, seen) for inner in message.fields)


def _resolve(message: Descriptor, values: dict[str, Any], strings: Sequence[str]) -> None:
    for name, inner in _plan(message).items():
        if name not in values:
            continue
        value = values[name]
        if inner is None:
            values[name] = [strings[i] for i in value] if isinstance(value, list) else strings[value]
        else:
            for element in value if isinstance(value, list) else (value,):
                _resolve(inner, element, strings)
