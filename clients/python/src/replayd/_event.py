"""Events and batches, as streams yield them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import repeat
from operator import methodcaller
from typing import TYPE_CHECKING, Any, Generic

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from typing_extensions import TypeVar

from ._tables import Table, html, tables_of
from .options.v1 import options_pb2
from .v1 import stream_pb2

M_co = TypeVar("M_co", bound=Message, default=Any, covariant=True)
E_co = TypeVar("E_co", default=Any, covariant=True)
B_co = TypeVar("B_co", default=Any, covariant=True)


def _positions(batch: stream_pb2.EventBatch) -> Iterator[tuple[int, int]]:
    """Restores positions from the differences in EventBatch.offsets and EventBatch.indexes."""
    offset = index = 0
    more = iter(batch.indexes)
    for n in batch.offsets:
        if n > 0:
            offset += n
            index = 0
        elif n == 0:
            index += 128
        else:
            offset += -1 - n
            index += next(more)
        yield offset, index


class Event:
    """One event of a replay.

    Type checkers and `isinstance` see an object of a subclass, one for each kind (see replayd.events). Type checkers distinguish them by
    `kind`: after `if event.kind == "player_diff":` they know the type of `event.value.x`.
    """

    __slots__ = ("_batch", "_nth")

    _batch: Batch
    _nth: int

    def __init__(
        self, sequence: int, event: Message, strings: Sequence[str] = (), state: bool = False, offset: int = 0, index: int = 0
    ) -> None:
        self._nth = 0
        self._batch = _of_one(event, 0, (offset, index), sequence, strings, state, {})

    if not TYPE_CHECKING:

        @property
        def __class__(self):
            return self._batch._classes.get(self.kind, type(self))

    @property
    def sequence(self) -> int:
        """The event's number in its stream, from 0, counted after filtering. A resumed stream continues the count. 0 if `state` is
        true."""
        return 0 if self._batch.state else self._batch.first_sequence + self._nth

    @property
    def event(self) -> Any:
        """The generated message, such as replayd.teehistorian.v1.events_pb2.Event."""
        return self._batch.events[self._nth]

    @property
    def offset(self) -> int:
        """The first part of the event's position in the replay: where its record starts, in bytes of the decompressed replay. An
        event has the same position in every stream, and no other event of the replay has it. Store events by it, and join events
        of streams with different filters. 0 if `state` is true."""
        return self._batch._places[self._nth][0]

    @property
    def index(self) -> int:
        """The second part of the event's position: its place among the events of its record. 0 if `state` is true."""
        return self._batch._places[self._nth][1]

    @property
    def strings(self) -> Sequence[str]:
        """The strings to which the event's fields marked string_index in the .proto refer."""
        return self._batch.strings

    @property
    def state(self) -> bool:
        """True if the event did not happen at its tick, but describes the state at the start position (with_state)."""
        return self._batch.state

    @property
    def kind(self) -> str:
        """The name of the event's kind, as used in filters. Empty for a kind that is newer than this client."""
        return self._batch._kinds[self._nth] or ""

    @property
    def tick(self) -> int:
        """The time of the event in ticks of the replay's clock. 0 for formats without a clock."""
        tick: int = self._batch.events[self._nth].at_tick
        return tick

    @property
    def value(self) -> Any:
        """The message of the event's kind: `event.event.player_diff` if the kind is "player_diff". None for a kind that is newer
        than this client."""
        batch, nth = self._batch, self._nth
        kind = batch._kinds[nth]
        return getattr(batch.events[nth], kind) if kind else None

    def string(self, index: int) -> str:
        """The string for the value of a field marked string_index, as in `event.string(update.field)`."""
        return self.strings[index]

    def to_dict(self) -> dict[str, Any]:
        """The event as `replayd cat` prints it. Fields have their names in the .proto, enums are names, 64-bit integers are
        strings, bytes are base64, and string indices are replaced by the strings. Scalars are included even if they are zero."""
        descriptor: Any = self.event.DESCRIPTOR
        whole = MessageToDict(
            self.event, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
        )
        _resolve(descriptor, whole, self.strings)
        result: dict[str, Any] = {"state": True}
        if not self.state:
            result = {"sequence": str(self.sequence), "offset": str(self.offset), "index": str(self.index)}
        result["at_tick"] = whole.pop("at_tick")
        if kind := self.kind:
            result["kind"] = kind
            result[kind] = whole.pop(kind)
        result.update((name, value) for name, value in whole.items() if value not in ([], 0, "", False))
        return result

    def to_json(self) -> str:
        """The event as one line of JSON; see to_dict."""
        return json.dumps(self.to_dict(), ensure_ascii=False, separators=(",", ":"))

    def _repr_html_(self) -> str:
        """For notebooks: the kind's fields."""
        return html(("field", "value"), self.to_dict().get(self.kind, {}).items(), f"{self.kind}, tick {self.tick}")

    def __repr__(self) -> str:
        number = "state" if self.state else self.sequence
        return f"<Event {number} tick={self.tick} {self.kind} {str(self.value).strip()!r}>"


