#!/usr/bin/env python3
"""Measures replayd beside other programs, in turns, and prints a table of ratios. README.md says how to read it.

    make peers [PEERS='maps sc2'] [ROUNDS=9] [CORPUS=...]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import socket
import statistics
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import build
from build import CACHE, HERE, ROOT, Skip
from tables import busy

ONE = {"GOMAXPROCS": "1"}
CLIENT = {"PYTHONPATH": str(ROOT / "clients" / "python" / "src")}
MOVES = "teehistorian/ddnet-16.4/1ef1b84f-*.teehistorian"
SHORT = "teehistorian/*/e27dd82b-*.teehistorian"
SC2 = "sc2replay/5.0.16.*/spawningtool__patch_5_0_16b.SC2Replay"
LONG = 50 << 20


@dataclass
class Side:
    """A program that does some work runs times. Its last line is JSON; without, the processor time of the whole process counts."""

    name: str
    command: list[str]
    runs: int = 1
    environment: dict[str, str] = field(default_factory=dict)
    daemon: int = 0  # a process whose processor time is added
    json: bool = True
    stdin: str = os.devnull

    def measure(self) -> dict[str, float]:
        daemon, own, began = busy(self.daemon), children(), time.perf_counter()
        out = subprocess.PIPE if self.json else subprocess.DEVNULL
        with open(self.stdin, "rb") as stdin:
            done = subprocess.run(self.command, stdin=stdin, stdout=out, stderr=subprocess.PIPE, env=os.environ | CLIENT | self.environment)
        if done.returncode:
            raise Skip(f"{self.name} failed: {done.stderr.decode().strip()[-200:]}")
        found = {"cpu": children() - own, "wall": time.perf_counter() - began}
        if self.json:
            found |= json.loads(done.stdout.splitlines()[-1])
        if self.daemon:
            found["daemon"] = busy(self.daemon) - daemon
            found["cpu"] += found["daemon"]
        if found.get("n"):
            found["each"] = found["cpu"] / found["n"] * self.runs
        return {key: value / self.runs for key, value in found.items()}


def children() -> float:
    """The processor time of processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


Runs = list[dict[str, float]]


class Table:
    """Prints a row for each comparison. What is behind is bold, and work that is that of the row above is left out."""

    def __init__(self, rounds: int) -> None:
        self.rounds, self.behind, self.skipped, self.work = rounds, 0, 0, ""

    def head(self) -> None:
        print("| work | against | today | asked |\n|---|---|---|---|", flush=True)

    def row(self, work: str, against: str, value: float, asked: float, unit: str = "", most: bool = False) -> None:
        """most: what is asked is the most, and not the least."""
        ahead = value <= asked if most else value >= asked
        self.behind += not ahead
        digits = 0 if value >= 100 else 1 if value >= 20 or unit else 2
        bold, bound = "" if ahead else "**", "≤ " if most else ""
        print(f"| {'' if work == self.work else work} | {against} | {bold}{value:.{digits}f}{unit}{bold} | {bound}{asked:g}{unit} |", flush=True)
        self.work = work

    def skip(self, work: str, why: object) -> None:
        self.skipped += 1
        print(f"| {work} | skipped: {' '.join(str(why).split()).replace('|', '/')} | | |", flush=True)

    def turns(self, sides: list[Side], rounds: int = 99) -> list[Runs]:
        """Measures sides in turns: A B C, C B A, A B C, ..."""
        found: list[Runs] = [[] for _ in sides]
        for n in range(min(rounds, self.rounds)):
            for i in range(len(sides))[:: 1 - 2 * (n % 2)]:
                found[i].append(sides[i].measure())
        return found

    def compare(self, work: str, ours: Callable[[], Side], *others: tuple[Callable[[], list[Side]], float], rounds: int = 99, key: str = "cpu") -> None:
        """Prints how often the time of a side of ours is in that of each other one."""
        peers: list[Side] = []
        asked: list[float] = []
        try:
            own = ours()
        except Skip as why:
            return self.skip(work, why)
        for make, bound in others:
            try:
                made = make()
                made[0].measure()  # it is read, cached, and can be done
            except Skip as why:
                self.skip(work, why)
                continue
            peers += made
            asked += [bound] * len(made)
        if peers:
            mine, *theirs = self.turns([own, *peers], rounds)
            for side, runs, bound in zip(peers, theirs, asked):
                self.row(work, side.name, median(runs, mine, key), bound)


