"""Compares exported Parquet files with the events that replayd cat prints: all rows and all fields, as pyarrow, DuckDB and polars
read them. Usage: tables.py REPLAYD REPLAY...

With TABLES_DONE=FILE it notes each replay that is the same in this file, and leaves out those that are noted there, so that a long
run can be continued. It prints each replay then. The file says nothing of the program: begin with a new one after a change. It goes on after a replay that differs, and fails at the end."""

import base64
import hashlib
import json
import math
import os
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
    if pyarrow.types.is_timestamp(kind):
        digits = "milliseconds" if value.microsecond % 1000 == 0 else "microseconds"
        text = value.isoformat(timespec=digits if value.microsecond else "seconds")
        return text.replace("+00:00", "Z")
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
    return hashlib.sha256(json.dumps(rounded(value), sort_keys=True).encode()).digest()


def parts(table):
    """The table in parts of which Python's objects fit into memory."""
    return (table.slice(at, 2000) for at in range(0, len(table), 2000))


def digests(table):
    """The digest of each row."""
    return [hashlib.sha256(repr(row).encode()).digest() for part in parts(table) for row in part.to_pylist()]


def same(table, other):
    """Whether two tables have the same values. Arrow compares them; what it finds to differ, such as NaN, is compared by rows."""
    try:
        if table.equals(other.cast(table.schema)):
            return True
    except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError, ValueError):
        pass  # not the same types or names of columns
    return digests(table) == digests(other)


def events_of(table, kind):
    """The rows of a table as events, without their sequence numbers."""
    types = {f.name: f.type for f in table.schema}
    for row in table.to_pylist():
        event = {"offset": str(row["offset"]), "index": str(row["index"]), "kind": kind, "at_tick": row.pop("at_tick")}
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
        want = {}
        with subprocess.Popen([replayd, "cat", replay], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as cat:
            for line in cat.stdout:
                event = json.loads(line)
                want.setdefault(event["kind"], []).append(digest(cleaned(event)))
        if export.returncode != cat.returncode:
            raise SystemExit(f"{replay}: export ends with {export.returncode} ({export.stderr}), cat with {cat.returncode}")
        rows = 0
        for path in sorted(pathlib.Path(directory).glob("format=*/kind=*/*.parquet")):
            kind = path.parent.name.removeprefix("kind=")
            table = pyarrow.parquet.ParquetFile(path).read()
            got = [digest({"warnings": [], **event}) for part in parts(table) for event in events_of(part, kind)]
            expected = want.pop(kind, [])
            if got != expected:
                n = next((i for i, (a, b) in enumerate(zip(got, expected)) if a != b), min(len(got), len(expected)))
                row = list(events_of(table.slice(n, 1), kind))
                raise SystemExit(f"{replay}: {kind}: {len(got)} rows of {len(expected)}, row {n} is {row}")
            rows += len(got)
            ordered = list(zip(table["offset"].to_pylist(), table["index"].to_pylist()))
            if ordered != sorted(set(ordered)):
                raise SystemExit(f"{replay}: {kind}: positions are not in order")
            by_duckdb = duckdb.sql(f"select * from read_parquet('{path}', hive_partitioning = false)").to_arrow_table()
            by_polars = polars.read_parquet(path, hive_partitioning=False).to_arrow()
            for how, other in (("DuckDB", by_duckdb), ("polars", by_polars)):
                if not same(table, other):
                    raise SystemExit(f"{replay}: {kind}: {how} reads other values")
        if want:
            raise SystemExit(f"{replay}: no files of {sorted(want)}")
        replays = list(pathlib.Path(directory).glob("replays/format=*/*.parquet"))
        if rows and len(replays) != 1:
            raise SystemExit(f"{replay}: {len(replays)} files of the replay itself")
        return rows


def main(replayd, replays):
    noted = os.environ.get("TABLES_DONE")
    done = set()
    if noted and os.path.exists(noted):
        done = set(pathlib.Path(noted).read_text().splitlines())
    total, checked, failed = 0, 0, []
    for replay in sorted(replays, key=os.path.getsize):
        if replay in done:
            continue
        try:
            rows = one(replayd, replay)
        except SystemExit as error:
            failed.append(str(error))
            print(error, flush=True)
            continue
        total += rows
        checked += 1
        if noted:
            with open(noted, "a") as file:
                file.write(replay + "\n")
            print(replay, rows, flush=True)
    if failed:
        raise SystemExit(f"{len(failed)} of {len(replays)} replays differ")
    print(f"{len(replays)} replays, {checked} of them in this run with {total} rows: the same by pyarrow, DuckDB and polars")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
