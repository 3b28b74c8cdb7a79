"""Tests of replayd.open, which starts a daemon of its own."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

import replayd
from conftest import FINISHED, SAMPLES


@pytest.fixture(autouse=True)
def program(binary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPLAYD", str(binary))


@pytest.fixture
def daemons(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """The processes that are started."""
    started: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def record(*args: object, **more: object) -> subprocess.Popen[bytes]:
        started.append(popen(*args, **more))  # type: ignore[call-overload]
        return started[-1]

    monkeypatch.setattr("replayd._local.subprocess.Popen", record)
    return started


def test_a_file_is_streamed_and_the_daemon_ended(daemons: list[subprocess.Popen[bytes]]) -> None:
    with replayd.open(FINISHED) as client:
        assert client.name == f"local/{FINISHED.name}"
        opened = [event.to_json() for event in client.events(client.name)]
        assert client.replay(client.name).teehistorian.game_type == "DDraceNetwork"
        directory = Path(client._daemon._directory.name)
        assert directory.stat().st_mode & 0o777 == 0o700
    assert [process.poll() for process in daemons] == [0]
    assert not directory.exists()

    async def stream() -> list[str]:
        async with replayd.open_async(FINISHED) as client:
            return [event.to_json() async for event in client.events(client.name)]

    assert asyncio.run(stream()) == opened and len(opened) == 3430
    assert [process.poll() for process in daemons] == [0, 0]


def test_a_directory_and_names_with_commas(tmp_path: Path) -> None:
    directory = tmp_path / "a,b=c \\,d"
    directory.mkdir()
    shutil.copy(FINISHED, directory / "x,y.teehistorian")
    for path in (directory, directory / "x,y.teehistorian"):
        with replayd.open(path) as client:
            assert [replay.name for replay in client.replays()] == ["local/x,y.teehistorian"]
    assert client.name == "local/x,y.teehistorian"


def test_a_path_in_place_of_a_name_is_told_with_the_name() -> None:
    with replayd.open(FINISHED) as client:
        for name in (FINISHED.name, str(FINISHED), "local/none.teehistorian"):
            for call in (lambda: list(client.events(name)), lambda: client.replay(name), lambda: client.table(name, "tick")):
                with pytest.raises(replayd.ReplaydError, match=f"'{client.name}', which is client.name") as caught:
                    call()
                assert caught.value.reason == "REPLAY_NOT_FOUND" and "client.name" in caught.value.message
        with pytest.raises(replayd.ReplaydError) as other:
            list(client.events(client.name, kinds=["none"]))  # type: ignore[list-item]
        assert "client.name" not in str(other.value)

    async def replay() -> None:
        async with replayd.open_async(FINISHED) as client:
            await client.replay(FINISHED.name)

    with pytest.raises(replayd.ReplaydError, match="which is client.name"):
        asyncio.run(replay())


def test_the_users_own_flags_are_not_the_daemons(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPLAYD_TOKEN_FILE", "/nothing")
    monkeypatch.setenv("REPLAYD_METRICS_LISTEN", "nonsense")
    with replayd.open(SAMPLES / "datafile" / "sample.map") as client:
        assert sum(1 for _ in client.events(client.name)) > 50


def test_what_is_missing_is_told_with_a_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="none.dem"):
        replayd.open(tmp_path / "none.dem")
    monkeypatch.setenv("REPLAYD", str(tmp_path / "replayd"))
    with pytest.raises(FileNotFoundError, match=r"\$REPLAYD is"):
        replayd.open(FINISHED)
    monkeypatch.delenv("REPLAYD")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"Install it .* or set \$REPLAYD"):
        replayd.open(FINISHED)


def test_a_system_without_unix_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("socket.AF_UNIX")
    with replayd.open(FINISHED) as client:
        address = client._daemon.address
        assert address.startswith("127.0.0.1:")
        assert client.replay(client.name).name == client.name
        with pytest.raises(replayd.ReplaydError, match="token"), replayd.connect(address) as stranger:
            stranger.replay(client.name)


def test_another_program_has_the_port(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "replayd"
    program.write_text("#!/bin/sh\necho the port is taken >&2\nexit 1\n")
    program.chmod(0o700)
    monkeypatch.setenv("REPLAYD", str(program))
    monkeypatch.delattr("socket.AF_UNIX")
    with socket.create_server(("127.0.0.1", 0)) as other:
        monkeypatch.setattr("replayd._local._free_port", lambda: other.getsockname()[1])
        connect = socket.socket.connect

        def slow(self: socket.socket, place: tuple[str, int]) -> None:
            time.sleep(0.5)  # until the program has ended
            connect(self, place)

        monkeypatch.setattr("socket.socket.connect", slow)
        with pytest.raises(RuntimeError, match="does not start: the port is taken"):
            replayd.open(FINISHED)


def test_the_program_of_the_package_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, binary: Path) -> None:
    (tmp_path / "replayd").symlink_to(binary)
    monkeypatch.delenv("REPLAYD")
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("sysconfig.get_path", lambda *_: str(tmp_path))
    with replayd.open(FINISHED) as client:
        assert client.replay(client.name).name == client.name


def test_a_program_that_does_not_start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "replayd"
    program.write_text("#!/bin/sh\necho of another age >&2\nexit 3\n")
    program.chmod(0o700)
    monkeypatch.setenv("REPLAYD", str(program))
    with pytest.raises(RuntimeError, match="does not start: of another age"):
        replayd.open(FINISHED)


def test_the_daemon_ends_with_a_process_that_is_killed() -> None:
    program = f"""
import replayd, signal
client = replayd.open({str(FINISHED)!r})
print(client._daemon._process.pid, client._daemon._directory.name, flush=True)
signal.pause()
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid, directory = parent.stdout.readline().split()
        os.kill(int(pid), 0)
        parent.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 60
    while running(int(pid)):
        assert time.monotonic() < deadline, "the daemon is still running"
        time.sleep(0.02)
    shutil.rmtree(directory)


def running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:1]
    except (ProcessLookupError, FileNotFoundError):
        return False
