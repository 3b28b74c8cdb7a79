"""A real daemon for the tests, built from this repository unless REPLAYD names a binary."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[3]
SAMPLES = REPOSITORY / "testdata"
FINISHED = next((SAMPLES / "teehistorian" / "finished").glob("*.teehistorian"))


class Daemon:
    """A daemon with one root, "r". It can be killed and started again at the same address."""

    def __init__(self, binary: Path, root: Path, *flags: str) -> None:
        self.binary = binary
        self.root = root
        self.flags = flags
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [
                *(str(self.binary), "serve", "--listen", self.address, "--root", f"r={self.root}", "--log-level", "error"),
                *("--index", str(self.root.parent / "index"), "--subscriptions", str(self.root.parent / "names"), *self.flags),
            ],
            stdout=subprocess.DEVNULL,
        )
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        raise RuntimeError("the daemon does not start")

    def kill(self) -> None:
        """Kills the daemon with SIGKILL."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def drain(self) -> None:
        """Stops the daemon with SIGTERM."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


@pytest.fixture(scope="session")
def binary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if given := os.environ.get("REPLAYD"):
        return Path(given)
    path = tmp_path_factory.mktemp("bin") / "replayd"
    subprocess.run(["go", "build", "-o", path, "./cmd/replayd"], cwd=REPOSITORY, check=True)
    return path


@pytest.fixture
def daemon(binary: Path, tmp_path: Path) -> Iterator[Daemon]:
    root = tmp_path / "root"
    shutil.copytree(SAMPLES, root)
    daemon = Daemon(binary, root)
    yield daemon
    if daemon.process.poll() is None:
        daemon.kill()


def teehistorian(pairs: int) -> bytes:
    """A teehistorian file in which one character walks, with a number of pairs of a tick and a move."""
    sample = FINISHED.read_bytes()
    header = sample[: sample.index(b"\0", 16) + 1]  # a UUID, then JSON up to a NUL
    tick, join, new, move, finish = b"\x41\x00", b"\x47\x00", b"\x42\x00\x00\x00", b"\x00\x01\x00", b"\x40"
    return header + tick + join + new + pairs * (tick + move) + finish
