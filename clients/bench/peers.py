"""Compares tables of the Python client with other libraries that read the same files in their own process.

    make build && python3 -m venv .cache/peers
    .cache/peers/bin/pip install './clients/python[pandas]' -r clients/bench/peers.txt
    .cache/peers/bin/python clients/bench/peers.py ../shared/corpus [--base CHECKOUT] [TASK...]

Each side of a task runs in a process of its own, sides in turns, all on one and the same processor: so threads are equal. The time is
processor time, of the daemon too, from an opened library (a running daemon) to the result; imports and the start of the daemon are
not in it. Of the runs the shortest counts. The first of a process is given beside it: the daemon keeps what it knows of a demo's
classes, so later ones are faster. --base is a checkout of the commit before tables (381a829) with bin/replayd built.
"""

from __future__ import annotations

import argparse
import glob
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
MOVES = "teehistorian/ddnet-16.4/1ef1b84f-*.teehistorian"
CS2 = "dem/demofile-net/14065.dem"
SC2 = "sc2replay/5.0.16.*/spawningtool__patch_5_0_16b.SC2Replay"
TASKS = {
    "loop": (MOVES, "a loop over one kind and one field"),
    "moves": (MOVES, "a pandas frame of all moves"),
    "arrow": (MOVES, "an Arrow table of all moves, six columns"),
    "places": (CS2, "a frame of place and health of each player at each tick"),
    "events": (CS2, "frames of all game events"),
    "orders": (SC2, "a frame of all orders: time, player, ability"),
    "units": (SC2, "a frame of all units born: time, type, place"),
}
MOVE = ["at_tick", "client_id", "dx", "dy", "x", "y"]
RUNS, PROCESSES = 5, 3


# The peers. Each takes a path and returns how many rows there were.


def teehistorian_loop(path: str) -> int:
    import teehistorian_py as th

    count = total = 0
    for chunk in th.parse(path):
        if isinstance(chunk, th.PlayerDiff):
            count += 1
            total += chunk.dx
    return count


def teehistorian_moves(path: str) -> int:
    import pandas
    import teehistorian_py as th

    moves = [(chunk.client_id, chunk.dx, chunk.dy) for chunk in th.parse(path) if isinstance(chunk, th.PlayerDiff)]
    return len(pandas.DataFrame(moves, columns=["client_id", "dx", "dy"]))


def demoparser_places(path: str) -> int:
    from demoparser2 import DemoParser

    return len(DemoParser(path).parse_ticks(["X", "Y", "Z", "health"]))


def demoparser_events(path: str) -> int:
    from demoparser2 import DemoParser

    parser = DemoParser(path)
    return sum(len(frame) for _, frame in parser.parse_events(parser.list_game_events()))


def sc2reader_orders(path: str) -> int:
    import pandas
    import sc2reader
    from sc2reader.events.game import CommandEvent

    events = sc2reader.load_replay(path, load_level=4).events
    commands = (e for e in events if isinstance(e, CommandEvent) and not e.name.startswith("Update"))
    orders = [(e.frame, e.player.name, e.ability_name) for e in commands]
    return len(pandas.DataFrame(orders, columns=["frame", "player", "ability"]))


def sc2reader_units(path: str) -> int:
    import pandas
    import sc2reader
    from sc2reader.events.tracker import UnitBornEvent

    events = sc2reader.load_replay(path, load_level=3).tracker_events
    units = [(e.frame, e.unit_type_name, e.x, e.y) for e in events if type(e) is UnitBornEvent]
    return len(pandas.DataFrame(units, columns=["frame", "type", "x", "y"]))


PEERS: dict[str, tuple[str, Callable[[str], int]]] = {
    "loop": ("teehistorian-py", teehistorian_loop),
    "moves": ("teehistorian-py", teehistorian_moves),
    "places": ("demoparser2", demoparser_places),
    "events": ("demoparser2", demoparser_events),
    "orders": ("sc2reader", sc2reader_orders),
    "units": ("sc2reader", sc2reader_units),
}


def loop(client: Any, name: str) -> int:
    count = total = 0
    for (dx,) in client.rows(name, "player_diff", ["dx"]):
        count += 1
        total += dx
    return count


def columns(client: Any, name: str) -> int:
    """What the commit before tables had: numpy arrays, here made one Arrow table."""
    import pyarrow

    parts = []
    for batch in client.batches(name, kinds=["player_diff"], columns=True):
        if (moves := batch.columns.get("player_diff")) is not None:
            parts.append(pyarrow.table({name: moves[name] for name in MOVE}))
    return int(pyarrow.concat_tables(parts).num_rows)


