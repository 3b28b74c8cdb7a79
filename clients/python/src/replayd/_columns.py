"""Frequent and uniform events as arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Generic

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from typing_extensions import TypeVar

from ._packed import array, packed

if TYPE_CHECKING:
    from numpy.typing import NDArray

N = TypeVar("N", bound=str, default=str)
M_co = TypeVar("M_co", bound=Message, default=Message, covariant=True)

_SUFFIX = "_columns"

# With at least this many events, an array is decoded from the columns' wire bytes. With fewer it is faster to convert the numbers
# one by one.
_MANY = 512


class Columns(Generic[N, M_co]):
    """A batch's events of one kind, with an array for each field. The n-th elements of all arrays are one event.

    `columns["x"]` creates a numpy array. The array `place` holds the index of each event in the batch, and `at_tick` its tick.
    Without numpy use `message`, the generated message, whose fields are sequences.
    """

    __slots__ = ("kind", "message", "_packed")

    kind: str
    """The kind of the events, such as "player_diff"."""
    message: M_co
    """The generated message, such as replayd.teehistorian.v1.events_pb2.PlayerDiffColumns."""

    def __init__(self, kind: str, message: M_co) -> None:
        self.kind = kind
        self.message = message
        self._packed: dict[int, memoryview] | None = None

    def __len__(self) -> int:
        return len(self.message.place)  # type: ignore[attr-defined]

    def __getitem__(self, name: N) -> NDArray[Any]:
        field = _field(self.message, name)
        if len(self) < _MANY:
            return array(field, getattr(self.message, name))
        if self._packed is None:
            self._packed = packed(self.message)
        return array(field, self._packed.get(field.number, b""))

    def keys(self) -> list[N]:
        """The names of the arrays."""
        names: list[Any] = [field.name for field in self.message.DESCRIPTOR.fields]
        return names

    def __iter__(self) -> Iterator[N]:
        return iter(self.keys())

    def __repr__(self) -> str:
        return f"<Columns {self.kind}: {len(self)} events>"


def columns_of(events: Message) -> dict[str, Columns]:
    """The columns of an event list."""
    return {
        field.name.removesuffix(_SUFFIX): Columns(field.name.removesuffix(_SUFFIX), value)
        for field, value in events.ListFields()
        if field.name.endswith(_SUFFIX) and len(value.place)
    }


def rows(events: Message, columns: dict[str, Columns]) -> list[Any]:
    """All events of a batch as messages, in order."""
    ordered: list[Any] = [None] * (len(events.events) + sum(map(len, columns.values())))  # type: ignore[attr-defined]
    descriptor: Any = events.DESCRIPTOR
    row = GetMessageClass(descriptor.fields_by_name["events"].message_type)
    for kind, those in columns.items():
        names = [field.name for field in those.message.DESCRIPTOR.fields if field.name != "place"]
        targets = [_target(descriptor.fields_by_name["events"].message_type, kind, name) for name in names]
        arrays = [getattr(those.message, name) for name in names]
        for place, *values in zip(those.message.place, *arrays, strict=True):  # type: ignore[attr-defined]
            event: Any = row()
            ordered[place] = event
            getattr(event, kind).SetInParent()
            for target, value in zip(targets, values, strict=True):
                inner = event
                for step in target[:-1]:
                    inner = getattr(inner, step)
                    inner.SetInParent()
                setattr(inner, target[-1], value)
    others = iter(events.events)  # type: ignore[attr-defined]
    return [next(others) if event is None else event for event in ordered]


def _target(event: Descriptor, kind: str, name: str) -> list[str]:
    """The path of a column's field in an event. `input_target_x` is InputDiff.input.target_x."""
    if name in event.fields_by_name:
        return [name]
    path = _path(event.fields_by_name[kind].message_type, name)
    if path is None:
        raise NotImplementedError(f"column {name} of {kind} is newer than this client: install a newer one")
    return [kind, *path]


def _path(message: Descriptor | None, name: str) -> list[str] | None:
    if message is None:
        return None
    if name in message.fields_by_name:
        return [name]
    for field in message.fields:
        if field.message_type is not None and name.startswith(field.name + "_"):
            rest = _path(field.message_type, name[len(field.name) + 1 :])
            if rest is not None:
                return [field.name, *rest]
    return None


def _field(message: Message, name: str) -> FieldDescriptor:
    field = message.DESCRIPTOR.fields_by_name.get(name)
    if field is None:
        raise KeyError(name)
    return field  # type: ignore[return-value]
