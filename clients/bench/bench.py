"""Measures how many events the Python client iterates in a second, from a daemon on the same machine.

    PYTHONPATH=clients/python/src python clients/bench/bench.py

The replay is made here: a million ticks, in each of which one character moves. Of several runs the best counts.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "python" / "tests"))

import replayd  # noqa: E402
from conftest import REPOSITORY, Daemon, teehistorian  # noqa: E402

NAME = "r/long.teehistorian"
RUNS = 3


def messages(client: replayd.Client) -> int:
    count = 0
    for batch in client.batches(NAME):
        for event in batch.events:
            count += 1
            event.at_tick  # noqa: B018
    return count


def events(client: replayd.Client) -> int:
    count = 0
    for _ in client.events(NAME):
        count += 1
    return count


def values(client: replayd.Client) -> int:
    count = total = 0
    for event in client.events(NAME):
        count += 1
        if event.kind == "player_diff":
            total += event.value.x
    return count


def rows(client: replayd.Client) -> int:
    count = total = 0
    for _, x in client.rows(NAME, "player_diff", ["at_tick", "x"]):
        count += 1
        total += x
    return count


def table(client: replayd.Client) -> int:
    return int(client.table(NAME, "player_diff").num_rows)


def asynchronous(client: replayd.Client) -> int:
    async def run() -> int:
        async with replayd.connect_async(address) as client:
            count = 0
            async for _ in client.events(NAME):
                count += 1
            return count

    return asyncio.run(run())


with tempfile.TemporaryDirectory() as root:
    Path(root, "long.teehistorian").write_bytes(teehistorian(1_000_000))
    daemon = Daemon(REPOSITORY / "bin" / "replayd", Path(root))
    address = daemon.address
    ways: list[Callable[[replayd.Client], int]] = [messages, events, values, asynchronous, rows, table]
    try:
        with replayd.connect(address) as client:
            for way in ways:
                best = busy = 0.0
                for _ in range(RUNS):
                    started, used = time.perf_counter(), time.process_time()
                    count = way(client)
                    best = max(best, count / (time.perf_counter() - started))
                    busy = max(busy, count / (time.process_time() - used))
                print(f"Python {way.__name__:14} {best / 1e6:6.2f} M events/s, {busy / 1e6:6.2f} M a second of its own CPU time")
    finally:
        daemon.kill()
