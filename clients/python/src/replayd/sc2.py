"""Facts of StarCraft II replays that are computed from several events.

    import replayd
    from replayd.events import sc2replay
    from replayd.sc2 import Selections

    with replayd.connect("localhost:7171") as client:
        selections = Selections()
        kinds: list[sc2replay.Kind] = [*Selections.KINDS, "cmd"]
        for event in client.events("game.SC2Replay", format=sc2replay.FORMAT, kinds=kinds):
            selections.apply(event)
            if event.kind == "cmd":
                units = selections.selected(event.event.player.user_id)
                print(event.tick, event.event.player.name, event.value.abil.name, [unit.type_name for unit in units])

Pass every event to each helper, in order. A helper needs the kinds in its KINDS, so a filter must include them. The stream must
start at the beginning of the replay, or, for GameState, with the state. Everything is computed from the replay alone. Ticks are
game loops.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from .events import sc2replay
from .sc2replay.v1 import events_pb2 as sc2

_SELECTION = 10
"""The number by which events refer to the current selection, which they treat as a control group."""


def _user(event: sc2replay.Event) -> int:
    """The number of the user who caused an event. Replays without a lobby have only the player's number."""
    player = event.event.player
    return player.user_id if player.HasField("user_id") else player.player_id


class Selections:
    """The units in users' selections and control groups.

    A dead unit stays in a list until the game removes it, which happens when the list is next used.
    """

    KINDS: ClassVar[tuple[sc2replay.Kind, ...]] = ("selection_delta", "control_group_update")

    def __init__(self) -> None:
        self._lists: dict[tuple[int, int], list[sc2.Unit]] = {}

    def selected(self, user: int) -> list[sc2.Unit]:
        """The units that a user has selected, by ascending tag. Their types are those at the time of the selection."""
        return self.group(user, _SELECTION)

    def group(self, user: int, number: int) -> list[sc2.Unit]:
        """The units in a user's control group, 0 to 9, by ascending tag."""
        return list(self._lists.get((user, number), ()))

    def apply(self, event: sc2replay.Event) -> None:
        """Updates the helper with an event. It ignores events of other kinds."""
        if event.kind == "selection_delta":
            delta: sc2.SelectionDelta = event.value
            key = _user(event), delta.control_group_id
            self._lists[key] = _with(_without(self._lists.get(key, []), delta), delta.add_unit_tags)
        elif event.kind == "control_group_update":
            self._update(_user(event), event.value)

    def _update(self, user: int, update: sc2.ControlGroupUpdate) -> None:
        group, selection = (user, update.control_group_index), (user, _SELECTION)
        units = _without(self._lists.get(group, []), update)
        selected = self._lists.get(selection, [])
        action = update.control_group_update
        # For each group that loses units to another, the replay has a separate selection_delta.
        if action in (sc2.CONTROL_GROUP_ACTION_SET, sc2.CONTROL_GROUP_ACTION_SET_AND_STEAL):
            self._lists[group] = selected
        elif action in (sc2.CONTROL_GROUP_ACTION_APPEND, sc2.CONTROL_GROUP_ACTION_APPEND_AND_STEAL):
            self._lists[group] = _with(units, selected)
        elif action == sc2.CONTROL_GROUP_ACTION_RECALL:
            self._lists[selection] = units
        elif action == sc2.CONTROL_GROUP_ACTION_CLEAR:
            self._lists.pop(group, None)


