"""Writes how sc2reader names the orders of replays, for TestOrdersAsSC2Reader of decoders/sc2replay:

    pip install sc2reader==1.9.0
    python tools/sc2names/orders.py ../shared/corpus/sc2replay >.cache/orders.json
    go test ./decoders/sc2replay -run TestOrdersAsSC2Reader -sc2reader "$PWD/.cache/orders.json" -v

The JSON maps each replay to its orders that have an ability: "link.index name" to how many there are. A name that sc2reader
does not know is empty.
"""

import collections
import json
import logging
import os
import sys

import sc2reader
from sc2reader.events.game import CommandEvent


def load(path):
    try:
        return sc2reader.load_replay(path, load_level=4)
    except sc2reader.exceptions.CorruptTrackerFileError:  # games that go on from a replay, by design
        return sc2reader.load_replay(path, load_level=4, do_tracker_events=False)


def orders(path):
    counts = collections.Counter()
    for event in load(path).game_events:
        if isinstance(event, CommandEvent) and event.has_ability and event.ability_link != 0xFFFF:
            counts[f"{event.ability_link}.{event.command_index} {event.ability_name}"] += 1
    return counts


def main(root):
    logging.disable(logging.CRITICAL)
    found = {}
    for folder, _, files in os.walk(root):
        for name in sorted(files):
            path = os.path.join(folder, name)
            try:
                found[os.path.relpath(path, root)] = orders(path)
            except Exception as error:  # what it cannot read is no replay to compare
                print(f"{path}: {error}", file=sys.stderr)
    json.dump(found, sys.stdout)


main(sys.argv[1])
