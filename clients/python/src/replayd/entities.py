"""The state of the entities of a Source 2 demo, which its events change piece by piece.

    import replayd
    from replayd.entities import EntityState

    with replayd.connect("localhost:7171") as client:
        state = EntityState()
        for event in client.events("game.dem", kinds=EntityState.KINDS):
            state.apply(event)
            for hero in state.of_class("CDOTA_Unit_Hero_*"):
                print(event.tick, hero.name, hero.get("m_iHealth"), hero.place())

A stream must begin at the demo's beginning, or with the state at the place where it begins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, ClassVar

from ._event import Event
from .events import dem

Value = int | float | bool | str | bytes | tuple[float, ...]
"""The value of a field: handles and enums are numbers, vectors and angles tuples."""

NO_ENTITY = (1 << 24) - 1
"""The handle of no entity."""


@dataclass
class Entity:
    """What is known of an entity."""

    index: int
    """Its slot."""
    serial: int
    """Differs between the entities that use a slot one after the other."""
    class_name: str
    """The name of its class."""
    in_view: bool = True
    """Whether it is within the recorder's view."""
    fields: dict[str, Value] = field(default_factory=dict)
    """Its values by full name. Those that are not known are not there."""
    names: dict[str, str] = field(default_factory=dict)
    """What the numbers of some fields stand for, by the fields' names: a hero, an item, an ability."""
    unproven: set[str] = field(default_factory=set)
    """The fields whose numbers may as well be others: nobody knows their types."""

    @property
    def name(self) -> str:
        """What it is called, such as "npc_dota_hero_axe" or "item_blink"; nothing where the demo does not say."""
        return self.names.get("m_pEntity.m_nameStringableIndex", "")

    def get(self, name: str, default: Any = None) -> Any:
        """A field's value."""
        return self.fields.get(name, default)

    def list(self, name: str) -> list[Any]:
        """The elements of a list of values, with None for those that are not known: at most 16384, however long the demo
        says that the list is."""
        length = self.fields.get(name)
        count = min(length, 1 << 14) if isinstance(length, int) else 0
        return [self.fields.get(f"{name}.{i:04}") for i in range(count)]

    def place(self) -> tuple[float, float, float] | None:
        """Where it is, in world units: the field CBodyComponent.place. None when the demo does not say, and while it hangs on
        another entity."""
        at: Any = self.fields.get("CBodyComponent.place")
        return at  # type: ignore[no-any-return]

    def forget(self, name: str) -> None:
        """Forgets a field."""
        self.fields.pop(name, None)
        self.names.pop(name, None)
        self.unproven.discard(name)


class EntityState(Mapping[int, Entity]):
    """The state of all entities, by their slots."""

    KINDS: ClassVar[tuple[dem.Kind, ...]] = ("entity_created", "entity_updated", "entity_entered", "entity_left", "entity_deleted")
    """The kinds of events that it needs."""

    def __init__(self) -> None:
        self._entities: dict[int, Entity] = {}
        # The names of lists and objects: those that have fields below them.
        self._parents: set[str] = set()

    def __getitem__(self, index: int) -> Entity:
        return self._entities[index]

    def __iter__(self) -> Iterator[int]:
        return iter(sorted(self._entities))

    def __len__(self) -> int:
        return len(self._entities)

    def apply(self, event: Event[Any]) -> Entity | None:
        """Updates the state by an event; events of other kinds change nothing. Returns the entity of the event, also when it
        is deleted now."""
        kind = event.kind
        if kind not in self.KINDS:
            return None
        value = event.value
        if kind == "entity_deleted":
            return self._entities.pop(value.index, None)
        if kind == "entity_created":
            self._entities.pop(value.index, None)
        class_name = event.string(getattr(value, "class"))
        entity = self._entities.get(value.index)
        if entity is None or entity.serial != value.serial or entity.class_name != class_name:
            entity = self._entities[value.index] = Entity(value.index, value.serial, class_name)
        if kind == "entity_left":
            entity.in_view = False
            return entity
        if kind == "entity_entered":
            entity.in_view = not value.out_of_view
            if value.full:
                entity.fields.clear()
                entity.names.clear()
                entity.unproven.clear()
        self._take(entity, event, value.fields)
        return entity

    def _take(self, entity: Entity, event: Event[Any], fields: Any) -> None:
        for change in fields:
            name = event.string(change.field)
            at = name.find(".")
            while at >= 0:
                self._parents.add(name[:at])
                at = name.find(".", at + 1)
            value = _plain(change)
            if name in self._parents:
                _drop(entity, name, value)
            entity.forget(name)
            if value is None:
                continue
            entity.fields[name] = value
            if change.name:
                entity.names[name] = change.name
            if change.unproven:
                entity.unproven.add(name)

    def by_handle(self, handle: int) -> Entity | None:
        """The entity that a handle names; None when it is gone or there is none."""
        entity = self._entities.get(handle & 0x3FFF)
        if entity is None or handle & NO_ENTITY == NO_ENTITY or entity.serial & 0x3FF != handle >> 14 & 0x3FF:
            return None
        return entity

    def of_class(self, pattern: str) -> list[Entity]:
        """The entities whose class matches a pattern, such as "CDOTA_Unit_Hero_*", in the order of their slots."""
        return [entity for entity in self.values() if fnmatchcase(entity.class_name, pattern)]

    def named(self, field: str, name: str) -> list[Entity]:
        """The entities that have a name in a field, such as "m_iszPlayerName", in the order of their slots."""
        return [entity for entity in self.values() if entity.fields.get(field) == name]


def _drop(entity: Entity, parent: str, value: Value | None) -> None:
    """Removes what is below a list or an object that has a new value: elements beyond a list's length, and all below an
    object that is not there, or below something whose value is not known."""
    if value is True:
        return
    length = value if isinstance(value, int) else 0
    prefix = parent + "."
    for key in [key for key in entity.fields if key.startswith(prefix)]:
        first = key[len(prefix) :].partition(".")[0]
        if not first.isdecimal() or int(first) >= length:
            entity.forget(key)


def _plain(change: Any) -> Value | None:
    """A field's value; None when it is not known."""
    case = change.WhichOneof("value")
    if case is None:
        return None
    value: Any = getattr(change, case)
    if case == "vector":
        return value.x, value.y, value.z
    if case == "tuple":
        return tuple(value.values)
    return value  # type: ignore[no-any-return]
