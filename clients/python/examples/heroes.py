"""Writes the positions of the heroes of a Dota 2 demo as CSV: tick, seconds, hero, entity, x, y, z.

    python heroes.py demos/7512345678.dem > heroes.csv             # a replay of the daemon
    python heroes.py --upload ~/7512345678.dem > heroes.csv        # a file here
    python heroes.py --classes CCSPlayerPawn cs2/x.dem             # players of Counter-Strike 2

x, y and z are in world units. The origin is the middle of the map.
"""

from __future__ import annotations

import argparse
import csv
import sys

import replayd
from replayd.entities import EntityState
from replayd.events import dem
from replayd.v1 import filter_pb2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("replay", help="a replay of the daemon, or a local file with --upload")
    parser.add_argument("--upload", action="store_true", help="send the file to the daemon")
    parser.add_argument("--address", default="localhost:7171", help="the address of the daemon")
    parser.add_argument("--classes", default="CDOTA_Unit_Hero_*", help="a pattern of entity classes")
    options = parser.parse_args()

    fields = ["CBodyComponent.place", "m_pEntity.m_nameStringableIndex"]
    places = filter_pb2.EventFilter(dem=filter_pb2.DemFilter(classes=[options.classes], fields=fields))
    deleted = filter_pb2.EventFilter(kinds=["entity_deleted"], dem=filter_pb2.DemFilter(classes=[options.classes]))
    state = EntityState()
    out = csv.writer(sys.stdout)
    out.writerow(["tick", "seconds", "hero", "entity", "x", "y", "z"])
    with replayd.connect(options.address) as client:
        stream = client.decode if options.upload else client.events
        events = stream(options.replay, format=dem.FORMAT, include=[places, deleted])
        for event in events:
            hero = state.apply(event)
            place = hero.place() if hero else None
            if hero is None or place is None or event.kind == "entity_deleted":
                continue
            assert events.replay is not None
            seconds = event.tick / (events.replay.ticks_per_second or 30)
            out.writerow([event.tick, f"{seconds:.2f}", hero.name or hero.class_name, hero.index, *(round(x, 2) for x in place)])


if __name__ == "__main__":
    main()
