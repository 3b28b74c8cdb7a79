"""Compares the results of replayd.sc2 with sc2reader and spawningtool. See README.md.

    python compare.py DIRECTORY ROOT [ADDRESS]

DIRECTORY contains the replays. The daemon serves it as the root ROOT.
"""

from __future__ import annotations

import collections
import logging
import os
import sys

import sc2reader
from sc2reader.engine.plugins import APMTracker, ContextLoader, SelectionTracker
from sc2reader.events.game import CommandEvent
from spawningtool import parser

import replayd
from replayd.sc2 import BUILD_KINDS, ActionsPerMinute, Selections, Supply, build_order

DIFFERENCES = 20  # the maximum number of differences to print

class Selected:
    """A plugin that records the selection and the control groups of a player at each order."""

    name = "Selected"

    def handleInitGame(self, event, replay):
        replay.selected = []

    def handleCommandEvent(self, event, replay):
        selection = getattr(event.player, "selection", None)
        if selection is not None and not event.name.startswith("Update"):
            groups = [[unit.id for unit in selection[number]] for number in range(11)]
            replay.selected.append((event.frame, event.player.name, groups))


class Selection(SelectionTracker):
    """sc2reader's tracker without its bug: it does not remove the units that OneIndices name."""

    def _deselect(self, selection, mode, data):
        if mode == "OneIndices":
            return [unit for i, unit in enumerate(selection) if i not in set(data)], False
        return super()._deselect(selection, mode, data)


class Comparison:
    def __init__(self) -> None:
        self.equal = collections.Counter()
        self.different = collections.Counter()
        self.printed = 0

    def check(self, what: str, name: str, ours, theirs) -> bool:
        if ours == theirs:
            self.equal[what] += 1
            return True
        self.different[what] += 1
        self.printed += 1
        if self.printed <= DIFFERENCES:
            print(f"{name}: {what}: {ours}, theirs {theirs}"[:400])
        return False


def events(client: replayd.Client, name: str, kinds) -> list:
    return list(client.events(name, kinds=list(kinds)))


def compare_apm(c: Comparison, name: str, replay, actions: ActionsPerMinute, users: dict) -> None:
    names = collections.Counter(human.name for human in replay.humans)
    for human in replay.humans:
        if names[human.name] == 1 and getattr(human, "seconds_played", 0) and human.name in users and not human.is_observer:
            c.check("APM", f"{name} {human.name}", round(actions.sc2reader(users[human.name]), 6), round(human.avg_apm, 6))


def compare_selections(c: Comparison, name: str, replay, stream) -> None:
    selections = Selections()
    ours = []
    unlike = set()  # users whose selection is wrong in sc2reader from here on
    for event in stream:
        selections.apply(event)
        if event.kind in ("selection_delta", "control_group_update"):
            # sc2reader reads masks of more than 32 units in another order than the game writes them. It does not support
            # cleared groups. It does not remove stolen units from their other groups.
            if event.value.mask.size > 32 or event.kind == "control_group_update" and event.value.control_group_update > 3:
                unlike.add(event.player.name)
        if event.kind == "cmd" and event.player.name not in unlike:
            user = event.player.user_id if event.player.HasField("user_id") else event.player.player_id
            groups = [[unit.tag for unit in selections.group(user, number)] for number in range(11)]
            ours.append((event.tick, event.player.name, groups))
    theirs_by_player = collections.defaultdict(list)
    for theirs in replay.selected:
        theirs_by_player[theirs[1]].append(theirs)
    seen = collections.Counter()
    for mine in ours:
        if seen[mine[1]] >= len(theirs_by_player[mine[1]]):
            continue
        theirs = theirs_by_player[mine[1]][seen[mine[1]]]
        seen[mine[1]] += 1
        for number in range(11):
            what = "selection" if number == 10 else "control group"
            if not c.check(what, f"{name} {mine[:2]} {number}", mine[2][number], theirs[2][number]):
                return  # the following differences have the same cause


