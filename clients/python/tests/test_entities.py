"""Tests replayd.entities with generated events."""

from __future__ import annotations

from typing import Any

from replayd import Event
from replayd.dem.v1 import events_pb2 as dem
from replayd.entities import NO_ENTITY, EntityState

NAMES = (
    "CHero m_iHealth m_list m_list.0000 m_list.0001.m_n m_p m_p.m_x m_sName m_hOwner CBodyComponent CBodyComponent.place "
    "m_pEntity.m_nameStringableIndex m_vec"
).split()


def told(values: dict[str, Any]) -> list[dem.FieldValue]:
    out = []
    for name, value in values.items():
        case = {bool: "bool", int: "uint", float: "float", str: "text", tuple: "vector", type(None): None}[type(value)]
        if isinstance(value, tuple):
            value = dem.Vector(x=value[0], y=value[1], z=value[2])
        if name == "m_hOwner":
            case = "handle"
        out.append(dem.FieldValue(field=NAMES.index(name), **({case: value} if case else {})))
    return out


def event(kind: str, index: int = 7, serial: int = 5, **rest: Any) -> Event:
    message = getattr(dem, "".join(part.title() for part in kind.split("_")))
    return Event(0, dem.Event(**{kind: message(index=index, serial=serial, **rest)}), NAMES)


def test_state() -> None:
    state = EntityState()

    def after(kind: str, values: dict[str, Any] | None = None, **rest: Any) -> dict[str, Any]:
        if values is not None:
            rest["fields"] = told(values)
        entity = state.apply(event(kind, **rest))
        assert entity is not None
        return entity.fields

    first = {"m_iHealth": 100, "m_list": 2, "m_list.0000": "a", "m_list.0001.m_n": 4, "m_p": True, "m_p.m_x": 6}
    assert after("entity_created", first) == first
    assert after("entity_updated", {"m_list": 1}).keys() == {"m_iHealth", "m_list", "m_list.0000", "m_p", "m_p.m_x"}
    assert state[7].list("m_list") == ["a"]
    assert after("entity_updated", {"m_p": False}).keys() == {"m_iHealth", "m_list", "m_list.0000", "m_p"}
    assert after("entity_updated", {"m_list": None, "m_iHealth": None}) == {"m_p": False}  # values that became unknown
    assert after("entity_left") == {"m_p": False} and not state[7].in_view
    assert after("entity_entered", {"m_iHealth": 3}) == {"m_p": False, "m_iHealth": 3} and state[7].in_view
    assert after("entity_entered", {"m_vec": (1.0, 2.0, 3.0)}, full=True, out_of_view=True) == {"m_vec": (1.0, 2.0, 3.0)}
    assert not state[7].in_view
    assert after("entity_created", {"m_sName": "new", "m_hOwner": 9 | 1 << 14}, serial=6) == {
        "m_sName": "new",
        "m_hOwner": 9 | 1 << 14,
    }
    there = told({"CBodyComponent": True, "CBodyComponent.place": (258.5, 0.0, 1.0)})
    called = dem.FieldValue(field=NAMES.index("m_pEntity.m_nameStringableIndex"), int=7, name="npc_dota_hero_axe")
    odd = dem.FieldValue(field=1, uint=7, unproven=True)
    state.apply(event("entity_created", 9, 1, fields=[*there, called, odd]))
    assert state[9].place() == (258.5, 0, 1) and state[7].place() is None
    assert state[9].name == "npc_dota_hero_axe" and state[9].unproven == {"m_iHealth"} and state[7].name == ""
    others = {"m_pEntity.m_nameStringableIndex": 8, "m_iHealth": 9, "CBodyComponent.place": None}
    state.apply(event("entity_updated", 9, 1, fields=told(others)))
    assert state[9].place() is None and state[9].name == "" and state[9].unproven == set()
    state.apply(event("entity_updated", 9, 1, fields=[*there, called, odd]))
    state.apply(event("entity_updated", 9, 1, fields=told({"CBodyComponent": False})))
    assert state[9].place() is None and state[9].name
    state.apply(event("entity_entered", 9, 1, full=True, fields=told({"m_iHealth": 1})))
    assert state[9].name == "" and state[9].unproven == set()
    owner = state.by_handle(state[7].get("m_hOwner"))
    assert owner is state[9]
    assert state.by_handle(7 | 5 << 14) is None and state.by_handle(NO_ENTITY) is None
    assert [e.index for e in state.of_class("CH*")] == [7, 9] and state.of_class("CX*") == []
    assert state.named("m_sName", "new") == [state[7]]
    state.apply(event("entity_deleted", serial=6))
    assert list(state) == [9] and len(state) == 1
    assert state.apply(Event(0, dem.Event(stop=dem.Stop()))) is None


def test_lengths_of_lists() -> None:
    state = EntityState()
    state.apply(event("entity_created", fields=told({"m_list": 1 << 60, "m_sName": "x"})))
    assert state[7].list("m_list") == [None] * 16384
    assert state[7].list("m_sName") == [] == state[7].list("m_p")
