"""Writes where the heroes of a Dota 2 demo are, as CSV: tick, seconds, hero, entity, x, y, z in world units.

    python heroes.py demos/7512345678.dem > heroes.csv             # a replay of the daemon
    python heroes.py --upload ~/7512345678.dem > heroes.csv        # a file here
    python heroes.py --classes CCSPlayerPawn --cell 512 cs2/x.dem  # players of Counter-Strike 2

The origin is the middle of the map.
"""

from __future__ import annotations

import argparse
import csv
import sys

import replayd
from replayd.events import dem
from replayd.v1 import filter_pb2

AXES = "XYZ"
MAP = 16384  # world units from the middle to the edge


class Hero:
    """An entity's place: a cell on each axis, and a position inside it."""

    def __init__(self) -> None:
        self.cell = dict.fromkeys(AXES, 0)
        self.inside = dict.fromkeys(AXES, 0.0)

    def learn(self, name: str, value: float) -> bool:
        """Takes one field. Returns whether it is about the place."""
        prefix, axis = name[:-1], name[-1]
        if prefix == "CBodyComponent.m_cell":
            self.cell[axis] = int(value)
        elif prefix == "CBodyComponent.m_vec" and axis in AXES:
            self.inside[axis] = value
        else:
            return False
        return True

    def place(self, width: int) -> list[float]:
        """x, y and z in world units."""
        return [round(self.cell[axis] * width - MAP + self.inside[axis], 2) for axis in AXES]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("replay", help="a replay of the daemon; with --upload a file here")
    parser.add_argument("--upload", action="store_true", help="send the file to the daemon")
    parser.add_argument("--address", default="localhost:7171", help="of the daemon")
    parser.add_argument("--classes", default="CDOTA_Unit_Hero_*", help="a pattern of entity classes")
    parser.add_argument("--cell", type=int, default=128, help="how wide a cell is: 128 in Dota 2, 512 elsewhere")
    options = parser.parse_args()

    fields = [f"CBodyComponent.{part}?" for part in ("m_cell", "m_vec")]
    places = filter_pb2.EventFilter(dem=filter_pb2.DemFilter(classes=[options.classes], fields=fields))
    deleted = filter_pb2.EventFilter(kinds=["entity_deleted"], dem=filter_pb2.DemFilter(classes=[options.classes]))
    heroes: dict[int, Hero] = {}
    out = csv.writer(sys.stdout)
    out.writerow(["tick", "seconds", "hero", "entity", "x", "y", "z"])
    with replayd.connect(options.address) as client:
        stream = client.decode if options.upload else client.events
        events = stream(options.replay, format=dem.FORMAT, include=[places, deleted])
        for event in events:
            match event.kind:
                case "entity_deleted":
                    heroes.pop(event.value.index, None)
                case "entity_created" | "entity_updated" | "entity_entered":
                    entity = event.value
                    if event.kind == "entity_created":
                        heroes[entity.index] = Hero()
                    hero = heroes.setdefault(entity.index, Hero())
                    moved = [
                        hero.learn(event.string(field.field), getattr(field, field.WhichOneof("value") or ""))
                        for field in entity.fields
                    ]
                    if any(moved):
                        assert events.replay is not None
                        seconds = event.tick / (events.replay.ticks_per_second or 30)
                        name = event.string(getattr(entity, "class"))
                        out.writerow([event.tick, f"{seconds:.2f}", name, entity.index, *hero.place(options.cell)])


if __name__ == "__main__":
    main()