OURS: dict[str, Callable[[Any, str], int]] = {
    "loop": loop,
    "moves": lambda client, name: len(client.frame(name, "player_diff", ["client_id", "dx", "dy"])),
    "arrow": lambda client, name: client.table(name, "player_diff", MOVE).num_rows,
    "places": lambda client, name: len(
        client.entities(name, "CCSPlayerPawn", ["CBodyComponent.place", "m_iHealth"], every=1).to_pandas()
    ),
    "events": lambda client, name: len(client.frame(name, "game_event")) + len(client.frame(name, "server_cvar")),
    "orders": lambda client, name: len(client.frame(name, "cmd", ["at_tick", "player.name", "abil.name"])),
    "units": lambda client, name: len(client.frame(name, "unit_born", ["at_tick", "unit.type_name", "x", "y"])),
}


@contextmanager
def daemon(binary: Path, path: str) -> Iterator[tuple[str, str, int]]:
    """A daemon for one file: its address, the name of the file there, and its process."""
    with tempfile.TemporaryDirectory() as root, socket.socket() as probe:
        shutil.copy(path, root)
        probe.bind(("127.0.0.1", 0))
        address = "127.0.0.1:%d" % probe.getsockname()[1]
        probe.close()
        command: list[str] = [str(binary), "serve", "--listen", address, "--root", f"r={root}", "--web-listen", "none", "--log-level", "error"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            while socket.socket().connect_ex(("127.0.0.1", int(address.split(":")[1]))):
                time.sleep(0.02)
            time.sleep(1)  # it has looked through its files then
            yield address, "r/" + os.path.basename(path), process.pid
        finally:
            process.kill()
            process.wait()


def busy(pid: int) -> float:
    """The processor time of a process in seconds."""
    tasks = glob.glob(f"/proc/{pid}/task/*/schedstat")
    return sum(int(Path(task).read_text().split()[0]) for task in tasks) / 1e9


def measure(run: Callable[[], int], pid: int | None) -> dict[str, Any]:
    times = []
    count = 0
    for _ in range(RUNS):
        own, theirs = time.process_time(), busy(pid) if pid else 0.0
        count = run()
        times.append((time.process_time() - own, busy(pid) - theirs if pid else 0.0))
    best = min(times, key=sum)
    return {"rows": count, "best": sum(best), "first": sum(times[0]), "daemon": best[1]}


def side(task: str, who: str, path: str, binary: Path) -> None:
    """Measures one side of a task in this process, and prints the result."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # the daemon inherits it
    import pandas  # noqa: F401

    if who == "peer":
        library, peer = PEERS[task]
        __import__(library.replace("-", "_"))
        print(json.dumps(measure(lambda: peer(path), None)))
        return
    import replayd

    run = columns if who == "base" else OURS[task]
    with daemon(binary, path) as (address, name, pid), replayd.connect(address) as client:
        client.server_info()
        print(json.dumps(measure(lambda: run(client, name), pid)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("tasks", nargs="*", metavar="TASK", help=f"default all of {', '.join(TASKS)}")
    parser.add_argument("--base", type=Path)
    parser.add_argument("--side", help=argparse.SUPPRESS)
    arguments = parser.parse_intermixed_args()
    if arguments.side:
        checkout = arguments.base or REPOSITORY
        side(arguments.tasks[0], arguments.side, str(arguments.corpus), checkout / "bin" / "replayd")
        return
    for task in arguments.tasks or TASKS:
        pattern, title = TASKS[task]
        path = next(iter(glob.glob(str(arguments.corpus / pattern))), None)
        others = ["peer"] if task in PEERS else ["base"] if arguments.base else []
        if path is None or not others:
            print(f"{task}: skipped, no file {pattern}" if path is None else f"{task}: skipped without --base")
            continue
        results: dict[str, list[dict[str, Any]]] = {}
        for _ in range(PROCESSES):
            for who in ("ours", *others):
                command = [sys.executable, __file__, path, task, "--side", who]
                environment = dict(os.environ)
                if who == "base":
                    command += ["--base", str(arguments.base)]
                    environment["PYTHONPATH"] = str(arguments.base / "clients" / "python" / "src")
                made = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
                results.setdefault(who, []).append(json.loads(made.splitlines()[-1]))
        print(f"{task}: {title} ({os.path.basename(path)})")
        best = {who: min(runs, key=lambda run: run["best"]) for who, runs in results.items()}
        for who, run in best.items():
            name = {"ours": "replayd", "base": "columns, before tables"}.get(who) or PEERS[task][0]
            first = min(other["first"] for other in results[who])
            print(
                f"  {name:24} {run['rows']:8} rows {run['best'] * 1e3:8.1f} ms of a processor ({run['daemon'] * 1e3:.1f} the daemon's); "
                f"first {first * 1e3:8.1f}; {best['ours']['best'] / run['best']:.2f} of it is replayd's"
            )


if __name__ == "__main__":
    main()