def without_build_times(game: parser.GameParser) -> None:
    """Removes the build times and chrono boosts from a parser."""
    original = game.set_constants

    def set_constants() -> None:
        original()
        game.build_data = {
            name: {**data, "build_time": 0, "built_from": []} for name, data in game.build_data.items()
        }

    game.set_constants = set_constants
    game.set_chronoboost_data = lambda: setattr(game, "chronoboosts", {})


def compare_builds(c: Comparison, path: str, name: str, stream) -> None:
    game = parser.GameParser(path)
    without_build_times(game)
    try:
        parsed = game.get_parsed_data()
    except Exception as error:  # spawningtool cannot parse this game
        c.equal[f"no build order: {type(error).__name__}"] += 1
        return
    if parsed["cooperative"]:
        return
    display = {name: data.get("display_name", name) for name, data in game.build_data.items()}
    supply = Supply()
    for event in stream:
        supply.apply(event)
    ours = collections.Counter()
    for step in build_order(stream):
        # Spawningtool lists structures when they are begun, and everything else when it is done.
        for tick in {step.tick, step.done}:
            ours[step.player, tick, display.get(step.name, step.name)] += 1
    # Spawningtool also lists units that change back to an earlier type.
    changed = collections.Counter(
        (event.player.player_id, event.tick, display.get(event.value.unit.type_name, event.value.unit.type_name))
        for event in stream if event.kind == "unit_type_change" and not event.value.HasField("started_tick")
    )
    for player, data in parsed["players"].items():
        # At gameloops where the replay reports the supply, spawningtool uses a number with another meaning.
        told = {frame for frame, _ in data["supply"]}
        for step in data.get("buildOrder", []):
            key = player, step["frame"], step["name"].removesuffix(" (Error on build time)")
            if changed[key] and not ours[key]:
                c.equal["left out: a unit that unburrowed, landed or left another mode"] += 1
            elif c.check("step of a build order", f"{name} {step}", ours[key] > 0, True):
                ours[key] -= 1
                if step["frame"] not in told and (used := supply.used(player, step["frame"])) is not None:
                    c.check("supply", f"{name} {step}", int(used), step["supply"])


def main(directory: str, root: str, address: str = "localhost:7171") -> None:
    logging.disable(logging.CRITICAL)
    c = Comparison()
    engine = sc2reader.engine.GameEngine(plugins=[ContextLoader(), Selection(), APMTracker(), Selected()])
    with replayd.connect(address) as client:
        for folder, _, files in os.walk(directory):
            for file in sorted(files):
                path = os.path.join(folder, file)
                name = os.path.relpath(path, directory)
                if name.startswith("gameheart"):  # sc2reader removes the beginning of these games
                    continue
                try:
                    replay = sc2reader.load_replay(path, load_level=4, engine=engine)
                except Exception as error:  # skip replays that sc2reader cannot read
                    print(f"{name}: sc2reader: {error!r}"[:160])
                    continue
                try:
                    compare(c, client, replay, path, name, f"{root}/{name}")
                except replayd.ReplaydError as error:
                    print(f"{name}: {error}"[:200])
    for what in sorted({*c.equal, *c.different}):
        print(f"{what}: {c.equal[what]} equal, {c.different[what]} different")


def compare(c: Comparison, client: replayd.Client, replay, path: str, name: str, ours: str) -> None:
    kinds = {*ActionsPerMinute.KINDS, *Selections.KINDS, *BUILD_KINDS}
    stream = events(client, ours, kinds)
    actions = ActionsPerMinute()
    users = {}
    for event in stream:
        actions.apply(event)
        if event.kind == "player_info" and event.value.ref.HasField("user_id"):
            users[event.value.ref.name] = event.value.ref.user_id
    compare_apm(c, name, replay, actions, users)
    compare_selections(c, name, replay, stream)
    compare_builds(c, path, name, stream)


main(*sys.argv[1:])
