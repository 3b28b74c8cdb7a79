"""Does a task some times, with the Python client or with a library, and prints processor time and rows as JSON, for peers.py.

    tables.py TASK RUNS FILE...                with a library, in this process
    tables.py TASK RUNS ADDRESS REPLAY PID     with replayd, whose daemon is the process PID

The first run is not measured when there are several: imports, compiled classes and pools are not what is compared.
"""

from __future__ import annotations

import glob
import importlib
import io
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

MOVES = ["client_id", "dx", "dy"]
SIX = ["at_tick", "client_id", "dx", "dy", "x", "y"]
BODY = ["CBodyComponent.place", "m_iHealth", "m_ArmorValue", "m_iTeamNum"]
TROOPER = ["CBodyComponent.place", "m_iHealth", "m_iMaxHealth", "m_iTeamNum", "m_iLane"]


class Replayd:
    """Tasks of the Python client."""

    def __init__(self, address: str, name: str) -> None:
        self.client, self.name, self.address = importlib.import_module("replayd").connect(address), name, address
        self.client.server_info()

    def loop(self) -> int:
        count = total = 0
        for (dx,) in self.client.rows(self.name, "player_diff", ["dx"]):
            count += 1
            total += dx
        return count

    def frame(self) -> int:
        return len(self.client.frame(self.name, "player_diff", MOVES))

    def table(self) -> int:
        return int(self.client.table(self.name, "player_diff", SIX).num_rows)

    def flight(self) -> int:
        """The same table without the client, as any program with Arrow reads it."""
        flight = importlib.import_module("pyarrow.flight")
        ticket = {"replay": self.name, "include": [{"kinds": ["player_diff"]}], "columns": SIX}
        with flight.FlightClient("grpc://" + self.address) as client:
            return int(client.do_get(flight.Ticket(json.dumps(ticket))).read_all().num_rows)

    def events(self) -> int:
        return sum(1 for _ in self.client.events(self.name))

    def players(self) -> int:
        return len(self.client.entities(self.name, "CCSPlayerPawn", BODY, every=1))

    def troopers(self) -> int:
        """A row at each tick, which are some 13 times as many as boon's."""
        return len(self.client.entities(self.name, "CNPC_Trooper*", TROOPER, every=1))

    def troopers_changed(self) -> int:
        """A row for each change: fewer than boon's, which has one at each packet, as nothing changes in some."""
        return len(self.client.entities(self.name, ["CNPC_Trooper", "CNPC_TrooperBoss"], TROOPER))

    def game_events(self) -> int:
        return len(self.client.frame(self.name, "game_event")) + len(self.client.frame(self.name, "server_cvar"))

    def orders(self) -> int:
        return len(self.client.frame(self.name, "cmd", ["at_tick", "player.name", "abil.name"]))

    def units(self) -> int:
        return len(self.client.frame(self.name, "unit_born", ["at_tick", "unit.type_name", "x", "y"]))


