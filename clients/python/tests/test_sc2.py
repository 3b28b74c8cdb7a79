"""Tests of replayd.sc2 with constructed events."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from replayd.events import sc2replay
from replayd.sc2 import ActionsPerMinute, Selections, Supply, build_order
from replayd.sc2replay.v1 import events_pb2 as sc2


def event(tick: int, **kind: Any) -> sc2replay.Event:
    player = sc2.PlayerRef(user_id=0, player_id=1, slot=0, name="Alice")
    made: Any = sc2replay.FORMAT.classes[next(iter(kind))](0, sc2.Event(at_tick=tick, player=player, **kind))
    return made  # type: ignore[no-any-return]


def selection(group: int = 10, add: Iterable[int] = (), **removed: Any) -> sc2.SelectionDelta:
    return sc2.SelectionDelta(control_group_id=group, add_unit_tags=[sc2.Unit(tag=tag) for tag in add], **removed)


def update(number: int, action: str, **removed: Any) -> sc2.ControlGroupUpdate:
    value = sc2.ControlGroupAction.Value(f"CONTROL_GROUP_ACTION_{action}")
    return sc2.ControlGroupUpdate(control_group_index=number, control_group_update=value, **removed)


def test_selections() -> None:
    selections = Selections()

    def after(change: sc2.SelectionDelta | sc2.ControlGroupUpdate) -> list[int]:
        """The tags of the selection after a change."""
        if isinstance(change, sc2.SelectionDelta):
            selections.apply(event(1, selection_delta=change))
        else:
            selections.apply(event(1, control_group_update=change))
        return [unit.tag for unit in selections.selected(0)]

    def group(number: int) -> list[int]:
        return [unit.tag for unit in selections.group(0, number)]

    assert after(selection(add=[7, 3, 5])) == [3, 5, 7]  # sorted by tag
    assert after(selection(add=[5])) == [3, 5, 7]  # each once
    assert after(update(1, "SET")) == [3, 5, 7]
    mask = sc2.BitMask(size=2, bits=b"\x02")  # removes the second unit; masks end with the last bit that is set
    assert after(selection(mask=mask, add=[9])) == [3, 7, 9]
    assert group(1) == [3, 5, 7]
    assert after(selection(one_indices=sc2.Indices(index=[0, 2]))) == [7]
    assert after(selection(zero_indices=sc2.Indices(), add=[11])) == [11]  # removes all previous units
    assert after(update(1, "APPEND", mask=sc2.BitMask(size=1, bits=b"\x01"))) == [11]
    assert group(1) == [5, 7, 11]
    assert after(update(1, "RECALL", one_indices=sc2.Indices(index=[1]))) == [5, 11]
    assert group(1) == [5, 7, 11]  # a recall does not change the group
    assert after(update(2, "SET_AND_STEAL")) == [5, 11]
    assert group(1) == [5, 7, 11]  # a separate selection_delta removes the stolen units
    assert after(selection(group=1, one_indices=sc2.Indices(index=[0, 2]))) == [5, 11]
    assert group(1) == [7] and group(2) == [5, 11]
    assert after(update(2, "CLEAR")) == [5, 11]
    assert group(2) == [] and selections.selected(1) == []
    wide = sc2.BitMask(size=10, bits=b"\x00\x02")  # the tenth
    assert after(selection(add=range(20, 28))) == [5, 11, *range(20, 28)]
    assert after(selection(mask=wide)) == [5, 11, *range(20, 27)]


def test_actions_per_minute() -> None:
    actions = ActionsPerMinute()
    version = sc2.Version(build=97563)
    actions.apply(event(0, start=sc2.Start(version=version, elapsed_game_loops=22400)))
    assert actions.sc2reader(0) == 0 and actions.blizzard(0) is None
    actions.apply(event(0, player_info=sc2.PlayerInfo(apm=345)))
    actions.apply(event(5, cmd=sc2.Cmd()))
    actions.apply(event(6, cmd_update_target_point=sc2.CmdUpdateTargetPoint()))
    actions.apply(event(7, camera_update=sc2.CameraUpdate()))  # not an action
    assert actions.blizzard(0) == 345
    assert round(actions.sc2reader(0), 6) == round(2 * 1.4 / 1000 * 60, 6)
    actions.apply(event(1600, game_user_leave=sc2.GameUserLeave()))
    assert round(actions.sc2reader(0), 6) == round(2 * 1.4 / 100 * 60, 6)


def unit(tag: int, name: str, unit_class: int = 0) -> Any:
    of_class: dict[str, Any] = {"class": unit_class}  # "class" is a keyword
    return sc2.Unit(tag=tag, type_name=name, **of_class)


def test_build_order() -> None:
    army, structure = sc2.UNIT_CLASS_ARMY, sc2.UNIT_CLASS_STRUCTURE
    supply = Supply()
    events = [
        event(0, unit_born=sc2.UnitBorn(unit=unit(1, "Hatchery", structure))),
        event(1, player_stats=sc2.PlayerStats(player_id=1, food_used=12)),
        event(160, player_stats=sc2.PlayerStats(player_id=1, food_used=14)),
        event(200, unit_init=sc2.UnitInit(unit=unit(2, "SpawningPool", structure))),
        event(250, unit_init=sc2.UnitInit(unit=unit(3, "Extractor", structure))),
        event(320, player_stats=sc2.PlayerStats(player_id=1, food_used=15.5)),
        event(384, unit_born=sc2.UnitBorn(unit=unit(4, "Zergling", army), started_tick=100)),
        event(400, unit_done=sc2.UnitDone(unit=unit(2, "SpawningPool", structure))),
        event(500, unit_type_change=sc2.UnitTypeChange(unit=unit(4, "ZerglingBurrowed", army), previous_type_name="Zergling")),
        event(600, unit_type_change=sc2.UnitTypeChange(unit=unit(1, "Lair", structure), previous_type_name="Hatchery")),
        event(700, unit_type_change=sc2.UnitTypeChange(unit=unit(4, "Baneling", army), started_tick=620)),
        event(800, upgrade=sc2.Upgrade(player_id=1, upgrade_type_name="zerglingmovementspeed")),
    ]
    for each in events:
        supply.apply(each)
    got = [(s.tick, s.begun, s.done, s.name, s.upgrade, s.unit_class, s.supply) for s in build_order(events)]
    assert got == [
        (100, True, 384, "Zergling", False, army, 12),
        (200, True, 400, "SpawningPool", False, structure, 14),
        (250, True, None, "Extractor", False, structure, 14),
        (600, False, 600, "Lair", False, structure, 15.5),
        (620, True, 700, "Baneling", False, army, 15.5),
        (800, False, 800, "zerglingmovementspeed", True, 0, 15.5),
    ]
    assert supply.used(1) == 15.5 and supply.used(1, 159) == 12 and supply.used(1, 0) is None and supply.used(2) is None
