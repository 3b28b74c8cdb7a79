#!/usr/bin/env python3
"""Compares user commands that recordings have as differences with demoparser2 (0.42 or later).

    pip install "demoparser2>=0.42"
    go test -run WriteCommands -commands commands.dem
    go test -run WriteCommands -commands lost.dem -lost 100
    python commands.py REPLAYD commands.dem lost.dem

The first demo is decoded by both. Of the second one, from which commands are missing, each command that replayd rebuilds must be
that of the first demo, and each other one must say that its baseline is not known.
"""

import json
import math
import struct
import subprocess
import sys

from demoparser2 import DemoParser

NAMES = [
    "viewangle_x", "viewangle_y", "viewangle_z", "forward_move", "left_move", "impulse", "mouse_dx", "mouse_dy", "buttonstate_1",
    "buttonstate_2", "buttonstate_3", "weapon_select", "left_hand_desired", "input_history",
]


def commands(replayd, demo):
    """Yields the user commands of the server's messages, as replayd has them. All of these demos have a tick of the server."""
    with subprocess.Popen([replayd, "cat", "--kind", "user_cmd", demo], stdout=subprocess.PIPE) as p:
        for line in p.stdout:
            e = json.loads(line)
            if e["at_tick"] > FIRST:
                yield e["at_tick"], e["user_cmd"]


FIRST = 4  # the ticks of the recorded part


def bits(x):
    """A float32 as its bits. JSON has the shortest decimal number for it. All that are no numbers are one."""
    x = float(x)
    if math.isnan(x):
        return "nan"
    return struct.pack(">f", x).hex()


def angles(a):
    return [bits((a or {}).get(k, 0)) for k in "xyz"]


def history(entries, tick, fraction, view):
    return [
        (e[f"render_tick{tick}"], bits(e[f"render{fraction}"]), e[f"player_tick{tick}"], bits(e[f"player{fraction}"]), *view(e)) for e in entries
    ]


def ours(c):
    """What replayd has of a command, in demoparser2's names."""
    i = c["input"]
    v = {
        "forward_move": bits(i["forward_move"]), "left_move": bits(i["left_move"]), "impulse": i["impulse"], "mouse_dx": i["mouse_dx"],
        "mouse_dy": i["mouse_dy"], "weapon_select": i["weapon"], "left_hand_desired": i["left_hand"],
        "input_history": history(i["input_history"], "", "_fraction", lambda e: angles(e.get("view_angles"))),
    }
    v.update(zip(("viewangle_x", "viewangle_y", "viewangle_z"), angles(i.get("view_angles"))))
    v.update((f"buttonstate_{n}", int(i[k])) for n, k in enumerate(("buttons", "buttons_changed", "buttons_scrolled"), 1))
    return v


def theirs(row):
    """A row of demoparser2 in the same form."""
    v = {}
    for name in NAMES:
        x = row["usercmd_" + name]
        if name == "input_history":
            v[name] = history(x, "_count", "_tick_fraction", lambda e: angles(e))
        elif name.startswith("viewangle") or name in ("forward_move", "left_move"):
            v[name] = bits(x)
        else:
            v[name] = x
    return v


def compare(replayd, demo):
    """Compares the first demo. It returns how many commands were compared, and how many differ in what."""
    rows = DemoParser(demo).parse_ticks(["usercmd_" + n for n in NAMES]).to_dict("records")
    rows = {r["tick"]: r for r in rows}
    n, differ = 0, {}
    for tick, c in commands(replayd, demo):
        n += 1
        want, got = theirs(rows[tick]), ours(c)
        for name in NAMES:
            if got[name] != want[name]:
                differ.setdefault(name, []).append((tick, c["source"], got[name], want[name]))
    return n, differ


def compare_lost(replayd, demo, lost):
    """Compares the second demo with the first. It returns how many commands it has of each source, and which differ from the first's."""
    whole = {c["server_tick"]: c["input"] for _, c in commands(replayd, demo)}
    sources, differ = {}, []
    for tick, c in commands(replayd, lost):
        sources[c["source"]] = sources.get(c["source"], 0) + 1
        if "input" in c and c["input"] != whole[c["server_tick"]]:
            differ.append(tick)
        if ("input" in c) == (c["source"] == "USER_CMD_SOURCE_NO_BASELINE"):
            differ.append(tick)
    return sources, differ


def main(replayd, demo, lost=None):
    n, differ = compare(replayd, demo)
    print(f"{n} commands, {len(NAMES)} values of each")
    for name, rows in differ.items():
        print(f"{name}: {len(rows)} differ, first (tick, source, replayd, demoparser2): {rows[0]}")
    wrong = []
    if lost:
        sources, wrong = compare_lost(replayd, demo, lost)
        print(f"with losses: {sources}, {len(wrong)} wrong {wrong[:3]}")
    return 1 if differ or wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