def median(of: Runs, to: Runs, key: str = "cpu") -> float:
    """The median of the ratios of rounds."""
    return statistics.median(a[key] / b[key] for a, b in zip(of, to))


def middle(of: Runs, key: str, divisor: float = 1) -> float:
    return statistics.median(run[key] for run in of) / divisor


def ours(task: str, runs: int, *files: str, environment: dict[str, str] = ONE) -> Callable[[], Side]:
    return lambda: Side("replayd", [build.peers(), task, str(runs), *files], runs, environment)


def in_go(name: str, task: str, runs: int, *files: str) -> Callable[[], list[Side]]:
    return lambda: [Side(name, [build.peers(), task, str(runs), *files], runs, ONE)]


def in_rust(name: str, runs: int, *files: str) -> Callable[[], list[Side]]:
    task = name.split()[0]
    return lambda: [
        Side(f"crate {name}, {how}", [build.rust(profile), task, str(runs), *files], runs)
        for profile, how in (("best", "fat LTO"), ("release", "as users build it"))
    ]


def in_python(name: str, task: str, runs: int, *files: str) -> Callable[[], list[Side]]:
    return lambda: [Side(name, [build.python(), str(HERE / "tables.py"), task, str(runs), *files], runs)]


def readable(files: list[str], *checks: list[str], most: int) -> list[str]:
    """Files that all of the decoders read, evenly among them."""
    for check in checks:
        files = subprocess.run([*check, *files], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout.splitlines()
    return files[:: max(1, len(files) // most)][:most]


def free() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


@contextmanager
def running(*command: str, address: str, environment: dict[str, str] | None = None) -> Iterator[int]:
    """A server; gives its process number once it listens."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=os.environ | (environment or {})) as process:
        try:
            host, port = address.split(":")
            while process.poll() is None:
                with socket.socket() as probe:
                    if probe.connect_ex((host, int(port))) == 0:
                        break
                time.sleep(0.01)
            else:
                raise Skip(f"{command[0]} ended with {process.returncode}")
            yield process.pid
        finally:
            process.kill()


@dataclass
class Daemon:
    address: str
    web: str
    pid: int

    def table(self, task: str, runs: int, name: str) -> Callable[[], Side]:
        """The Python client and the daemon together."""
        command = [build.python(), str(HERE / "tables.py"), task, str(runs), self.address, "r/" + name, str(self.pid)]
        return lambda: Side("replayd", command, runs)

    def receive(self, runs: int, name: str, *options: str) -> Side:
        return Side("replayd", [build.peers(), "receive", self.address, "r/" + name, str(runs), *options], runs, daemon=self.pid)


@contextmanager
def daemon(root: Path | None = None, program: str = "", environment: dict[str, str] | None = None) -> Iterator[Daemon]:
    address, web = free(), free()
    command = [program or build.replayd(), "serve", "--root", f"r={root or build.replays()}", "--listen", address, "--web-listen", web, "--log-level", "error"]
    with running(*command, address=address, environment=environment) as pid:
        time.sleep(2)  # it looks through its files
        yield Daemon(address, web, pid)


def teehistorian(t: Table) -> None:
    for pattern, runs in ((MOVES, 5), (SHORT, 60)):
        file = build.corpus(pattern)[0]
        t.compare(
            f"teehistorian decode, {Path(file).stat().st_size / 1e6:.2g} MB, one core", ours("teehistorian", runs, file),
            (in_rust("teehistorian 0.12.0", runs, file), 1.5),
            (lambda: [Side("reading only varints, in C", [build.varints(), str(runs), file], runs)], 0.65),
            (in_python("teehistorian-py, counting", "teehistorian_py_events", runs, file), 1),
        )  # fmt: skip


def maps(t: Table) -> None:
    files = readable(build.corpus("datafile/**/*.map"), [build.peers(), "check", "map-all"], [build.rust("best"), "check", "twmap"], most=10)
    t.compare(f"{len(files)} maps: tiles, images, sounds, quads", ours("map", 1, *files), (in_rust("twmap 0.16.0", 1, *files), 3))
    t.compare(f"{len(files)} maps: all kinds", ours("map-all", 1, *files), (in_rust("twmap 0.16.0", 1, *files), 1))


def sc2(t: Table) -> None:
    checks = [[build.peers(), "check", "s2prot"], [build.peers(), "check", "sc2"], [build.rust("best"), "check", "s2protocol"]]
    files = readable(build.corpus("sc2replay/**/*.SC2Replay"), *checks, most=20)
    work = f"StarCraft II, {len(files)} whole replays, one core"
    t.compare(
        work, ours("sc2", 1, *files), (in_rust("s2protocol 5.0.0", 1, *files), 1), (in_go("s2prot 1.5.2", "s2prot", 1, *files), 1),
        (in_python("sc2reader 1.9.0", "sc2reader_whole", 1, *files), 1),
    )  # fmt: skip
    if (os.cpu_count() or 1) > 1:
        two = ours("sc2", 1, *files, environment={"GOMAXPROCS": "2"})
        t.compare("the same on two cores, by the clock", two, (lambda: [Side("one core", ours("sc2", 1, *files)().command, environment=ONE)], 1.8), key="wall")


def dem(t: Table) -> None:
    dota = build.corpus("dem/haste/auto-20240102-2233-start-____.dem")[0]
    long = build.made("long.dem", build.peers(), "lengthen", dota, "TO", LONG)
    crate = in_rust("source2-demo 0.5.10", 1, long)
    t.compare(
        "dem, all entities, 52 MB", ours("dem", 1, long), (crate, 1.1), (in_go("manta 1.4.4", "manta", 1, long), 1),
        (lambda: [Side("clarity 2.7.9, warm", ["java", "-XX:+UseSerialGC", "-cp", build.clarity(), "Entities", "6", long])], 1),
    )  # fmt: skip
    t.compare("dem, six fields of the heroes", ours("dem-heroes", 1, long), (crate, 2))
    cat = lambda: Side("replayd", [build.replayd(), "cat", "--format", "proto", long], environment=ONE, json=False)  # noqa: E731
    t.compare("dem, events encoded, 52 MB", cat, (crate, 0.9))
    if (os.cpu_count() or 1) < 2:
        raise Skip("this machine has one processor")
    with daemon() as two, daemon(environment=ONE) as one:
        t.compare("52 MB demo to a client, daemon on two cores, by the clock", lambda: two.receive(1, "long.dem"),
                  (lambda: [Side("the same with GOMAXPROCS=1", one.receive(1, "long.dem").command)], 1), key="wall")  # fmt: skip


def entities(t: Table) -> None:
    newer, older = (build.copied(f"dem/demofile-net/{name}.dem", f"{name}.dem") for name in ("14065", "14011"))
    long = build.made("cs2.dem", build.peers(), "lengthen", newer, "TO", LONG)
    deadlock = build.made("deadlock.dem", "go", "test", "-C", "bench/dem", "-run", "WriteBroadcast", "-broadcast", "TO", ".")
    with daemon() as d:
        for file, what, runs, asked in ((newer, "14065", 100, 1), (older, "14011", 100, 1), (long, "14065 lengthened to 52 MB", 3, 2)):
            others = [(in_python("awpy 3.1.1, ticks()", "awpy_players", runs, file), asked)]
            if file == newer:  # it cannot read the others
                others.append((in_python("demoparser2 0.42.0, parse_ticks()", "demoparser2_players", runs, file), 1))
            t.compare(f"place, health, armour, team of each player each tick, CS2 {what}", d.table("players", runs, Path(file).name), *others)
        boon = in_python("boon 0.19.0, a row at each packet", "boon_troopers", 40, deadlock)
        t.compare("Deadlock troopers, a row at each change", d.table("troopers_changed", 40, "deadlock.dem"), (boon, 1))
        t.compare("Deadlock troopers, a row at each tick: time of a row", d.table("troopers", 10, "deadlock.dem"), (boon, 1), key="each")
        game_events = in_python("demoparser2 0.42.0, parse_events()", "demoparser2_game_events", 20, newer)
        t.compare("all game events, CS2 14065", d.table("game_events", 20, "14065.dem"), (game_events, 1))


def python(t: Table) -> None:
    moves, replay = build.copied(MOVES, "moves.teehistorian"), build.copied(SC2, "orders.SC2Replay")
    with daemon() as d:
        for task, asked in (("events", 0.5), ("loop", 1), ("frame", 1)):
            t.compare(f"Python, teehistorian 6.3 MB: {task}", d.table(task, 3, "moves.teehistorian"),
                      (in_python("teehistorian-py 2025.2.2", f"teehistorian_py_{task}", 3, moves), asked))  # fmt: skip
        for task in ("orders", "units"):
            t.compare(f"Python, StarCraft II: {task}", d.table(task, 5, "orders.SC2Replay"),
                      (in_python("sc2reader 1.9.0", f"sc2reader_{task}", 5, replay), 1))  # fmt: skip
        flight, table = t.turns([d.table("flight", 3, "moves.teehistorian")(), d.table("table", 3, "moves.teehistorian")()])
        t.row("Flight DoGet, six columns", "own table(), processor time", median(flight, table), 1.2, " times", most=True)


def stream(t: Table) -> None:
    build.copied(MOVES, name := "moves.teehistorian")
    recorded, bare = CACHE / "moves.messages", free()
    with daemon() as d:
        subprocess.run([build.peers(), "record", d.address, "r/" + name, recorded], check=True)
        with running(build.peers(), "serve", bare, str(recorded), address=bare) as pid:
            floor = Side("gRPC", [build.peers(), "receive", bare, name, "5"], 5, daemon=pid)
            rows, arrow, grpc = t.turns([d.receive(5, name), d.receive(3, name, "arrow"), floor])
        count = rows[0]["n"]
        each = 1e-9 * count
        t.row("file to a Go client, daemon's time an event", f"bare gRPC with the same messages: {middle(grpc, 'daemon', each):.1f} ns", middle(rows, "daemon", each), 18, " ns", most=True)
        t.row("all kinds as Arrow, daemon's time an event", f"rows: {middle(rows, 'daemon', each):.1f} ns", middle(arrow, "daemon", each), 40, " ns", most=True)
        url, file = f"http://{d.web}/v1/replays/r/{name}/events", str(build.replays() / name)
        curl = [build.need("curl"), "-sSf", "-o", "/dev/null"]
        cat, lines, sse = t.turns([
            Side("cat", [build.replayd(), "cat", file], json=False),
            Side("NDJSON", [*curl, url], json=False, daemon=d.pid),
            Side("SSE", [*curl, "-H", "Accept: text/event-stream", url], json=False, daemon=d.pid),
        ])  # fmt: skip
        for what, runs in (("NDJSON", lines), ("SSE", sse)):
            t.row(f"{what}, daemon and curl, an event", f"`replayd cat`: {middle(cat, 'cpu', each):.0f} ns", middle(runs, "cpu", each), 150, " ns", most=True)
    text = CACHE / "moves.jsonl"
    with text.open("wb") as out:
        subprocess.run([build.replayd(), "cat", file], stdout=out, check=True)
    t.compare("JSON lines of a recording", lambda: Side("replayd", [build.replayd(), "cat", file], json=False),
              (lambda: [Side("jq -c . of these lines", [build.need("jq"), "-c", "."], json=False, stdin=str(text))], 1), rounds=1)  # fmt: skip


def export(t: Table) -> None:
    to = CACHE / "export"
    export = [build.replayd(), "export", build.corpus(MOVES)[0], "--to", str(to), "--again"]
    shutil.rmtree(to, ignore_errors=True)
    subprocess.run(export, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    write = [build.python(), str(HERE / "tables.py"), "write", "1", str(to)]
    sides = [Side("pyarrow, which writes the same tables", [*write, "defaults"]), Side("pyarrow, with differences of integers", [*write, "differences"])]
    mine, *theirs = t.turns([Side("replayd", export, json=False), *sides])
    size = sum(path.stat().st_size for path in to.glob("format=*/*/*.parquet"))
    for side, runs in zip(sides, theirs):
        t.row("export of everything to Parquet", side.name, median(runs, mine), 1)
        t.row("... its bytes", side.name, runs[0]["bytes"] / size, 1)


def live(t: Table) -> None:
    command = [build.go("live", "./bench/live"), "-daemon", build.replayd(), "-rounds", str(t.rounds), "-files", "1", "-followers", "10,1000", "-seconds", "3"]
    found: dict[tuple[str, str], list[dict[str, float]]] = {}
    for line in subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()[2:]:
        _, followers, what, _, p99, _, missing, cpu, *_ = (cell.strip(" %") for cell in line.strip("|").split("|"))
        found.setdefault((followers, what), []).append({"p99": float(p99), "missing": float(missing), "cpu": float(cpu)})
    for followers, asked in (("10", 2), ("1000", 1.2)):
        mine, plain = found[followers, "replayd"], found[followers, "plain"]
        t.row(f"{followers} followers of one full server", "bare TCP, processor time", median(mine, plain), asked, " times", most=True)
    t.row("... p99 of 1000", f"bare TCP: {middle(plain, 'p99'):.1f} ms", middle(mine, "p99"), 10, " ms", most=True)
    t.row("... ticks that are missing", "", max(run["missing"] for runs in found.values() for run in runs), 0, " %", most=True)


def memory(t: Table) -> None:
    test = CACHE / "bin" / "command.test"
    build.run("go", "test", f"-pgo={build.PROFILE}", "-c", "-o", test, "./cmd/internal/command")
    at = ROOT / "cmd" / "internal" / "command"
    out = subprocess.run([test, "-test.run", "^$", "-test.bench", "Thousand", "-test.benchtime", "1x"], cwd=at, stdout=subprocess.PIPE, text=True).stdout
    for what, asked in (("idle", 60), ("busy", 60)):
        if each := re.search(rf"([\d.]+) KiB-each-{what}", out):
            t.row(f"1,000 followers, memory each, {what}", "", float(each[1]), asked, " KiB", most=True)
    index(t)


def index(t: Table) -> None:
    """The memory of a daemon that has looked through many files."""
    count, root = int(os.environ.get("INDEX", "100000")), CACHE / "index"
    sample = next((ROOT / "testdata" / "teehistorian" / "finished").glob("4fa04b32-*.teehistorian"))
    text, name = sample.read_bytes(), sample.stem
    shutil.rmtree(root, ignore_errors=True)
    for n in range(count):
        folder, other = root / str(n // 200), str(uuid.uuid5(uuid.NAMESPACE_OID, str(n)))
        if n % 200 == 0:
            folder.mkdir(parents=True)
        (folder / f"{other}.teehistorian").write_bytes(text.replace(name.encode(), other.encode()))
    try:
        with daemon(root) as d:
            quiet, last = 0, 0.0
            while quiet < 3:
                time.sleep(2)
                now = busy(d.pid)
                quiet, last = (quiet + 1 if now - last < 0.1 else 0), now
            resident = re.search(r"VmRSS:\s*(\d+)", Path(f"/proc/{d.pid}/status").read_text())
        t.row(f"{count:,} files indexed, resident memory", "", int(resident[1]) / 1024 if resident else 0, 130, " MiB", most=True)
    finally:
        shutil.rmtree(root, ignore_errors=True)


SECTIONS = {f.__name__: f for f in (teehistorian, maps, sc2, dem, entities, python, stream, export, live, memory)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=f"default all of {', '.join(SECTIONS)}")
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parser.parse_args()
    if unknown := set(arguments.sections) - set(SECTIONS):
        parser.error(f"no sections {', '.join(sorted(unknown))}")
    table = Table(arguments.rounds)
    began, used = time.time(), os.getloadavg()[0]
    table.head()
    for name in arguments.sections or SECTIONS:
        try:
            SECTIONS[name](table)
        except Skip as why:
            table.skip(name, why)
    print(f"\n{table.behind} behind, {table.skipped} skipped; {arguments.rounds} rounds in {time.time() - began:.0f} s; "
          f"load {used:.1f} before and {os.getloadavg()[0]:.1f} after", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
