#!/usr/bin/env python3
"""Compares facts, and how players stand, cell by cell with awpy (Counter-Strike 2), gem-dota (Dota 2) and boon (Deadlock).

    pip install "awpy>=3.1" "gem-dota>=0.14" "boon-deadlock>=0.19" "demoparser2>=0.42" pyarrow
    go test -run WriteBroadcast -broadcast broadcast.dem
    python facts.py REPLAYD broadcast.dem ../../../shared/corpus/dem/{demofile-net/1*,haste/*}.dem

Each cell that both have must be equal, except those of GEM, where the reason is checked.
"""

import bisect
import re
import sys
import tempfile

import awpy
import boon
import gem
import snappy
from gem.proto.demo_pb2 import CDemoSendTables
from gem.proto.netmessages_pb2 import CSVCMsg_FlattenedSerializer
from peers import Count, float32, table

SIDES = {2: "terrorist", 3: "counter-terrorist"}

# What gem-dota 0.14 has otherwise: how, and what it makes of the value.
GEM = {"mana": ("as an eighth", lambda v: v / 8), "max_mana": ("as an eighth", lambda v: v / 8)}


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 0x80:
            return value, at


def encoded(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def readable(demo, to):
    """Writes a demo of a deathmatch so that peers can read it. They take the rules of a mode for those of its base, which has no fields, and
    fail. So the schema says that each mode is a deathmatch: this is the only change."""
    with open(demo, "rb") as f:
        data = f.read()
    out, at = bytearray(data[:16]), 16
    while at < len(data):
        command, at = varint(data, at)
        tick, at = varint(data, at)
        size, at = varint(data, at)
        body, at = data[at : at + size], at + size
        send_tables, compressed = 4, 64
        if command & ~compressed == send_tables:
            tables = CDemoSendTables.FromString(snappy.uncompress(body) if command & compressed else body)
            size, start = varint(tables.data, 0)
            schema = CSVCMsg_FlattenedSerializer.FromString(tables.data[start : start + size])
            names = list(schema.symbols)
            for field in schema.fields:
                if names[field.var_name_sym] == "m_pGameModeRules":
                    field.field_serializer_name_sym = names.index("CCSGameModeRules_Deathmatch")
            whole = schema.SerializeToString()
            tables.data = encoded(len(whole)) + whole
            command, body = send_tables, tables.SerializeToString()
        out += encoded(command) + encoded(tick) + encoded(len(body)) + body
    with open(to, "wb") as f:
        f.write(out)


def rows(demo, kind, *flags):
    got, failed = table(demo, kind, "--kind", kind, *flags)
    if failed:
        sys.exit(failed)
    return got


def both(count, ours, theirs, cells):
    """Compares rows in their order. cells returns pairs of values by name."""
    if len(ours) != len(theirs):
        count.failed["rows"].append(("all", len(ours), len(theirs)))
    for a, b in zip(ours, theirs):
        for name, (x, y) in cells(a, b).items():
            count.cell(name, a["at_tick"], x, y)


def who(role, ours, theirs):
    """Returns the cells of somebody in a row of awpy."""
    if ours is None:
        return {f"{role}.{k}": (None, theirs[f"{role}_{k}"]) for k in ("entity_id", "steamid", "name", "side", "x", "y", "z")}
    cells = {"entity_id": ours["index"], "steamid": ours["steam_id"] or 0, "name": ours["name"], "side": SIDES.get(ours["team"]), **(ours["place"] or {})}
    return {f"{role}.{k}": (v, theirs[f"{role}_{k}"]) for k, v in cells.items()}


def named(ours, theirs, **names):
    return {a: (ours[a], theirs[b]) for a, b in names.items()}


def counter_strike(demo):
    ok = True
    with tempfile.NamedTemporaryFile(suffix=".dem") as f:
        try:
            d = awpy.Demo(demo)
            d.load("kills")
        except awpy.InvalidDemoError:
            readable(demo, f.name)
            d = awpy.Demo(f.name)

        def kill(a, b):
            assister = a["assists"][0] if a["assists"] else None
            return who("attacker", a["killer"], b) | who("victim", a["victim"], b) | who("assister", assister, b) | named(
                a, b, at_tick="tick", weapon="weapon", headshot="headshot", flash_assist="assist_flash", no_scope="noscope", penetrations="penetrated",
                through_smoke="thrusmoke", hit_group="hitgroup", hit_group_name="hitgroup_name")

        def damage(a, b):
            return who("attacker", a["attacker"], b) | who("victim", a["victim"], b) | named(
                a, b, at_tick="tick", weapon="weapon", damage="dmg_health", armor_damage="dmg_armor", health="health_post", armor="armor_post", hit_group="hitgroup",
                hit_group_name="hitgroup_name")

        ours = {(r["at_tick"], r["steam_id"] or 0, r["name"]): r for r in rows(demo, "sample_player", "--every", "1")}

        def shot(a, b):
            """awpy has the place and the view of the body at the end of the tick. The shot's view has recoil, and its place other last bits."""
            body = ours[b["tick"], b["steamid"], b["name"]]
            cells = {k: (body["place"][k], b[k]) for k in "xyz"} | {"pitch": (body["angles"]["x"], b["pitch"]), "yaw": (body["angles"]["y"], b["yaw"])}
            cells |= {f"shot.{k}": (round(a["shooter_position"][k], 1), round(b[k], 1)) for k in "xyz"}
            if b["num_bullets_remaining"] is not None:  # of the weapon in hand at the end of the tick
                cells["bullets_left"] = a["bullets_left"] - 1, b["num_bullets_remaining"]
            return cells | named(a, b, at_tick="tick", shooter_index="entity_id", is_scoped="scoped")

        for what, kind, cells in ("kills", "fact_kill", kill), ("damages", "fact_damage", damage), ("shots", "shot", shot):
            c = Count(f"{demo}: {what}")
            both(c, rows(demo, kind), getattr(d, what).to_dicts(), cells)
            ok = c.tell(some=False) and ok

        # How players stand at each tick.
        c = Count(f"{demo}: players at each tick")
        for b in d.snapshots(every=1).to_dicts():
            a = ours.get((b["tick"], b["steamid"], b["name"]))
            if a is None:
                c.failed["rows"].append((b["tick"], "none", b["name"]))
                continue
            cells = named(a, b, health="health", armor="armor", money="money") | {f"place.{k}": (a["place"][k], b[k]) for k in "xyz"}
            cells |= {"pitch": (a["angles"]["x"], b["pitch"]), "yaw": (a["angles"]["y"], b["yaw"]), "side": (SIDES[a["team"]], b["side"])}
            weapon = (a["active_item"] or "").removeprefix("weapon_") or None
            cells["active_item"] = weapon, b["active_weapon"]
            # Each knife is a knife for awpy.
            items = [re.sub("^weapon_(knife)?.*", lambda m: m[1] or m[0][7:], i) for i in a["items"]]
            cells["items"] = sorted(items), sorted(i for i in (b["inventory"] or "").split(",") if i)
            for name, (x, y) in cells.items():
                c.cell(name, (b["tick"], b["name"]), x, y)
        ok = c.tell() and ok
    return ok


def dota(demo):
    m = gem.to_dict(gem.parse(demo))
    ok = True
    c = Count(f"{demo}: combat log")
    synthetic = [e for e in m["combat_log"] if str(e["source"]) == "unknown"]
    theirs = [e for e in m["combat_log"] if str(e["source"]) != "unknown"]
    print(f"    {len(synthetic)} entries of gem are no entries of the log, but what heroes carry in the beginning")

    def entry(a, b):
        cells = named(a, b, at_tick="tick", attacker_name="attacker_name", damage_source_name="damage_source_name", target_name="target_name",
                      inflictor_name="inflictor_name", is_attacker_hero="attacker_is_hero", is_target_hero="target_is_hero",
                      is_attacker_illusion="attacker_is_illusion", is_target_illusion="target_is_illusion", ability_level="ability_level",
                      attacker_team="attacker_team", target_team="target_team")
        cells["type"] = a["type"].removeprefix("COMBAT_LOG_TYPE_"), str(b["log_type"])
        cells["timestamp"] = a["timestamp"], b["timestamp_s"]
        cells["modifier_duration"] = a["modifier_duration"], b["modifier_duration_s"]
        cells["modifier_elapsed_duration"] = a["modifier_elapsed_duration"], b["modifier_elapsed_duration_s"] or 0
        return cells

    both(c, rows(demo, "combat_log"), theirs, entry)
    ok = c.tell() and ok

    c = Count(f"{demo}: players each second", GEM)
    samples = rows(demo, "sample_player", "--every", "1")
    by = {(r["at_tick"], r["player_id"]): r for r in samples}
    ticks = sorted({r["at_tick"] for r in samples})
    names = {r["player_id"]: r for r in samples}
    for p in m["players"]:
        last = names.get(p["player_id"])
        for name, theirs in {"hero_name": p["hero_name"], "steam_id": p["steam_id"] or None, "team": p["team"], "hero_id": p["hero_id"], "level": p["level"]}.items():
            c.cell(name, "end", last[name], theirs)
        c.cell("items", "end", sorted(last["items"]), sorted(p["final_items"].values()))
        places = {t: (x, y) for t, x, y in p["position_log"]}
        for i, tick in enumerate(p["times"]):
            r = by[ticks[bisect.bisect_left(ticks, tick) - 1], p["player_id"]]  # gem looks before the tick's packet
            for ours, theirs in {"money": "gold_t", "net_worth": "net_worth_t", "last_hits": "lh_t", "denies": "dn_t", "health": "hp_t", "max_health": "max_hp_t"}.items():
                c.cell(ours, (tick, p["player_id"]), r[ours], p[theirs][i])
            for ours, theirs in {"mana": "mana_t", "max_mana": "max_mana_t"}.items():
                c.cell(ours, (tick, p["player_id"]), r[ours], p[theirs][i])
            for x, there in zip("xy", places[tick]):  # gem's have 16384 more
                c.cell(x, (tick, p["player_id"]), float32(r["place"][x] + 16384), there)
    return c.tell() and ok


def deadlock(demo):
    d, ok = boon.Demo(demo), True
    c = Count(f"{demo}: kills")
    both(c, rows(demo, "fact_kill"), d.kills.to_dicts(), lambda a, b: {"at_tick": (a["at_tick"], b["tick"])})
    ok = c.tell() and ok
    c = Count(f"{demo}: damages")
    both(c, rows(demo, "fact_damage"), d.damage.to_dicts(), lambda a, b: named(
        a, b, at_tick="tick", damage="damage", health="victim_health_new", crit_damage="crit_damage",
        citadel_type="citadel_type", absorbed="damage_absorbed") | {
            "pre_damage": (a["pre_damage"] or 0, b["pre_damage"]), "type": (a["type"] or 0, b["damage_type"]), "hit_group": (a["hit_group"] if a["hit_group"] is not None else -1, b["hitgroup_id"]), "victim": (a["victim"]["index"], b["victim_entity_id"])})
    return c.tell() and ok


def main():
    ok = True
    for demo in sys.argv[2:]:
        with open(demo, "rb") as f:
            head = f.read(1 << 10)
        ok = (deadlock if b"citadel" in head else counter_strike if b"csgo" in head else dota)(demo) and ok
    return ok


if __name__ == "__main__":
    sys.exit(not main())
