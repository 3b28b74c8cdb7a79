#!/usr/bin/env python3
"""Compares tables of classes of entities and of game events, cell by cell, with demoparser2 (Counter-Strike 2) and boon (Deadlock).

    pip install "demoparser2>=0.42" "boon-deadlock>=0.19" pyarrow
    go test -run WriteBroadcast -broadcast broadcast.dem
    python peers.py REPLAYD broadcast.dem ../../../shared/corpus/dem/demofile-net/{14065,14160}.dem

Each cell that both have must be equal, except those of OTHERS, where the reason is checked. What only one has is counted.
"""

import collections
import glob
import json
import re
import struct
import subprocess
import sys
import tempfile

import boon
import pyarrow.parquet as pq
from demoparser2 import DemoParser

replayd = sys.argv[1]


def unsigned(v):
    """Returns the number that is sent for a number with a sign."""
    return 2 * v if v >= 0 else -2 * v - 1


def shifted(v):
    """Returns a number whose sign comes from the wrong bit."""
    return (v | v << 1 & 0x80000000 ^ 0x80000000) - 0x80000000


UNSIGNED = ("without its sign, which the type has", unsigned)
COLORS = ["blue", "green", "yellow", "orange", "purple"]

# Fields that demoparser2 0.42.0 has otherwise: how, and what it makes of the value.
OTHERS = {
    "m_hSequence": ("as it is sent, which is 1 more", lambda v: v + 1),
    "m_iCompTeammateColor": ("as a name", lambda v: COLORS[v]),
    "m_flMaxspeed": ("with other last bits", lambda v: v),
    "m_flSimulationTime": ("of ticks of a 30th of a second", lambda v: v * 64 / 30),
    "m_nRandomSeedOffset": ("with the sign of the wrong bit", shifted),
    "m_primaryGraphId": ("without its upper 32 bits", lambda v: v & 0xFFFFFFFF),
    "m_nameStringTableIndex": ("64 for bodies, but -1 for all other entities", lambda v: 64),
    "m_RetakesMVPBoostExtraUtility": UNSIGNED,
    "m_nAnimLoopMode": UNSIGNED,
    "m_nAnimationAlgorithm": UNSIGNED,
    "m_nLastActualJumpPressTick": UNSIGNED,
    "m_nLastJumpTick": UNSIGNED,
    "m_nLastKillerIndex": UNSIGNED,
    "m_nLastUsableJumpPressTick": UNSIGNED,
    "m_nNextThinkTick": UNSIGNED,
}


def float32(v):
    return struct.unpack("f", struct.pack("f", v))[0]


def table(demo, kind, *flags):
    """Returns the rows of the only table that an export writes, and what it says."""
    with tempfile.TemporaryDirectory() as to:
        done = subprocess.run([replayd, "export", *flags, "--to", to, demo], capture_output=True, text=True, check=False)
        files = glob.glob(f"{to}/format=dem/kind={kind}/*.parquet")
        return pq.read_table(files[0], partitioning=None).to_pylist() if files else [], done.stderr if done.returncode else ""


def wide(demo, cls, fields):
    """Returns the rows of the table of a class that is in no other, and the fields that are refused."""
    refused = []
    while True:
        rows, failed = table(demo, cls, "--class", cls, "--field", ",".join(fields), "--every", "1")
        if not failed:
            return rows, refused
        bad = re.search(r": (\S+) (?:is a list|has the type)", failed)
        if not bad:
            sys.exit(failed)
        refused.append(bad[1])
        fields = [f for f in fields if f != bad[1]]


def names(demo, cls):
    """Returns the names of the fields of a class that have values."""
    found = set()
    command = [replayd, "cat", "--kind", "sample_entity", "--class", cls, "--every", "32", demo]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as p:
        for line in p.stdout:
            found.update(f["field"] for f in json.loads(line)["sample_entity"]["fields"])
    return found


def pairs(theirs, ours):
    """Returns our name for each of demoparser2's, where that is certain.

    demoparser2 has the types of objects on the way to a field, and no numbers of elements: a pair has the same last name at the same depth,
    and no other name of either has.
    """
    by = {}
    for name in ours:
        if not re.search(r"\.\d{4}", name):
            by.setdefault((name.rsplit(".", 1)[-1], name.count(".")), []).append(name)
    same = collections.Counter((name.rsplit(".", 1)[-1], name.count(".")) for name in theirs)
    found = {}
    for name in theirs:
        last, depth = name.rsplit(".", 1)[-1], name.count(".")
        if same[last, depth] == 1 and len(by.get((last, depth - 1), [])) == 1:
            found[name] = by[last, depth - 1][0]
    return found


def plain(v):
    """A vector is a list for demoparser2."""
    return [v["x"], v["y"], v["z"]] if isinstance(v, dict) else v


