"""Tests of tables: pyarrow, pandas, polars, DuckDB, rows."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from random import Random
from typing import Any

import duckdb
import pandas
import polars
import pyarrow
import pytest

import replayd
from conftest import FINISHED, REPOSITORY, Daemon
from replayd._blocking import Watch
from replayd.v1 import filter_pb2, replay_pb2, stream_pb2

NAME = f"r/teehistorian/finished/{FINISHED.name}"
DOTA = "r/dem/dota.dem"
CS2 = "r/dem/cs2.dem"


def test_tables_hold_the_same_values_as_events(daemon: Daemon) -> None:
    with replayd.connect(daemon.address) as client:
        events = list(client.events(NAME))
        batches = list(client.batches(NAME, tables=True, max_batch_events=100))
        assert [(batch.first_sequence, len(batch)) for batch in batches][:2] == [(0, 100), (100, 100)]
        assert sum(map(len, batches)) == len(events)
        table = client.table(NAME, "player_diff", max_batch_events=100)  # of several batches, of which one has a schema
        moves = [event for event in events if event.kind == "player_diff"]
        assert table.column("x").to_pylist() == [event.value.x for event in moves]
        assert table.column("at_tick").to_pylist() == [event.tick for event in moves]
        names = client.table(NAME, "message", ["name", "at_tick"])
        assert names.column_names == ["name", "at_tick"]
        assert names.column("name").to_pylist() == [event.value.name for event in events if event.kind == "message"]
        aims = client.table(NAME, "input_diff", ["input.target_x"]).column("input.target_x").to_pylist()
        assert aims == [event.value.input.target_x for event in events if event.kind == "input_diff"]
        for compression in (stream_pb2.ARROW_COMPRESSION_LZ4, stream_pb2.ARROW_COMPRESSION_NONE):
            for narrow in (False, True):
                other = client.table(NAME, "player_diff", arrow_compression=compression, narrow_columns=narrow)
                assert other.equals(table, check_metadata=True)
        frame, polar = client.frame(NAME, "player_diff"), client.polars(NAME, "player_diff")
        assert isinstance(frame, pandas.DataFrame) and isinstance(polar, polars.DataFrame)
        assert frame["x"].tolist() == polar["x"].to_list() == [event.value.x for event in moves]
        one = client.frame(NAME, "player_diff", players=[1])
        assert set(one["client_id"]) == {1}
        filters = [filter_pb2.EventFilter(players=[1]), filter_pb2.EventFilter(players=[2])]
        assert set(client.frame(NAME, "player_diff", include=filters)["client_id"]) == {1, 2}
        uploaded = list(client.decode_batches(FINISHED, tables=True, max_batch_events=100))
        assert pyarrow.Table.from_batches([b.tables["join"].arrow() for b in uploaded if "join" in b.tables]).num_rows == 4


def test_field_columns(daemon: Daemon) -> None:
    """A class of entities and a name of game events are tables with a column for each field and key."""
    with replayd.connect(daemon.address) as client:
        bodies = client.table(CS2, "sample_entity", classes=["CCSPlayerPawn"], fields=["m_iHealth"], every=8, field_columns=True)
        samples = [e for e in client.events(CS2, kinds=["sample_entity"], classes=["CCSPlayerPawn"], fields=["m_iHealth"], every=8)]
        assert bodies.column("at_tick").to_pylist() == [e.tick for e in samples] != []
        assert "m_iHealth" in bodies.column_names and "fields" not in bodies.column_names
        deaths: Any = {"types": ["player_death"], "field_columns": True}
        names = ["attacker_name", "weapon"]
        assert client.frame(CS2, "game_event", names, **deaths).to_dict("records") == [{"attacker_name": "Larry", "weapon": "ak47"}]
        assert list(client.rows(CS2, "game_event", names, **deaths)) == [("Larry", "ak47")]


def test_rows(daemon: Daemon) -> None:
    with replayd.connect(daemon.address) as client:
        events = list(client.events(NAME, kinds=["player_diff", "message", "input_diff"]))
        stream = client.rows(NAME, "player_diff", ["at_tick", "dx"], max_batch_events=100)
        got = list(stream)
        assert got == [(event.tick, event.value.dx) for event in events if event.kind == "player_diff"]
        assert type(got[0]) is tuple and type(got[0][0]) is int
        assert stream.end is not None and stream.end.events_sent == len(got) and stream.cursor
        cursor = next(client.batches(NAME, kinds=["player_diff"], max_batch_events=50)).cursor
        assert list(client.rows(NAME, "player_diff", ["at_tick", "dx"], cursor=cursor)) == got[50:]
        messages = list(client.rows(NAME, "message", ["name", "redacted", "raw", "warnings", "error"]))
        assert messages[0][0] == "cl_start_info" and type(messages[0][1]) is bool and type(messages[0][2]) is bytes
        some = next(client.batches(NAME, kinds=["player_diff"], tables=True, columns=["dx", "at_tick"])).tables["player_diff"]
        assert some.arrow().schema.names == ["at_tick", "dx"]
        whole = client.table(NAME, "join")
        assert list(client.rows(NAME, "join")) == list(zip(*(column.to_pylist() for column in whole.columns)))
        inputs = list(client.rows(NAME, "input_diff", ["input.target_x", "input.hook"]))
        assert inputs == [(e.value.input.target_x, e.value.input.hook) for e in events if e.kind == "input_diff"]
        for wrong in ("nothing", "at_tick.x", "input.nothing"):
            with pytest.raises(replayd.ReplaydError, match=wrong.split(".")[-1]):
                list(client.rows(NAME, "input_diff", [wrong]))
        with pytest.raises(TypeError, match="must be a list"):
            client.rows(NAME, "player_diff", "dx")
        for empty in (client.rows, client.table, client.frame):
            with pytest.raises(ValueError, match="columns is empty"):
                empty(NAME, "player_diff", [])
        with pytest.raises(TypeError, match="kinds is not an option here"):
            client.rows(NAME, "player_diff", ["dx"], kinds=["join"])
        with pytest.raises(replayd.ReplaydError, match="nonsense"):
            list(client.rows(NAME, "nonsense", ["dx"]))  # type: ignore[arg-type]

    async def run() -> tuple[list[Any], Any, Any]:
        async with replayd.connect_async(daemon.address) as client:
            rows = [row async for row in client.rows(NAME, "player_diff", ["at_tick", "dx"])]
            return rows, await client.frame(NAME, "player_diff"), await client.polars(NAME, "join")

    rows, frame, joins = asyncio.run(run())
    assert rows == got and len(frame) == len(got) and len(joins) == 4


def test_rows_are_those_of_the_table(daemon: Daemon) -> None:
    """Of every column of every kind of the samples: numbers, texts, names, structs and lists, missing ones too."""
    with replayd.connect(daemon.address) as client:
        for name in (NAME, "r/dem/sample.dem"):
            kinds = {table.kind for batch in client.batches(name, tables=True) for table in batch.tables.values()}
            for kind in sorted(kinds):
                known: Any = kind
                table = client.table(name, known, max_batch_events=100)
                rows = list(client.rows(name, known, table.column_names, max_batch_events=100))
                assert repr(rows) == repr([tuple(row.values()) for row in table.to_pylist()]), (name, kind)  # also of types, and NaN


def test_tables_of_a_daemon_on_this_machine_are_not_compressed(daemon: Daemon) -> None:
    def size(**options: Any) -> int:
        batches = client.batches(NAME, kinds=["player_diff"], tables=True, narrow_columns=False, **options)
        return sum(len(table.message.data) for batch in batches for table in batch.tables.values())

    with replayd.connect(daemon.address) as client:
        none, lz4 = (size(arrow_compression=c) for c in (stream_pb2.ARROW_COMPRESSION_NONE, stream_pb2.ARROW_COMPRESSION_LZ4))
        assert size() == none > 1.5 * lz4
        uploaded = client.decode_batches(FINISHED, kinds=["player_diff"], tables=True, narrow_columns=False)
        assert sum(len(batch.tables["player_diff"].message.data) for batch in uploaded if batch.tables) == none


def test_a_state_is_in_the_table_without_positions(daemon: Daemon) -> None:
    with replayd.connect(daemon.address) as client:
        states = client.table(NAME, "player_state", tick=500, with_state=True)
        expected = [event for event in client.events(NAME, tick=500, with_state=True) if event.state]
    assert states.num_rows == len(expected) > 0 and states.column("offset").null_count == len(expected)


def test_a_kind_without_events_is_an_empty_table(daemon: Daemon) -> None:
    with replayd.connect(daemon.address) as client:
        nothing = client.table(NAME, "antibot")
        assert nothing.num_rows == 0 and {"at_tick", "data"} < set(nothing.column_names)
        assert client.frame(NAME, "antibot", ["at_tick", "data"]).columns.tolist() == ["at_tick", "data"]
        assert list(client.rows(NAME, "antibot", ["at_tick", "data"])) == []


def test_tables_are_read_by_others_and_not_misread(daemon: Daemon) -> None:
    with replayd.connect(daemon.address) as client:
        batch = next(iter(client.batches(NAME, tables=True)))
        with pytest.raises(TypeError, match=r"batch\.tables"):
            list(batch)
        with pytest.raises(TypeError, match=r"batch\.tables"):
            list(client.events(NAME, tables=True))
        moves = batch.tables["player_diff"]
        assert pyarrow.table(moves).equals(pyarrow.Table.from_batches([moves.arrow()]))
        assert polars.DataFrame(moves).shape == (len(moves), moves.arrow().num_columns)
        assert moves.frame().shape == moves.polars().shape
        whole = client.table(NAME, "player_diff")
        assert duckdb.sql("SELECT count(*), max(x) FROM whole").fetchall() == [(whole.num_rows, max(whole.column("x").to_pylist()))]
        wrongs: list[Any] = [moves, batch.tables]
        for wrong in wrongs:
            with pytest.raises((TypeError, ValueError)):
                pandas.DataFrame(wrong)  # it would be a frame of names


def test_entities_are_a_wide_table(daemon: Daemon) -> None:
    """The same as EntityState makes of events."""
    from replayd.entities import EntityState

    fields = ["CBodyComponent.place", "m_iHealth"]
    with replayd.connect(daemon.address) as client:
        state, expected, samples = EntityState(), [], {}
        for event in client.events(DOTA, classes=["CDOTA_Unit_Hero_*"], fields=fields):
            entity = state.apply(event)
            for slot in state:
                samples[event.tick, slot] = state[slot].get("m_iHealth")
            if entity and event.kind in ("entity_created", "entity_updated", "entity_entered"):
                place: Any = entity.fields[fields[0]]
                expected.append((event.tick, entity.index, entity.class_name, *place, entity.fields[fields[1]]))
        table = client.entities(DOTA, "CDOTA_Unit_Hero_*", fields)
        assert table.column_names == [
            "at_tick", "time", "entity", "serial", "class", "CBodyComponent.place.x", "CBodyComponent.place.y",
            "CBodyComponent.place.z", "m_iHealth",
        ]  # fmt: skip
        got = table.drop_columns(["time", "serial"]).to_pylist()
        assert [tuple(row.values()) for row in got] == expected and len(expected) > 4
        sampled = client.entities(DOTA, ["CDOTA_Unit_Hero_*"], fields, every=30)
        every = sampled.to_pylist()
        ticks = sorted({tick for tick, _ in samples})
        for row in every:
            before = max(tick for tick in ticks if tick <= row["at_tick"])
            assert row["at_tick"] % 30 == 0 and row["m_iHealth"] == samples[before, row["entity"]]
            assert row["time"] == pytest.approx(row["at_tick"] / 30)
        assert len(every) == 2 * (max(event.tick for event in client.events(DOTA)) // 30 + 1)
        assert sampled.column_names == table.column_names
        # The daemon takes no samples for patterns, nor of a field that it does not know: the rows are made of the changes.
        changed = client.entities(DOTA, "CDOTA_Unit_Hero_*", ["CBodyComponent.place", "m_iHealt?"], every=30)
        assert changed.equals(sampled)
        ordered = client.entities(DOTA, "CDOTA_Unit_Hero_*", ["m_iNothing", "m_iHealt?", "m_iNothin?", "CBodyComponent.place"], every=30)
        assert ordered.column_names == [*table.column_names[:5], "m_iNothing", "m_iHealth", "m_iNothin?", *table.column_names[5:8]]
        assert ordered["m_iNothing"].null_count == ordered.num_rows and ordered.select(table.column_names).equals(sampled)
        nothing = client.entities(DOTA, "CNothing", ["m_iNothing"])
        assert nothing.num_rows == 0 and "m_iNothing" in nothing.column_names
        with pytest.raises(ValueError, match="every"):
            client.entities(DOTA, "C*", ["m_iHealth"], every=0)

    async def run() -> Any:
        async with replayd.connect_async(daemon.address) as client:
            return await client.entities(DOTA, "CDOTA_Unit_Hero_*", fields)

    assert asyncio.run(run()).equals(table)


TEXTS = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
AXES = pyarrow.struct([pyarrow.field(axis, pyarrow.float32(), nullable=False) for axis in "xyz"])


def sent(kind: str, columns: dict[str, Any]) -> stream_pb2.Table:
    """A table as the daemon sends it."""
    batch = pyarrow.record_batch(columns)
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    schema, end = batch.schema.serialize().to_pybytes(), b"\xff\xff\xff\xff\0\0\0\0"
    return stream_pb2.Table(kind=kind, rows=len(batch), schema=schema, data=sink.getvalue().to_pybytes()[len(schema) :].removesuffix(end))


def test_entities_of_random_events() -> None:
    """Their table is the state that they make one after the other, in whatever batches and tables they come."""
    from replayd._entities import EntityCollector

    random = Random(1)
    change = pyarrow.struct([("field", TEXTS), ("value_case", TEXTS), ("int", pyarrow.int64()), ("vector", AXES)])
    types = {"offset": "int64", "index": "int64", "time": "float64", "serial": "uint16", "class": TEXTS, "fields": pyarrow.list_(change)}
    for _ in range(100):
        every, tick, offset, index, serials = random.choice([1, 2, 5]), -1, 0, 0, [0] * 4
        batches: list[stream_pb2.EventBatch] = []
        state: dict[int, tuple[Any, ...]] = {}  # by slot: serial, class, n, and the coordinates of v
        changed, states = [], {-1: state}  # the state after each tick
        for _ in range(random.randint(1, 4)):
            tables: dict[str, list[dict[str, Any]]] = {}
            first = random.random() < 0.3  # the batch is a state, of entities that have no positions
            for slot in random.sample(range(4), 4) if first else random.choices(range(4), k=12):
                if not first and random.random() < 0.5:
                    tick, offset, index = tick + random.choice([0, 1, 3]), offset + 1, 0
                index += 1
                new, full = first or slot not in state or random.random() < 0.1, random.random() < 0.5
                other = "entity_created" if new else "entity_deleted"
                kind = other if first else random.choice(["entity_updated", "entity_entered", other])
                serials[slot] += new and (kind != "entity_created" or random.random() < 0.5)  # one that is created may have the number of the last
                _, of, *values = (0, random.choice("CD")) if new else state[slot]
                if new or full and kind == "entity_entered":
                    values = [None] * 4
                fields: list[dict[str, Any]] = []
                if "n" in (told := random.sample(["n", "v", "other"], random.randint(0, 3))):
                    values[0] = random.randint(0, 9)
                    fields.append({"field": "n", "value_case": "int", "int": values[0]})
                if "v" in told:
                    values[1:] = random.choices(range(9), k=3)
                    fields.append({"field": "v", "value_case": "vector", "vector": dict(zip("xyz", values[1:]))})
                if "other" in told:
                    fields.append({"field": "other", "value_case": "int", "int": 1})
                row = dict(zip(types, (None if first else offset, None if first else index, tick / 4, serials[slot], of, fields)))
                tables.setdefault(kind, []).append(row | {"at_tick": tick, "slot": slot, "full": full})
                state = {number: entity for number, entity in state.items() if number != slot}
                if kind != "entity_deleted":
                    state[slot] = serials[slot], of, *values
                    if fields and told != ["other"]:
                        changed.append((tick, tick / 4, slot, *state[slot]))
                states[max(tick, 0)] = state
            batches.append(stream_pb2.EventBatch())
            for kind, rows in random.sample([*tables.items()], len(tables)):
                columns = {name: pyarrow.array([row[name] for row in rows], type) for name, type in types.items()}
                ticks = pyarrow.array([row["at_tick"] for row in rows], random.choice(["int16", "int32"]))
                columns["at_tick"] = pyarrow.compute.run_end_encode(ticks) if random.random() < 0.5 else ticks
                columns[f"{kind}_index"] = pyarrow.array([row["slot"] for row in rows], "uint8")
                if kind == "entity_entered":
                    columns["full"] = pyarrow.array([row["full"] for row in rows])
                if kind == "entity_deleted":
                    del columns["fields"]
                batches[-1].tables.append(sent(kind, columns))
        last = tick + random.randint(0, 9)
        sampled = [
            (at, at / 4, slot, *entity)
            for at in range(0, max(last, 0) + 1, every)
            for slot, entity in sorted(states[max(tick for tick in states if tick <= at)].items())
        ]
        for step, expected in (None, sorted(changed, key=lambda row: (row[0], row[2]))), (every, sampled):
            collector = EntityCollector(["n", "v"], step)
            collector.take(stream_pb2.StreamEventsResponse(start=stream_pb2.StreamStart(replay=replay_pb2.Replay(ticks_per_second=4))))
            for batch in batches:
                collector.take(stream_pb2.StreamEventsResponse(batch=batch))
            end = stream_pb2.StreamEnd(reason=stream_pb2.END_REASON_FINISHED, last_tick=last)
            collector.take(stream_pb2.StreamEventsResponse(end=end))
            names = ["at_tick", "time", "entity", "serial", "class", "n", "v.x", "v.y", "v.z"]
            assert [tuple(map(row.get, names)) for row in collector.table().to_pylist()] == expected


def test_a_field_with_values_of_several_kinds() -> None:
    """As of an object of several types: numbers are a column of numbers, numbers and texts one of texts."""
    from replayd._entities import EntityCollector

    values: dict[str, dict[str | None, Any]] = {
        "t": {"text": "a", "int": 7}, "n": {"float": 0.5, "int": 3}, "m": {"int": -3, "uint": 4}, "v": {"text": "a", "blob": b"b"},
        "u": {None: None, "int": 5}, "w": {"vector": dict.fromkeys("xyz", 1), "int": 6},
    }  # fmt: skip
    kinds = {
        "int": pyarrow.int64(), "uint": pyarrow.uint64(), "float": pyarrow.float32(), "text": pyarrow.string(), "blob": pyarrow.binary(),
        "vector": AXES,
    }  # fmt: skip
    change = pyarrow.struct([("field", TEXTS), ("value_case", TEXTS), *kinds.items()])
    fields = [
        [{"field": name, "value_case": [*of][nth], [*of][nth] or "int": [*of.values()][nth]} for name, of in values.items()] for nth in range(2)
    ]
    columns = {
        "offset": [1, 2], "index": [0, 0], "time": [0.5, 1.0], "entity_updated_index": [7, 7], "serial": [1, 1],
        "class": pyarrow.array(["C", "C"]).dictionary_encode(), "fields": pyarrow.array(fields, pyarrow.list_(change)),
    }  # fmt: skip

    def since(tick: int) -> stream_pb2.Table:
        return sent("entity_updated", columns | {"at_tick": pyarrow.array([tick, 32767], "int16")})

    rows = [{"t": "a", "n": 0.5, "m": -3, "v": None, "u": None, "w": None}, {"t": "7", "n": 3.0, "m": 4, "v": None, "u": 5, "w": None}]
    end = stream_pb2.StreamEnd(reason=stream_pb2.END_REASON_FINISHED, last_tick=40000)
    for first, every, count, expected in (
        (1, None, 2, [{"at_tick": 1} | rows[0], {"at_tick": 32767} | rows[1]]),
        (1, 40000, 1, [{"at_tick": 40000} | rows[1]]),  # the ticks that are sent are narrow, those of samples need not be
        (1, 30000, 1, [{"at_tick": 30000} | rows[0]]),
        (-1, 1, 40001, [{"at_tick": 0} | rows[0], {"at_tick": 1} | rows[0]]),
    ):
        collector = EntityCollector([*values], every)
        collector.take(stream_pb2.StreamEventsResponse(batch=stream_pb2.EventBatch(tables=[since(first)])))
        collector.take(stream_pb2.StreamEventsResponse(end=end))
        made = collector.table()
        assert made.num_rows == count and made.slice(0, 2).select(["at_tick", *values]).to_pylist() == expected
        assert made["time"].null_count == (count if every else 0)  # without a clock, only of the rows that were sent


def test_an_entity_has_no_values_of_the_one_before_in_its_slot(daemon: Daemon) -> None:
    """In the sample, slot 0 is used again, and all of slot 9 is told again after it left the view."""
    from replayd.entities import EntityState

    name, fields = "r/dem/sample.dem", ["m_iInt", "m_iUint", "m_bFlag", "m_szName"]
    with replayd.connect(daemon.address) as client:
        state, expected, samples = EntityState(), [], {}
        for event in client.events(name, kinds=EntityState.KINDS):
            entity = state.apply(event)
            told = {event.string(f.field) for f in getattr(event.value, "fields", ())}
            if entity and told.intersection(fields) and event.kind != "entity_deleted":
                expected.append((event.tick, entity.index, entity.serial, *map(entity.get, fields)))
            samples[event.tick] = [(s, e.serial, *map(e.get, fields)) for s, e in sorted(state.items()) if s in (0, 9)]
        for few in (1, 3):  # each batch has names of its own
            assert client.entities(name, "C*", ["*"], max_batch_events=few).equals(client.entities(name, "C*", ["*"]))
        nothing = client.entities(name, "C*", ["m_iNothing"] * 2)  # of entities that were deleted
        assert nothing.num_rows == 0 and nothing.column_names[-2:] == ["class", "m_iNothing"]
        wide = client.entities(name, "C*", fields).select(["entity", "serial", *fields, "at_tick"]).to_pylist()
        assert [(row.pop("at_tick"), *row.values()) for row in wide] == expected
        assert (6, 0, 8, None, 11, None, "default") in expected  # the flag and the number of the entity before are gone
        every = client.entities(name, "CEverything", fields, every=1).select(["at_tick", "entity", "serial", *fields]).to_pylist()
        for tick, rows in samples.items():
            assert [tuple(row.values())[1:] for row in every if row["at_tick"] == tick] == rows


def test_a_missing_extra_is_told_with_the_remedy(daemon: Daemon) -> None:
    program = f"""
