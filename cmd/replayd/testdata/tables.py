"""Compares exported Parquet files with the events that replayd cat prints: all rows and all fields, as pyarrow, DuckDB and polars
read them. Usage: tables.py REPLAYD REPLAY..."""

import base64
import hashlib
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import duckdb
import numpy
import polars
import pyarrow
import pyarrow.parquet

POSITION = {"offset", "index", "time"}


def plain(value, kind):
    """The value of a column as replayd cat prints it."""
    if value is None:
        return None
    if pyarrow.types.is_struct(kind):
        fields = {f.name: f.type for f in kind}
        return {k: plain(v, fields[k]) for k, v in value.items() if v is not None and not k.endswith("_case") and k != "present"}
    if pyarrow.types.is_list(kind):
        return tree([plain(v, kind.value_type) for v in value])
    if pyarrow.types.is_int64(kind) or pyarrow.types.is_uint64(kind):
        return str(value)
    if pyarrow.types.is_binary(kind):
        return base64.b64encode(value).decode()
    if pyarrow.types.is_floating(kind):
        if math.isnan(value):
            return "NaN"
        if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
        return float(value)
    return value


def tree(values):
    """Puts the elements of a flat list with depths into those that they are in."""
    if not values or not isinstance(values[0], dict) or "depth" not in values[0]:
        return values
    within = [{"fields": []}]
    for value in values:
        depth = value.pop("depth")
        value["fields"] = []
        within[depth + 1 :] = [value]
        within[depth]["fields"].append(value)
    return within[0]["fields"]


def rounded(value):
    """The value with numbers as the columns have them, and without what has no value."""
    if isinstance(value, dict):
        return {k: rounded(v) for k, v in value.items() if v is not None}
    if isinstance(value, list):
        return [rounded(v) for v in value]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        value = float(numpy.float32(value)) if isinstance(value, float) else value
        return int(value) if float(value).is_integer() else value
    return value


def digest(value):
    return hashlib.sha256(json.dumps(rounded(value), sort_keys=True).encode()).hexdigest()


def events_of(table, kind):
    """The rows of a table as events, without their sequence numbers."""
    types = {f.name: f.type for f in table.schema}
    for row in table.to_pylist():
        event = {"kind": kind, "at_tick": row.pop("at_tick")}
        common = {"warnings", "player", "other_player"} if "warnings" in row else set()
        body = {}
        for name, value in row.items():
            if name in POSITION or value is None or name.endswith("_case"):
                continue
            value = plain(value, types[name])
            if name.startswith(kind + "_") and name[len(kind) + 1 :] in POSITION | {"at_tick", "player", "warnings"}:
                body[name[len(kind) + 1 :]] = value
            elif name in common or name == "player" and pyarrow.types.is_struct(types[name]):
                event[name] = value
            else:
                body[name] = value
        event[kind] = body
        yield event


def cleaned(event):
    """An event of cat without what differs by design."""
    event.pop("sequence", None)
    if not event.get("warnings"):
        event["warnings"] = []
    return event


def one(replayd, replay):
    with tempfile.TemporaryDirectory() as directory:
        export = subprocess.run([replayd, "export", replay, "--to", directory], capture_output=True, text=True)
        cat = subprocess.run([replayd, "cat", replay], capture_output=True)
        if export.returncode != cat.returncode:
            raise SystemExit(f"{replay}: export ends with {export.returncode} ({export.stderr}), cat with {cat.returncode}")
        want = {}
        for line in cat.stdout.splitlines():
            event = json.loads(line)
            want.setdefault(event["kind"], []).append(digest(cleaned(event)))
        rows = 0
        for path in sorted(pathlib.Path(directory).glob("format=*/kind=*/*.parquet")):
            kind = path.parent.name.removeprefix("kind=")
            table = pyarrow.parquet.ParquetFile(path).read()
            got = [digest({"warnings": [], **event}) for event in events_of(table, kind)]
            expected = want.pop(kind, [])
            if got != expected:
                n = next((i for i, (a, b) in enumerate(zip(got, expected)) if a != b), min(len(got), len(expected)))
                raise SystemExit(f"{replay}: {kind}: {len(got)} rows of {len(expected)}, row {n} is {list(events_of(table, kind))[n:n+1]}")
            rows += len(got)
            ordered = [(r["offset"], r["index"]) for r in table.select(["offset", "index"]).to_pylist()]
            if ordered != sorted(set(ordered)):
                raise SystemExit(f"{replay}: {kind}: positions are not in order")
            seen = [hashlib.sha256(repr(r).encode()).digest() for r in table.to_pylist()]
            by_duckdb = duckdb.sql(f"select * from read_parquet('{path}', hive_partitioning = false)").to_arrow_table()
            by_polars = polars.read_parquet(path, hive_partitioning=False).to_arrow()
            for how, other in (("DuckDB", by_duckdb), ("polars", by_polars)):
                if [hashlib.sha256(repr(r).encode()).digest() for r in other.to_pylist()] != seen:
                    raise SystemExit(f"{replay}: {kind}: {how} reads other values")
        if want:
            raise SystemExit(f"{replay}: no files of {sorted(want)}")
        replays = list(pathlib.Path(directory).glob("replays/format=*/*.parquet"))
        if rows and len(replays) != 1:
            raise SystemExit(f"{replay}: {len(replays)} files of the replay itself")
        return rows


if __name__ == "__main__":
    total = 0
    for replay in sys.argv[2:]:
        total += one(sys.argv[1], replay)
    print(len(sys.argv) - 2, "replays,", total, "rows: the same by pyarrow, DuckDB and polars")
