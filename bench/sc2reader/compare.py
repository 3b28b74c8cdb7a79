"""Compares facts of the daemon with what sc2reader and spawningtool conclude. See README.md.

    python compare.py DIRECTORY ROOT [ADDRESS]

DIRECTORY contains the replays. The daemon serves it as the root ROOT.
"""

from __future__ import annotations

import collections
import logging
import os
import sys

import sc2reader
from sc2reader.engine.plugins import APMTracker, ContextLoader
from spawningtool import parser

import replayd
from replayd.sc2replay.v1 import events_pb2 as sc2

DIFFERENCES = 20  # the maximum number of differences of each kind to print


class Comparison:
    def __init__(self) -> None:
        self.equal = collections.Counter()
        self.different = collections.Counter()

    def check(self, what: str, name: str, ours, theirs) -> bool:
        if ours == theirs:
            self.equal[what] += 1
            return True
        self.different[what] += 1
        if self.different[what] <= DIFFERENCES:
            print(f"{name}: {what}: {ours}, theirs {theirs}"[:400])
        return False


def compare_apm(c: Comparison, name: str, replay, build: int, loops: int, actions: dict) -> None:
    # sc2reader counts a minute of the speed "Faster", and takes all games since version 3.0 for such.
    whole = int(loops / (22.4 if build >= 34784 else 16))
    names = collections.Counter(human.name for human in replay.humans)
    for human in replay.humans:
        player = actions.get(human.name)
        if names[human.name] == 1 and getattr(human, "seconds_played", 0) and player and not human.is_observer:
            seconds = player.left_tick // 16 if player.HasField("left_tick") else whole
            ours = player.actions * 1.4 / seconds * 60 if seconds else 0.0
            c.check("APM", f"{name} {human.name}", round(ours, 6), round(human.avg_apm, 6))


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
    supplies = collections.defaultdict(list)
    ours = collections.Counter()
    for event in stream:
        player = event.event.player.player_id
        if event.kind == "player_stats":
            supplies[player].append((event.tick, event.value.food_used))
        elif event.kind == "unit_init":  # spawningtool lists what was never complete, too
            ours[player, event.tick, display.get(event.value.unit.type_name, event.value.unit.type_name)] += 1
        elif event.kind == "fact_build_step" and event.value.end == sc2.STEP_END_COMPLETE:
            ours[player, event.tick, display.get(event.value.name, event.value.name)] += 1
    # Spawningtool also lists units that change back to an earlier type.
    changed = collections.Counter(
        (event.event.player.player_id, event.tick, display.get(event.value.unit.type_name, event.value.unit.type_name))
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
                used = [used for tick, used in supplies[player] if tick <= step["frame"]]
                if step["frame"] not in told and used:
                    c.check("supply", f"{name} {step}", int(used[-1]), step["supply"])


def main(directory: str, root: str, address: str = "localhost:7171") -> None:
    logging.disable(logging.CRITICAL)
    c = Comparison()
    engine = sc2reader.engine.GameEngine(plugins=[ContextLoader(), APMTracker()])
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


def compare_units(c: Comparison, name: str, replay, stream) -> None:
    """Compares when units died, and by which player."""
    ours = {
        (event.value.unit.tag, event.tick): event.value.killer_player_id for event in stream if event.kind == "fact_unit"
    }
    for unit in replay.objects.values():
        if unit.died_at is not None:
            killer = unit.killing_player.pid if unit.killing_player else 0
            c.check("end of a unit", f"{name} {unit}", ours.get((unit.id, unit.died_at)), killer)


STARTS = 12  # gameloops


def compare_starts(c: Comparison, path: str, name: str, stream) -> None:
    """Compares when steps were begun, where both know build times."""
    try:
        game = parser.GameParser(path)
        parsed = game.get_parsed_data()
    except Exception:  # spawningtool cannot parse this game
        return
    if parsed["cooperative"]:
        return
    display = {key: data.get("display_name", key) for key, data in game.build_data.items()}
    ours = collections.defaultdict(list)
    reckoned = False
    for event in stream:
        if event.kind == "fact_build_step":
            step, player = event.value, event.event.player.player_id
            reckoned = reckoned or step.HasField("reckoned_tick")
            if step.HasField("began_tick") or step.HasField("reckoned_tick"):
                tick = step.began_tick if step.HasField("began_tick") else step.reckoned_tick
                ours[player, display.get(step.name, step.name)].append(tick)
    if not reckoned:  # of a version whose build times are not known
        return
    for player, data in parsed["players"].items():
        for step in data.get("buildOrder", []):
            title = step["name"]
            ticks = ours[player, title.removesuffix(" (Error on build time)")]
            near = min(ticks, key=lambda tick: abs(tick - step["frame"]), default=None)
            if near is None:
                c.equal["start: a step whose start replayd does not give: " + title] += 1
                continue
            what = "start, with Chrono Boost" if step.get("is_chronoboosted") else "start"
            if c.check(what, f"{name} {step} {near}", abs(near - step["frame"]) <= STARTS, True):
                ticks.remove(near)


KINDS = ["start", "fact_player", "fact_unit", "fact_build_step", "unit_init", "unit_type_change", "player_stats"]


def compare(c: Comparison, client: replayd.Client, replay, path: str, name: str, ours: str) -> None:
    stream = list(client.events(ours, kinds=KINDS))
    start = next(event.value for event in stream if event.kind == "start")
    actions = {event.event.player.name: event.value for event in stream if event.kind == "fact_player"}
    compare_apm(c, name, replay, start.version.build, start.elapsed_game_loops, actions)
    compare_builds(c, path, name, stream)
    compare_units(c, name, replay, stream)
    compare_starts(c, path, name, stream)


main(*sys.argv[1:])