class Peers:
    """The same with the libraries that users have. Each method begins with the name of its library."""

    def __init__(self, paths: list[str], library: str) -> None:
        self.paths, self.path = paths, paths[0]
        self.pandas: Any = importlib.import_module("pandas")
        self.library: Any = importlib.import_module(library)

    def teehistorian_py_events(self) -> int:
        return sum(1 for _ in self.library.parse(self.path))

    def teehistorian_py_loop(self) -> int:
        moves = (chunk for chunk in self.library.parse(self.path) if isinstance(chunk, self.library.PlayerDiff))
        count = total = 0
        for chunk in moves:
            count += 1
            total += chunk.dx
        return count

    def teehistorian_py_frame(self) -> int:
        chunks = (chunk for chunk in self.library.parse(self.path) if isinstance(chunk, self.library.PlayerDiff))
        return len(self.pandas.DataFrame([(chunk.client_id, chunk.dx, chunk.dy) for chunk in chunks], columns=MOVES))

    def demoparser2_players(self) -> int:
        return len(self.library.DemoParser(self.path).parse_ticks(["X", "Y", "Z", "health"]))

    def demoparser2_game_events(self) -> int:
        parser = self.library.DemoParser(self.path)
        return sum(len(frame) for _, frame in parser.parse_events(parser.list_game_events()))

    def awpy_players(self) -> int:
        return len(self.library.Demo(self.path).ticks())

    def boon_troopers(self) -> int:
        return len(self.library.Demo(self.path, preload=False).troopers)

    def sc2reader_whole(self) -> int:
        return sum(len(self.library.load_replay(io.BytesIO(Path(path).read_bytes()), load_level=4).events) for path in self.paths)

    def sc2reader_orders(self) -> int:
        of = importlib.import_module("sc2reader.events.game").CommandEvent
        events = (e for e in self.library.load_replay(self.path, load_level=4).events if isinstance(e, of) and not e.name.startswith("Update"))
        return len(self.pandas.DataFrame([(e.frame, e.player.name, e.ability_name) for e in events], columns=["frame", "player", "ability"]))

    def sc2reader_units(self) -> int:
        of = importlib.import_module("sc2reader.events.tracker").UnitBornEvent
        events = (e for e in self.library.load_replay(self.path, load_level=3).tracker_events if type(e) is of)
        return len(self.pandas.DataFrame([(e.frame, e.unit_type_name, e.x, e.y) for e in events], columns=["frame", "type", "x", "y"]))


class Write:
    """Writes the tables of an export again, with pyarrow: nothing is decoded. With differences of integers, or with its defaults."""

    def __init__(self, export: str, how: str) -> None:
        self.parquet: Any = importlib.import_module("pyarrow.parquet")
        self.types: Any = importlib.import_module("pyarrow.types")
        self.tables = [self.parquet.ParquetFile(path).read() for path in sorted(glob.glob(f"{export}/format=*/kind=*/*.parquet"))]
        self.differences, self.bytes = how == "differences", 0

    def options(self, table: Any) -> dict[str, Any]:
        if not self.differences:
            return {}
        integers = {f.name: "DELTA_BINARY_PACKED" for f in table.schema if self.types.is_integer(f.type) and f.type.bit_width >= 32}
        return {"use_dictionary": [f.name for f in table.schema if f.name not in integers], "column_encoding": integers}

    def write(self) -> int:
        with tempfile.TemporaryDirectory(dir="/dev/shm") as to:
            for i, table in enumerate(self.tables):
                self.parquet.write_table(table, f"{to}/{i}.parquet", compression="zstd", **self.options(table))
            self.bytes = sum(path.stat().st_size for path in Path(to).iterdir())
        return sum(table.num_rows for table in self.tables)


def busy(pid: int) -> float:
    """The processor time of a process in seconds."""
    total = 0
    for task in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        try:
            total += int(Path(task).read_text().split()[0])
        except OSError:
            pass  # the thread has ended
    return total / 1e9


def main() -> None:
    task, runs, *rest = sys.argv[1:]
    library = next((name for name in ("teehistorian_py", "demoparser2", "awpy", "boon", "sc2reader") if task.startswith(name)), None)
    pid = 0
    if library:
        run = getattr(Peers(rest, library), task)
    elif task == "write":
        run = Write(*rest).write
    else:
        address, name, pid = rest[0], rest[1], int(rest[2])
        if task not in ("flight", "table"):  # beside pandas, glibc gives back the memory of each message of Flight: 7,500 page faults
            importlib.import_module("pandas")
        run = getattr(Replayd(address, name), task)
    if int(runs) > 1:
        run()
    daemon, own, began = busy(pid), time.process_time(), time.perf_counter()
    rows = sum(run() for _ in range(int(runs)))
    wall, own, daemon = time.perf_counter() - began, time.process_time() - own, busy(pid) - daemon
    size = getattr(getattr(run, "__self__", None), "bytes", 0)
    print(json.dumps({"cpu": own + daemon, "daemon": daemon, "wall": wall, "n": rows, "bytes": size}))


if __name__ == "__main__":
    main()