import sys
sys.modules[sys.argv[1]] = None
import replayd
with replayd.connect({daemon.address!r}) as client:
    calls = dict(
        rows=lambda: client.rows({NAME!r}, "join", ["at_tick"]), table=lambda: client.table({NAME!r}, "join"),
        frame=lambda: client.frame({NAME!r}, "join"), polars=lambda: client.polars({NAME!r}, "join"),
        entities=lambda: client.entities({DOTA!r}, "C*", ["m"]),
    )
    for call in sys.argv[2:]:
        try:
            calls[call]()
        except ImportError as error:
            print(error)
    print(len(list(client.events({NAME!r}))))
"""
    for missing, calls in (
        ("pyarrow", ["rows", "table", "frame", "polars", "entities"]), ("pandas", ["frame"]), ("polars", ["polars"]),
    ):  # fmt: skip
        run = subprocess.run(
            [sys.executable, "-c", program, missing, *calls], capture_output=True, text=True, check=True,
            env={"PYTHONPATH": str(REPOSITORY / "clients/python/src")},
        )  # fmt: skip
        lines = run.stdout.splitlines()
        assert lines.pop() == "3430" and len(lines) == len(calls)
        extra = "arrow" if missing == "pyarrow" else missing
        assert all(f"needs {missing}: pip install 'replayd[{extra}]'" in line for line in lines), lines


def test_a_directory_is_all_replays_below_it(daemon: Daemon, capsys: pytest.CaptureFixture[str]) -> None:
    told: list[tuple[int, int, str]] = []
    with replayd.connect(daemon.address) as client:
        names = [replay.name for replay in client.replays("r/teehistorian")]
        frame = client.frame("r/teehistorian", "join", progress=lambda *done: told.append(done))
        assert frame.columns[0] == "replay" and len(names) > 3
        assert told == [(i, len(names), name) for i, name in enumerate(names, 1)]
        for name in names:
            one = client.frame(name, "join")
            many = frame[frame["replay"] == name].drop(columns="replay").reset_index(drop=True)
            assert many.astype(str).equals(one.astype(str)), name
        # Formats without the kind are left out, and a kind or a column that none has is an error, as is a name that is nothing.
        everywhere = client.table("r", "join", ["client_id", "at_tick"])
        assert everywhere.column_names == ["replay", "client_id", "at_tick"] and everywhere.num_rows == len(frame)
        assert client.polars("r", "join", ["at_tick"])["replay"].to_list() == frame["replay"].tolist()
        nothing = client.table("r/teehistorian", "antibot", ["at_tick"])
        assert nothing.num_rows == 0 and nothing.column_names == ["replay", "at_tick"]
        with pytest.raises(replayd.ReplaydError, match="nonsense"):
            client.table("r", "nonsense")  # type: ignore[arg-type]
        with pytest.raises(replayd.ReplaydError, match="nonsense"):
            client.table("r", "join", ["nonsense"])
        with pytest.raises(replayd.ReplaydError, match="REPLAY_NOT_FOUND"):
            client.table("r/nothing", "join")
        whole = FINISHED.read_bytes()
        (daemon.root / "teehistorian" / "a.teehistorian").write_bytes(whole[: len(whole) // 2] + b"\xff" * 100)
        assert capsys.readouterr().err == ""
        with pytest.warns(UserWarning, match="r/teehistorian/a.teehistorian: CORRUPT"):
            damaged = client.frame("r/teehistorian", "player_diff", ["at_tick"], progress=True)
        assert damaged["replay"].iloc[0] == "r/teehistorian/a.teehistorian"
        assert f"{len(names) + 1} of {len(names) + 1} replays" in capsys.readouterr().err

    async def run() -> Any:
        async with replayd.connect_async(daemon.address) as client:
            return await client.frame("r/teehistorian/finished", "join")

    assert set(asyncio.run(run())["replay"]) == {NAME}


def test_notebooks_show_tables_and_events(daemon: Daemon) -> None:
    with replayd.connect(daemon.address) as client:
        table = next(client.batches(NAME, kinds=["player_diff"], tables=True)).tables["player_diff"]
        shown = table._repr_html_()
        assert shown.count("<tr>") == 11 and "<th>dx</th>" in shown and f"{len(table)} rows" in shown
        message: Any = next(client.events(NAME, kinds=["message"]))
        message.value.name = "<b>"
        assert "&lt;b&gt;" in message._repr_html_() and "<b>" not in message._repr_html_()


def test_the_version_is_that_of_the_package() -> None:
    assert f'version = "{replayd.__version__}"' in (REPOSITORY / "clients" / "python" / "pyproject.toml").read_text()


def test_streams_have_no_thread(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that passes each response on would take longer than the tables. Only one that watches all streams for silence is there, and
    it ends after them."""
    def watching() -> list[threading.Thread]:
        return [thread for thread in threading.enumerate() if thread.name == "replayd-watch"]

    monkeypatch.setattr(Watch, "_EACH", 0.05)
    Watch._all.clear()  # of streams that other tests have left
    with replayd.connect(daemon.address) as client:
        before = {*threading.enumerate()} - {*watching()}
        with client.batches(NAME, max_batch_events=1) as one, client.batches(NAME, max_batch_events=1) as two:
            next(one), next(two)
            assert {*threading.enumerate()} - before == {*watching()} and len(watching()) == 1
        deadline = time.monotonic() + 10
        while watching() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not watching()
        with client.batches(NAME, max_batch_events=1) as another:
            next(another)
            assert len(watching()) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_watches_only_its_own_streams(daemon: Daemon) -> None:
    """Even when it was forked while the lock was held."""
    with replayd.connect(daemon.address) as client, client.batches(NAME, max_batch_events=1) as stream:
        next(stream)
        with Watch._lock:
            if not (child := os.fork()):
                signal.alarm(10)  # or it would wait for ever
                Watch(iter([1]), 1).read()
                os._exit(len(Watch._all))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
