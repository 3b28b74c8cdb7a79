"""Computes reports about the players of a StarCraft II replay:

    python starcraft.py build sc2/game.SC2Replay              # the build order, with supply
    python starcraft.py army sc2/game.SC2Replay               # the value of the armies over time, as CSV
    python starcraft.py apm sc2/game.SC2Replay                # actions per minute, computed in two ways
    python starcraft.py groups --until 600 sc2/game.SC2Replay # control groups ten minutes into the game
    python starcraft.py build --upload ~/game.SC2Replay       # a local file

Build orders and armies need a replay of version 2.0.8 or later. Times are those of the game's clock, which shows real minutes and
seconds since version 3.0.
"""

from __future__ import annotations

import argparse
import collections
from collections.abc import Callable, Iterable

import replayd
from replayd.events import sc2replay
from replayd.sc2 import BUILD_KINDS, ActionsPerMinute, Selections, build_order
from replayd.sc2replay.v1 import events_pb2 as sc2

Events = Iterable[sc2replay.Event]


class Game:
    """The names of players and the speed of the clock."""

    KINDS: tuple[sc2replay.Kind, ...] = ("start", "player_info")

    def __init__(self) -> None:
        self.loops_per_second = 16.0
        self.players: dict[int, str] = {}  # by player id
        self.users: dict[int, str] = {}

    def watch(self, events: Events) -> Events:
        """Yields the events unchanged, and takes names and speed from the first ones."""
        for event in events:
            if event.kind == "start":
                self.loops_per_second = event.value.loops_per_clock_second
            elif event.kind == "player_info" and not event.value.observer:
                ref = event.value.ref
                self.players[ref.player_id] = ref.name
                if ref.HasField("user_id"):
                    self.users[ref.user_id] = ref.name
            yield event

    def clock(self, tick: int) -> str:
        seconds = int(tick / self.loops_per_second)
        return f"{seconds // 60}:{seconds % 60:02}"


def build(game: Game, events: Events, until: float) -> None:
    for step in build_order(game.watch(events)):
        made = step.upgrade or step.unit_class != sc2.UNIT_CLASS_UNSPECIFIED
        if made and step.tick <= until * game.loops_per_second and step.player in game.players:
            when = "" if step.begun else "  (done)"
            supply = "-" if step.supply is None else f"{step.supply:g}"
            print(f"{game.clock(step.tick):>6} {supply:>5}  {game.players[step.player]:<20} {step.name}{when}")


def army(game: Game, events: Events, until: float) -> None:
    print("tick,time,player,army_minerals,army_vespene,workers,supply")
    for event in game.watch(events):
        if event.kind == "player_stats" and event.tick <= until * game.loops_per_second:
            stats = event.value
            print(
                event.tick, game.clock(event.tick), game.players.get(stats.player_id, stats.player_id),
                stats.minerals_used_current_army, stats.vespene_used_current_army, stats.workers_active_count,
                f"{stats.food_used:g}", sep=",",
            )  # fmt: skip


def apm(game: Game, events: Events, until: float) -> None:
    actions = ActionsPerMinute()
    for event in game.watch(events):
        actions.apply(event)
    for user, name in game.users.items():
        theirs = actions.blizzard(user)
        blizzard = "not given" if theirs is None else f"{theirs:.0f}"
        print(f"{name:<20} Blizzard {blizzard}, sc2reader {actions.sc2reader(user):.0f}")


def groups(game: Game, events: Events, until: float) -> None:
    selections = Selections()
    for event in game.watch(events):
        if event.tick > until * game.loops_per_second:
            break
        selections.apply(event)
    for user, name in game.users.items():
        for number in range(10):
            types = collections.Counter(unit.type_name or "?" for unit in selections.group(user, number))
            if types:
                print(f"{name:<20} {number}: " + ", ".join(f"{count} {what}" for what, count in types.most_common()))


REPORTS: dict[str, tuple[Callable[[Game, Events, float], None], tuple[sc2replay.Kind, ...]]] = {
    "build": (build, BUILD_KINDS),
    "army": (army, ("player_stats",)),
    "apm": (apm, ActionsPerMinute.KINDS),
    "groups": (groups, Selections.KINDS),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report", choices=REPORTS)
    parser.add_argument("replay", help="a replay of the daemon, or a local file with --upload")
    parser.add_argument("--upload", action="store_true", help="send the file to the daemon")
    parser.add_argument("--until", type=float, default=float("inf"), help="the time on the game's clock to stop at, in seconds")
    parser.add_argument("--address", default="localhost:7171", help="the address of the daemon")
    options = parser.parse_args()
    report, kinds = REPORTS[options.report]
    with replayd.connect(options.address) as client:
        stream = client.decode if options.upload else client.events
        report(Game(), stream(options.replay, format=sc2replay.FORMAT, kinds=list({*Game.KINDS, *kinds})), options.until)


if __name__ == "__main__":
    main()
