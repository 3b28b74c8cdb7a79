"""The state of the entities of a Source 2 demo. Each event changes a part of the state.

    import replayd
    from replayd.entities import EntityState

    with replayd.connect("localhost:7171") as client:
        state = EntityState()
        for event in client.events("game.dem", kinds=EntityState.KINDS):
            state.apply(event)
            for hero in state.of_class("CDOTA_Unit_Hero_*"):
                print(event.tick, hero.name, hero.get("m_iHealth"), hero.place())

A stream must begin at the beginning of the demo, or with the state at its start.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, ClassVar

from ._event import Event
from .events import dem

Value = int | float | bool | str | bytes | tuple[float, ...]
"""The value of a field. Handles and enums are numbers. Vectors and angles are tuples."""

NO_ENTITY = (1 << 24) - 1
"""The handle that refers to no entity."""


@dataclass
class Entity:
    """The known state of an entity."""

    index: int
    """The entity's slot."""
    serial: int
    """Distinguishes the entities that use the same slot one after the other."""
    class_name: str
    """The name of the entity's class."""
    in_view: bool = True
    """Whether the entity is within the recorder's view."""
    fields: dict[str, Value] = field(default_factory=dict)
    """The entity's values by full name. Fields with an unknown value are absent."""
    names: dict[str, str] = field(default_factory=dict)
    """The meaning of the numbers of some fields, such as a hero, an item or an ability, by the fields' names."""
    unproven: set[str] = field(default_factory=set)
    """The fields whose numbers may be wrong, because the types of these fields are unknown."""

    @property
    def name(self) -> str:
        """The entity's name, such as "npc_dota_hero_axe" or "item_blink". It is empty if the demo does not contain it."""
        return self.names.get("m_pEntity.m_nameStringableIndex", "")

    def get(self, name: str, default: Any = None) -> Any:
        """Returns a field's value, or the default if the field is absent."""
        return self.fields.get(name, default)

    def list(self, name: str) -> list[Any]:
        """Returns the elements of a list of values. Unknown elements are None. It returns at most 16384 elements, whatever
        length the demo gives."""
        length = self.fields.get(name)
        count = min(length, 1 << 14) if isinstance(length, int) else 0
        return [self.fields.get(f"{name}.{i:04}") for i in range(count)]

    def place(self) -> tuple[float, float, float] | None:
        """Returns the entity's position in world units, which is the field CBodyComponent.place. It is None if the position is
        unknown, and while the entity is attached to another one."""
        at: Any = self.fields.get("CBodyComponent.place")
        return at  # type: ignore[no-any-return]

    def forget(self, name: str) -> None:
        """Removes a field."""
        self.fields.pop(name, None)
        self.names.pop(name, None)
        self.unproven.discard(name)


class EntityState(Mapping[int, Entity]):
    """The state of all entities, by their slots."""

    KINDS: ClassVar[tuple[dem.Kind, ...]] = ("entity_created", "entity_updated", "entity_entered", "entity_left", "entity_deleted")
    """The kinds of events that the state needs."""

    def __init__(self) -> None:
        self._entities: dict[int, Entity] = {}
        # The names of lists and objects, which are the fields that have fields below them.
        self._parents: set[str] = set()

    def __getitem__(self, index: int) -> Entity:
        return self._entities[index]

    def __iter__(self) -> Iterator[int]:
        return iter(sorted(self._entities))

    def __len__(self) -> int:
        return len(self._entities)

    def apply(self, event: Event) -> Entity | None:
        """Updates the state by an event. Events of other kinds than KINDS change nothing. Returns the entity of the event,
        or None if there is none. It also returns an entity that the event deletes."""
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

    def _take(self, entity: Entity, event: Event, fields: Any) -> None:
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
        """Returns the entity that a handle refers to, or None if the entity does not exist any more or never did."""
        entity = self._entities.get(handle & 0x3FFF)
        if entity is None or handle & NO_ENTITY == NO_ENTITY or entity.serial & 0x3FF != handle >> 14 & 0x3FF:
            return None
        return entity

    def of_class(self, pattern: str) -> list[Entity]:
        """Returns the entities whose class matches a pattern, such as "CDOTA_Unit_Hero_*", in the order of their slots."""
        return [entity for entity in self.values() if fnmatchcase(entity.class_name, pattern)]

    def named(self, field: str, name: str) -> list[Entity]:
        """Returns the entities with a field, such as "m_iszPlayerName", that equals a name, in the order of their slots."""
        return [entity for entity in self.values() if entity.fields.get(field) == name]


def _drop(entity: Entity, parent: str, value: Value | None) -> None:
    """Removes fields below a list or an object that has a new value. It removes the elements beyond a list's new length. It
    removes all fields below an object that is absent now, or whose value is unknown."""
    if value is True:
        return
    length = value if isinstance(value, int) else 0
    prefix = parent + "."
    for key in [key for key in entity.fields if key.startswith(prefix)]:
        first = key[len(prefix) :].partition(".")[0]
        if not first.isdecimal() or int(first) >= length:
            entity.forget(key)


def _plain(change: Any) -> Value | None:
    """Returns a field's value, or None if the value is unknown."""
    case = change.WhichOneof("value")
    if case is None:
        return None
    value: Any = getattr(change, case)
    if case == "vector":
        return value.x, value.y, value.z
    if case == "tuple":
        return tuple(value.values)
    return value  # type: ignore[no-any-return]
