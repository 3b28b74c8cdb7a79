#!/usr/bin/env python3
"""Fails if something has become slower: builds the daemon and the decoders of two commits, and measures the hot paths of both in turns.

    make slower BASE=main~20

The figure of a path is the ratio of its processor time to that of the base, the median of rounds whose order alternates. There are as many
rounds as it takes until its interval does not contain LIMIT: some ten on an idle machine, up to the last of ROUNDS on a busy one.
Where the linker puts functions makes a program up to a fifth slower or faster: rounds take turns in LAYOUTS orders of them.
Replays are made of the samples; the corpus is not needed.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import build
from build import CACHE, HERE, ROOT
from peers import ONE, Daemon, Side, daemon

LIMIT, ROUNDS, LAYOUTS = 1.05, (11, 22, 44, 88, 176), 11


def interval(ratios: list[float], confidence: float = 0.99) -> tuple[float, float]:
    """Where the median of such ratios is, at either end with this confidence: how many are below the median is binomial."""
    below, rank = 0.0, -1
    while (below := below + math.comb(len(ratios), rank + 1) / 2 ** len(ratios)) <= 1 - confidence:
        rank += 1
    return (sorted(ratios)[rank], sorted(ratios)[-1 - rank]) if rank >= 0 else (0.0, math.inf)


def compare(sides: list[tuple[Side, Side]]) -> list[float]:
    """The ratios of as many rounds as it takes to be certain. Sides are before and after, in each layout."""
    ratios: list[float] = []
    for rounds in ROUNDS:
        while len(ratios) < rounds:
            pair, order = sides[len(ratios) % LAYOUTS], 1 - 2 * (len(ratios) % 2)
            was, now = [side.measure()["cpu"] for side in pair[::order]][::order]
            ratios.append(now / was)
        low, high = interval(ratios)
        if low > LIMIT or high < LIMIT:
            break
    return ratios


def programs(tree: Path, to: Path) -> list[Path]:
    """Builds the daemon of a tree, and the program that uses its decoders, in each layout. The latter is that of this tree."""
    if tree != ROOT:
        build.run("rm", "-rf", tree / "bench" / "peers")
        build.run("cp", "-r", HERE, tree / "bench" / "peers")
    layouts = [to / str(layout + 1) for layout in range(LAYOUTS)]
    for layout in layouts:
        for package, at in (("./cmd/replayd", tree), (".", tree / "bench" / "peers")):
            build.run("go", "build", "-pgo=off", f"-ldflags=-s -w -randlayout={layout.name}", "-o", f"{layout}/", package, at=at)
    return layouts


def paths(bin: Path, d: Daemon, recording: str, match: str) -> dict[str, Side]:
    peers, replayd = str(bin / "peers"), str(bin / "replayd")
    samples = ROOT / "testdata"

    def decode(task: str, runs: int, *files: object) -> Side:
        return Side(task, [peers, task, str(runs), *map(str, files)], runs, ONE)

    def program(*arguments: str) -> Side:
        return Side(arguments[0], [replayd, *arguments], environment=ONE, json=False)

    def receive(replay: str, *options: str) -> Side:
        return Side("receive", [peers, "receive", d.address, "r/" + Path(replay).name, "1", *options], daemon=d.pid)

    return {
        "teehistorian: decode": decode("teehistorian", 2, recording),
        "dem: decode": decode("dem", 1, match),
        "sc2replay: decode": decode("sc2", 60, samples / "sc2replay" / "battle.SC2Replay"),
        "datafile: decode": decode("map-all", 100, samples / "datafile" / "sample.map"),
        "teehistorian: cat, protobuf": program("cat", "--format", "proto", recording),
        "teehistorian: cat, JSON": program("cat", recording),
        "dem: cat, protobuf": program("cat", "--format", "proto", match),
        "teehistorian: stream": receive(recording),
        "teehistorian: stream of Arrow": receive(recording, "arrow"),
        "dem: stream": receive(match),
        "teehistorian: export of moves": program("export", recording, "--kind", "player_diff", "--to", str(bin / "export"), "--again"),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", help="a commit")
    parser.add_argument("only", nargs="*", metavar="PATH", help="only paths that contain one of these texts")
    arguments = parser.parse_args()
    tree, work = CACHE / "base", CACHE / "slower"
    subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=ROOT, stderr=subprocess.DEVNULL)
    build.run("git", "worktree", "add", "--quiet", "--detach", tree, arguments.base)
    try:
        old, new = programs(tree, work / "old"), programs(ROOT, work / "new")
    finally:
        build.run("git", "worktree", "remove", "--force", tree)
    sample = next((ROOT / "testdata" / "teehistorian" / "finished").glob("*.teehistorian"))
    (replays := work / "replays").mkdir(exist_ok=True)
    recording, match = str(replays / "long.teehistorian"), str(replays / "match.dem")
    build.run(new[0] / "peers", "lengthen", sample, recording, 4 << 20)
    build.run(new[0] / "peers", "match", match, 4)
    slower = []
    print("| path | time to the base's | between (99 %) | rounds | |\n|---|---|---|---|---|", flush=True)
    with ExitStack() as daemons:
        before, after = (
            [paths(bin, daemons.enter_context(daemon(replays, program=str(bin / "replayd"), environment=ONE)), recording, match) for bin in bins]
            for bins in (old, new)
        )
        for path in before[0]:
            if arguments.only and not any(text in path for text in arguments.only):
                continue
            ratios = compare([(was[path], now[path]) for was, now in zip(before, after)])
            low, high = interval(ratios)
            said = "**slower**" if low > LIMIT else "" if high < LIMIT else "not certain"
            slower += [path] if low > LIMIT else []
            print(f"| {path} | {statistics.median(ratios):.3f} | {low:.3f}, {high:.3f} | {len(ratios)} | {said} |", flush=True)
    print(f"\n{len(slower)} slower by more than {LIMIT - 1:.0%}; load {os.getloadavg()[0]:.1f}")
    return 1 if slower else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except build.Skip as why:
        print(why, file=sys.stderr)
        sys.exit(2)