def _without(units: list[sc2.Unit], change: sc2.SelectionDelta | sc2.ControlGroupUpdate) -> list[sc2.Unit]:
    """A list without the units that a change removes."""
    removed = change.WhichOneof("remove_mask")
    if removed == "mask":
        bits = change.mask.bits
        return [u for i, u in enumerate(units) if i >= change.mask.size or not bits[i // 8] >> i % 8 & 1]
    if removed == "one_indices":
        gone = set(change.one_indices.index)
        return [u for i, u in enumerate(units) if i not in gone]
    if removed == "zero_indices":
        kept = set(change.zero_indices.index)
        return [u for i, u in enumerate(units) if i in kept]
    return units


def _with(units: Iterable[sc2.Unit], added: Iterable[sc2.Unit]) -> list[sc2.Unit]:
    """A list with units added, without duplicates, by ascending tag."""
    together = {unit.tag: unit for unit in units} | {unit.tag: unit for unit in added}
    return [together[tag] for tag in sorted(together)]


class Supply:
    """The supply of players. It comes from player_stats, which replays have every 160 game loops since version 2.0.8."""

    KINDS: ClassVar[tuple[sc2replay.Kind, ...]] = ("player_stats",)

    def __init__(self) -> None:
        self._stats: dict[int, list[tuple[int, sc2.PlayerStats]]] = {}

    def apply(self, event: sc2replay.Event) -> None:
        """Updates the helper with an event. It ignores events of other kinds."""
        if event.kind == "player_stats":
            self._stats.setdefault(event.value.player_id, []).append((event.tick, event.value))

    def used(self, player: int, tick: int | None = None) -> float | None:
        """The supply that a player's units used at a tick, by default the latest. None before the first player_stats."""
        stats = self.stats(player, tick)
        return None if stats is None else stats.food_used

    def stats(self, player: int, tick: int | None = None) -> sc2.PlayerStats | None:
        """The last player_stats of a player at or before a tick, by default the latest. None before the first."""
        for at, stats in reversed(self._stats.get(player, ())):
            if tick is None or at <= tick:
                return stats
        return None


class ActionsPerMinute:
    """Actions per minute, as Blizzard's client and as sc2reader count them.

    Blizzard's number counts every click and key press, of which a replay holds only a part. It comes from the summary that clients
    add to replays since version 3.7, so older replays have none. sc2reader's number counts orders, selections and uses of control
    groups, per minute at the speed "Faster".
    """

    KINDS: ClassVar[tuple[sc2replay.Kind, ...]] = (
        "start", "player_info", "cmd", "cmd_update_target_point", "cmd_update_target_unit", "selection_delta",
        "control_group_update", "game_user_leave", "player_leave",
    )  # fmt: skip
    _ACTIONS: ClassVar[frozenset[str]] = frozenset(KINDS[2:7])

    def __init__(self) -> None:
        self._actions: dict[int, int] = {}
        self._left: dict[int, int] = {}
        self._blizzard: dict[int, float] = {}
        self._seconds = 0

    def apply(self, event: sc2replay.Event) -> None:
        """Updates the helper with an event. It ignores events of other kinds."""
        if event.kind in self._ACTIONS:
            user = _user(event)
            self._actions[user] = self._actions.get(user, 0) + 1
        elif event.kind in ("game_user_leave", "player_leave"):
            self._left[_user(event)] = event.tick // 16
        elif event.kind == "player_info":
            if event.value.HasField("apm"):
                self._blizzard[_user(event)] = event.value.apm
        elif event.kind == "start":
            start: sc2.Start = event.value
            # sc2reader assumes that all games since version 3.0 were played at "Faster".
            loops = 22.4 if start.version.build >= 34784 else 16
            self._seconds = int(start.elapsed_game_loops / loops)

    def blizzard(self, user: int) -> float | None:
        """A user's actions per minute as Blizzard's client counts them. None if the replay has no summary."""
        return self._blizzard.get(user)

    def sc2reader(self, user: int) -> float:
        """A user's actions per minute as sc2reader's APMTracker computes them (avg_apm). 0 without actions."""
        seconds = self._left.get(user, self._seconds)
        return self._actions.get(user, 0) * 1.4 / seconds * 60 if seconds else 0.0


@dataclass(frozen=True)
class Step:
    """A step of a build order: a unit, structure or upgrade that a player made."""

    tick: int
    """The tick when it was begun if the replay contains that, otherwise the tick when it was finished."""
    begun: bool
    """Whether tick is when it was begun. True for structures, for units that are warped in or hatch, and for morphs with a cocoon.
    A replay does not contain when a structure begins to train a unit or to research an upgrade."""
    done: int | None
    """The tick when it was finished. None if it never was."""
    player: int
    """The player's number."""
    name: str
    """The name of the unit type or the upgrade in the replay."""
    upgrade: bool
    """True for an upgrade, False for a unit or a structure."""
    unit_class: int
    """The UnitClass of a unit. 0 for upgrades and for units without a class, such as larvae."""
    supply: float | None
    """The supply that the player's units used at that tick, from the last player_stats. None before the first."""


BUILD_KINDS: tuple[sc2replay.Kind, ...] = (
    "unit_born", "unit_init", "unit_done", "unit_type_change", "upgrade", *Supply.KINDS,
)  # fmt: skip
"""The kinds that build_order needs."""


def build_order(events: Iterable[sc2replay.Event]) -> Iterator[Step]:
    """Yields the steps of all players by ascending tick, after reading all events. Units that exist from the beginning and units
    without an owner are not steps."""
    supply = Supply()
    steps: list[tuple[int, bool, int | None, int, str, bool, int]] = []
    open_: dict[int, int] = {}  # unfinished units: tag to index in steps
    for event in events:
        supply.apply(event)
        player = event.event.player.player_id
        if event.tick == 0 or not player:
            continue
        if event.kind == "unit_init":
            unit = event.value.unit
            open_[unit.tag] = len(steps)
            steps.append((event.tick, True, None, player, unit.type_name, False, _class(unit)))
        elif event.kind == "unit_done":
            if (at := open_.pop(event.value.unit.tag, None)) is not None:
                steps[at] = (*steps[at][:2], event.tick, *steps[at][3:])
        elif event.kind == "unit_born" or event.kind == "unit_type_change":
            made = event.value
            if isinstance(made, sc2.UnitBorn) or _is_made(made):
                begun = made.HasField("started_tick")
                tick = made.started_tick if begun else event.tick
                steps.append((tick, begun, event.tick, player, made.unit.type_name, False, _class(made.unit)))
        elif event.kind == "upgrade":
            steps.append((event.tick, False, event.tick, player, event.value.upgrade_type_name, True, 0))
    for tick, begun, done, player, name, upgrade, unit_class in sorted(steps, key=lambda step: step[0]):
        yield Step(tick, begun, done, player, name, upgrade, unit_class, supply.used(player, tick))


def _class(unit: sc2.Unit) -> int:
    number: int = getattr(unit, "class")  # "class" is a keyword
    return number


_ADVANCED = frozenset((
    "OrbitalCommand", "PlanetaryFortress", "Lair", "Hive", "GreaterSpire", "WarpGate",
))  # fmt: skip
"""Structures that other structures morph into without a cocoon."""


def _is_made(change: sc2.UnitTypeChange) -> bool:
    """Whether a change of type makes a new unit or structure. Lifting off, burrowing and the like do not."""
    return change.HasField("started_tick") or (
        change.unit.type_name in _ADVANCED and not change.previous_type_name.startswith(change.unit.type_name)
    )


class GameState:
    """The state of a game after the events so far: the units alive, and the players' economy and upgrades.

        with replayd.connect("localhost:7171") as client:
            state = GameState()
            for event in client.events("game.SC2Replay", tick=8000, with_state=True, kinds=GameState.KINDS):
                state.apply(event)

    The stream must start at the beginning of the replay, or with the state at its start position. The returned messages belong to
    the GameState, and apply modifies them.
    """

    KINDS: ClassVar[tuple[sc2replay.Kind, ...]] = (
        "player_setup", "player_stats", "upgrade", "unit_born", "unit_init", "unit_done", "unit_died",
        "unit_owner_change", "unit_type_change", "unit_positions",
    )  # fmt: skip
    """The kinds of events that it needs. Those of a state come beside them."""

    def __init__(self) -> None:
        self._units: dict[int, sc2.UnitState] = {}  # by index, the high bits of the tag; at most one unit alive has an index
        self._players: dict[int, sc2.PlayerState] = {}

    def unit(self, tag: int) -> sc2.UnitState | None:
        """The unit with a tag. None if no such unit is alive."""
        unit = self._units.get(tag >> 18)
        return unit if unit is not None and unit.unit.tag == tag else None

    def units(self, player: int | None = None) -> list[sc2.UnitState]:
        """The units that are alive, or those of them that a player controls, by ascending index. Player 0 is neutral."""
        units = (self._units[index] for index in sorted(self._units))
        return [unit for unit in units if player is None or unit.control_player_id == player]

    def player(self, number: int) -> sc2.PlayerState | None:
        """A player's economy and upgrades. None before any event of the player."""
        return self._players.get(number)

    def players(self) -> list[sc2.PlayerState]:
        """All players of whom there was an event, by ascending number."""
        return [self._players[number] for number in sorted(self._players)]

    def apply(self, event: sc2replay.Event) -> None:
        """Updates the state with an event. It ignores events of other kinds."""
        value, tick = event.value, event.tick
        if isinstance(value, sc2.PlayerState):
            self._players[value.player_id] = _copy(value)
        elif isinstance(value, sc2.PlayerSetup):
            self._player(value.player_id).setup.CopyFrom(value)
        elif isinstance(value, sc2.PlayerStats):
            player = self._player(value.player_id)
            player.stats.CopyFrom(value)
            player.stats_tick = tick
        elif isinstance(value, sc2.Upgrade):
            upgrades = self._player(value.player_id).upgrades
            had = next((u for u in upgrades if u.upgrade_type_name == value.upgrade_type_name), None)
            if had is None:
                upgrades.append(value)
            else:
                had.count += value.count
        elif isinstance(value, sc2.UnitState):
            self._units[value.unit.tag >> 18] = _copy(value)
        elif isinstance(value, sc2.UnitBorn | sc2.UnitInit):
            self._appear(value, tick)
        elif isinstance(value, sc2.UnitPositions):
            for position in value.positions:
                if (unit := self.unit(position.unit.tag)) is not None:
                    unit.x, unit.y, unit.place_tick = position.x, position.y, tick
        elif isinstance(value, sc2.UnitDone | sc2.UnitDied | sc2.UnitOwnerChange | sc2.UnitTypeChange):
            if (unit := self.unit(value.unit.tag)) is not None:
                self._change(unit, value, tick)

    def _change(
        self, unit: sc2.UnitState, value: sc2.UnitDone | sc2.UnitDied | sc2.UnitOwnerChange | sc2.UnitTypeChange, tick: int
    ) -> None:
        if isinstance(value, sc2.UnitDone):
            unit.under_construction = False
        elif isinstance(value, sc2.UnitDied):
            del self._units[unit.unit.tag >> 18]
        elif isinstance(value, sc2.UnitOwnerChange):
            unit.control_player_id, unit.upkeep_player_id = value.control_player_id, value.upkeep_player_id
        else:
            unit.unit.CopyFrom(value.unit)
            unit.type_tick = tick

    def _appear(self, value: sc2.UnitBorn | sc2.UnitInit, tick: int) -> None:
        unit = sc2.UnitState(
            unit=value.unit, control_player_id=value.control_player_id, upkeep_player_id=value.upkeep_player_id,
            x=value.x, y=value.y, place_tick=tick, appeared_tick=tick, type_tick=tick,
            under_construction=isinstance(value, sc2.UnitInit),
        )  # fmt: skip
        if isinstance(value, sc2.UnitBorn):
            if value.HasField("creator"):
                unit.creator.CopyFrom(value.creator)
            if value.HasField("creator_ability_name"):
                unit.creator_ability_name = value.creator_ability_name
        self._units[value.unit.tag >> 18] = unit

    def _player(self, number: int) -> sc2.PlayerState:
        return self._players.setdefault(number, sc2.PlayerState(player_id=number))


_M = TypeVar("_M", sc2.PlayerState, sc2.UnitState)


def _copy(message: _M) -> _M:
    """A copy that may be changed, of a message that belongs to its event."""
    copy = type(message)()
    copy.CopyFrom(message)
    return copy