class Count:
    """What was compared."""

    def __init__(self, what, exceptions=OTHERS):
        self.what, self.exceptions = what, exceptions
        self.equal, self.others, self.failed = 0, collections.Counter(), collections.defaultdict(list)

    def cell(self, name, row, ours, theirs):
        name = name.rsplit(".", 1)[-1]
        if ours == theirs or theirs != theirs and ours is None:
            self.equal += 1
        elif name in self.exceptions and near(self.exceptions[name][1](ours), theirs):
            self.others[f"{name} {self.exceptions[name][0]}"] += 1
        else:
            self.failed[name].append((row, ours, theirs))

    def tell(self, some=True):
        """Prints what was compared, of which there must be some."""
        print(f"{self.what}: {self.equal} cells are equal")
        for name, n in self.others.items():
            print(f"    {n} of {name}")
        for name, cells in self.failed.items():
            print(f"    {name}: {len(cells)} DIFFER, first (row, replayd, the other): {cells[0]}")
        return not self.failed and (self.equal > 0 or not some)


def near(a, b):
    return a == b or isinstance(a, float) and abs(a - b) < 1e-6 * abs(b)


def counter_strike(demo):
    p = DemoParser(demo)
    ok = True
    owners, _ = wide(demo, "CCSPlayerController", ["m_steamID", "m_hPawn"])
    for cls in "CCSPlayerPawn", "CCSPlayerController":
        slot = (lambda r: (r["m_hPawn"] or 0) & 0x3FFF) if cls == "CCSPlayerPawn" else (lambda r: r["sample_entity_index"])
        owner = {(r["at_tick"], slot(r)): r["m_steamID"] for r in owners}
        theirs = [f for f in p.list_updated_fields() if f.startswith(cls + ".")]
        found = pairs(theirs, names(demo, cls))
        rows, refused, columns = {}, [], sorted(set(found.values()))
        for i in range(0, len(columns), 200):
            some, no = wide(demo, cls, columns[i : i + 200])
            refused += no
            for r in some:
                rows.setdefault((r["at_tick"], owner.get((r["at_tick"], r["sample_entity_index"]))), {}).update(r)
        c, without = Count(f"{demo}: {cls}"), set()
        for r in p.parse_ticks(list(found)).to_dict("records"):
            row = rows.get((r["tick"], int(r["steamid"])))
            if row is None:
                c.failed["rows"].append((r["tick"], "none", r["steamid"]))
                continue
            for name, ours in found.items():
                if name not in r:
                    without.add(name)
                elif ours not in refused:
                    c.cell(ours, r["tick"], plain(row[ours]), r[name])
        ok = c.tell() and ok
        print(f"    of {len(theirs)} fields {len(found) - len(refused) - len(without)} are compared; {len(refused)} are refused, as lists or of types"
              f" that are not certain; {len(without)} are in no row of demoparser2")
    return ok


def game_events(demo):
    """Compares each key of each game event. demoparser2 makes server_cvar of messages."""
    p = DemoParser(demo)
    c = Count(f"{demo}: game events")
    for name in sorted(set(p.list_game_events()) - {"server_cvar"}):
        rows, failed = table(demo, f"game_event.{name}", "--event", name)
        if failed:
            sys.exit(failed)
        theirs = p.parse_event(name).to_dict("records")
        if len(rows) != len(theirs):
            c.failed[name].append(("all", len(rows), len(theirs)))
        for ours, t in zip(rows, theirs):
            if ours.pop("replayd_other_keys"):
                c.failed[name].append((ours, "other keys", ""))
            for key, value in t.items():
                key = {"tick": "at_tick", "user_name": "userid_name", "user_steamid": "userid_steam_id"}.get(key, key)
                c.cell(f"{name}.{key}", ours["at_tick"], ours.get(key, "no column"), value)
    return c.tell()


# The classes of boon's tables, and the columns of which it has the values.
CITADEL = {
    "troopers": ["CNPC_Trooper", "CNPC_TrooperBoss"],
    "objectives": ["CNPC_Boss_Tier2", "CNPC_Boss_Tier3", "CCitadel_Destroyable_Building"],
}
COLUMNS = {"team_num": "m_iTeamNum", "lane": "m_iLane", "health": "m_iHealth", "max_health": "m_iMaxHealth"}


def deadlock(demo):
    ok = True
    d = boon.Demo(demo)
    for what, classes in CITADEL.items():
        rows = {}
        for cls in classes:
            columns = set(COLUMNS.values()) - ({"m_iLane"} if cls == "CCitadel_Destroyable_Building" else set())
            for r in wide(demo, cls, [*columns, "CBodyComponent.place"])[0]:
                rows[r["at_tick"], r["sample_entity_index"]] = r
        c = Count(f"{demo}: {what}")
        for r in getattr(d, what).to_dicts():
            key = r["tick"], r["entity_id"]
            row = rows.get(key)
            if row is None:
                c.failed["rows"].append((*key, "none"))
                continue
            for theirs, ours in COLUMNS.items():
                if ours in row:
                    c.cell(ours, key, row[ours], r[theirs])
            for x, of in row["CBodyComponent.place"].items():  # boon's have 16384 less, as float32
                c.cell(f"place.{x}", key, float32(of - 16384), r[x])
        ok = c.tell() and ok
    return ok


def main():
    ok = True
    for demo in sys.argv[2:]:
        with open(demo, "rb") as f:
            citadel = b"citadel" in f.read(1 << 16)
        if citadel:
            ok = deadlock(demo) and ok
            continue
        ok = game_events(demo) and ok
        ok = counter_strike(demo) and ok
    return ok


if __name__ == "__main__":
    sys.exit(not main())
