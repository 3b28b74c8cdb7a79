"""Tests of the client's types with type checkers."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import REPOSITORY

# A program in which each line with a comment "MISTAKE" has a type error, and no other line has one.
PROGRAM = '''
from __future__ import annotations

from typing import assert_type

import replayd
from replayd.events import AnyEvent, sc2replay, teehistorian
from replayd.teehistorian.v1 import events_pb2


def moved(event: teehistorian.PlayerDiff) -> int:
    return event.value.dx


def any_format(client: replayd.Client) -> None:
    for event in client.events("r/x", kinds=["player_diff", "join"], players=[1], tick=5, with_state=True):
        if event.kind == "player_diff":
            print(event.value.dx, moved(event))
            print(event.value.dz)  # MISTAKE field
            print(event.value.client_id.x)  # MISTAKE field of a field
        elif event.kind == "join" or event.kind == "drop":
            print(event.value.client_id, event.event.player.name)
            moved(event)  # MISTAKE kind for a function
        if event.kind == "plyer_diff":  # MISTAKE kind
            pass
        if event.knd == "join":  # MISTAKE attribute
            pass
        print(event.tick, event.sequence, event.state, event.to_json())
    client.events("r/x", kinds=["joins"])  # MISTAKE kind of a filter
    client.events("r/x", kind=["join"])  # MISTAKE option
    client.events("r/x", tick="5")  # MISTAKE value of an option
    client.table("r/x", "joins")  # MISTAKE kind of a table
    client.frame("r/x", "join", ["at_tick"], players=[1])
    for tick, dx in client.rows("r/x", "player_diff", ["at_tick", "dx"]):
        print(tick + dx)


def one_format(client: replayd.Client) -> None:
    for event in client.decode("x", format=teehistorian.FORMAT):
        match event.kind:
            case "player_diff":
                assert_type(event.value, events_pb2.PlayerDiff)
                print(event.value.y)
                print(event.value.yy)  # MISTAKE field in a match
            case "drop":
                print(event.value.reason)
            case _:
                pass
        if event.kind == "unit_born":  # MISTAKE kind of another format
            pass
    for batch in client.batches("r/x", format=teehistorian.FORMAT):
        moves = batch.tables.get("player_diff")
        if moves is not None:
            print(len(moves), moves.kind, moves.arrow())
            print(moves.knd)  # MISTAKE attribute of a table
        for event in batch:
            if event.kind == "tick":
                print(event.value.skipped)
                print(event.value.skiped)  # MISTAKE field of a batch's event


async def asynchronous(client: replayd.AsyncClient) -> None:
    async for event in client.events("r/x", format=sc2replay.FORMAT, kinds=["unit_born"], now=True):
        if event.kind == "unit_born":
            print(event.value.unit.type_name, event.event.player.name)
            print(event.value.unit.typename)  # MISTAKE field, asynchronous
    client.events("r/x", laast=5)  # MISTAKE option, asynchronous


def handle(event: AnyEvent) -> None:
    if event.kind == "unit_died":
        print(event.value.unit.tag)
        print(event.value.dx)  # MISTAKE field of another kind
'''


def mistakes() -> dict[int, str]:
    return {n: line.split("# MISTAKE ")[1] for n, line in enumerate(PROGRAM.splitlines(), 1) if "# MISTAKE" in line}


def found(output: str) -> set[int]:
    """The numbers of the lines for which a checker reports an error."""
    assert "program.py" in output, output
    return {int(n) for n in re.findall(r"program\.py:(\d+)(?::\d+)?(?: -|:) error", output)}


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def check(lines: set[int]) -> None:
    planted = mistakes()
    assert len(planted) == 16
    assert not {n: what for n, what in planted.items() if n not in lines}, "not found"
    assert not {n: PROGRAM.splitlines()[n - 1] for n in lines - planted.keys()}, "no mistakes"


def test_mypy_finds_each_mistake_and_nothing_else(program: Path) -> None:
    command = [sys.executable, "-m", "mypy", "--strict", "--show-column-numbers", "--no-error-summary", "--cache-dir"]
    environment = os.environ | {"MYPYPATH": str(REPOSITORY / "clients/python/src")}
    run = subprocess.run(
        [*command, str(program.parent / "cache"), str(program)], capture_output=True, text=True, env=environment
    )
    check(found(run.stdout))


def test_pyright_finds_each_mistake_and_nothing_else(program: Path) -> None:
    """PyPI's pyright is a wrapper that installs the npm package of the same version when it is first run."""
    if shutil.which("node") is None:
        pytest.skip("pyright needs node")
    pyright = [sys.executable, "-m", "pyright"]
    version = subprocess.run([*pyright, "--version"], capture_output=True, text=True)
    if version.returncode != 0:
        pytest.skip("pyright cannot be installed: " + (version.stderr.strip().splitlines() or ["?"])[-1])
    # The strict mode is not used, because it also reports missing type information of other packages.
    config = program.parent / "pyrightconfig.json"
    config.write_text(
        '{"include": ["program.py"], "extraPaths": ["%s"], "reportUnnecessaryComparison": true, "reportMissingModuleSource": false}'
        % (REPOSITORY / "clients/python/src")
    )
    run = subprocess.run([*pyright, "--pythonpath", sys.executable, "-p", str(config)], capture_output=True, text=True)
    check(found(run.stdout))