class Batch(Generic[E_co, M_co]):
    """The events of one response. Iterating yields an Event for each, in order. `events` holds the messages without Event
    objects."""

    first_sequence: int
    """The sequence number of the first event. 0 if `state` is true."""
    next_sequence: int
    """The sequence number after the last event. 0 if `state` is true."""
    state: bool
    """True if the events describe the state at the start position (with_state). Such events have no sequence numbers. If a stream
    breaks in the middle of a state, the whole state is sent again."""
    complete: bool
    """True in the last batch of a state, which may be empty."""
    cursor: bytes
    """Resumes the stream after this batch. Store it together with the results of the events. A program that is restarted there
    misses no event and receives none twice."""
    tables: dict[str, Table]
    """With tables=True: the events as tables, by kind."""

    def __init__(self, response: stream_pb2.StreamEventsResponse) -> None:
        self.state = response.HasField("state")
        self.complete = response.state.complete
        batch = response.state if self.state else response.batch
        self._name = name = batch.WhichOneof("events")
        if name is None and not self.state and not batch.tables:  # a state may be empty
            raise NotImplementedError("the events have a format that is newer than this client: install a newer one")
        self._response = response
        self.first_sequence = response.batch.first_sequence
        self.next_sequence = response.batch.next_sequence
        self.cursor = response.cursor
        self.tables = tables_of(batch)
        self._classes = _classes[name]

    # What follows is made when it is first asked for.

    @cached_property
    def _list(self) -> Any:
        """The list of the format's events."""
        if self._name is None:
            return None
        found = getattr(self._response.state if self.state else self._response.batch, self._name)
        return type(getattr(stream_pb2.EventBatch(), self._name)).FromString(found) if isinstance(found, bytes) else found

    @cached_property
    def events(self) -> Sequence[M_co]:
        """The generated messages. Empty with tables=True."""
        return self._list.events if self._list else ()

    @cached_property
    def strings(self) -> Sequence[str]:
        """The strings to which fields marked string_index refer."""
        return getattr(self._list, "strings", ())

    @cached_property
    def _kinds(self) -> list[str | None]:
        """The kinds of the events. Their messages are made once more for each that is read: to keep them takes longer."""
        return list(map(_kind, self.events))

    @cached_property
    def _places(self) -> list[tuple[int, int]]:
        """The positions of the events."""
        return [(0, 0)] * len(self) if self.state else list(_positions(self._response.batch))

    def only(self, nth: int, strings: Sequence[str]) -> Batch[E_co, M_co]:
        """A batch that has nothing but what one of the events needs, at the same place. strings are a copy of those of the batch, which is
        for all of its events."""
        event: Any = type(self.events[nth])()
        event.CopyFrom(self.events[nth])
        return _of_one(event, nth, self._places[nth], self.first_sequence, strings, self.state, self._classes)

    def __len__(self) -> int:
        if self.tables:
            return sum(map(len, self.tables.values()))
        return len(self.events) if self.state else self.next_sequence - self.first_sequence

    def __iter__(self) -> Iterator[E_co]:
        events: Any = made(self, range(len(self)))
        return events  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"<Batch {'state' if self.state else f'{self.first_sequence}..{self.next_sequence}'}>"


_kind = methodcaller("WhichOneof", "kind")


def _of_one(
    event: Message, nth: int, place: tuple[int, int], first: int, strings: Sequence[str], state: bool, classes: dict[str, type[Event]]
) -> Batch:
    """A batch of one event, at a place in it."""
    batch = Batch[Any].__new__(Batch)
    vars(batch).update(
        first_sequence=first, state=state, strings=strings, events={nth: event}, _places={nth: place}, _kinds={nth: _kind(event)},
        _classes=classes,
    )  # fmt: skip
    return batch


def made(batch: Batch, numbers: range) -> Iterator[Event]:
    """Makes events of a batch. A call of __init__ would take longer than all of it."""
    if batch.tables:
        raise TypeError("the batch has tables instead of events: use batch.tables")
    for event, nth in zip(map(object.__new__, repeat(Event)), numbers):
        event._batch = batch
        event._nth = nth
        yield event


_classes: dict[str | None, dict[str, type[Event]]] = {None: {}}
"""The classes of each format."""


class Format(Generic[E_co, B_co]):
    """A format of replays. For type checkers it carries the types of its events and batches. Instances are in replayd.events."""

    def __init__(self, name: str, classes: Iterable[type[Event]]) -> None:
        self.name = name
        """The name of the format's field in EventBatch, such as "teehistorian"."""
        self.classes = _classes[name] = {vars(of)["kind"]: of for of in classes}
        """The class of each kind's events, and, without a name, that of unknown kinds."""


# The fields of a message type that hold string indices, by name. The value is None for an index, or the type of a nested message.
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
