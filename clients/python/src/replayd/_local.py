"""Local files, read by a daemon that this process starts."""

from __future__ import annotations

import builtins
import os
import secrets
import shutil
import socket
import subprocess
import sysconfig
import tempfile
import time
from pathlib import Path
from typing import Any

import grpc

from ._connection import OPTIONS, metadata
from ._error import ReplaydError, from_grpc
from .aio import AsyncClient
from .client import Client

_START_TIMEOUT = 60.0
"""How many seconds the daemon may take to start. It needs some hundredths."""
_END_TIMEOUT = 10.0
"""How many seconds it may take to end before it is killed."""
_ROOT = "local"


def open(path: str | os.PathLike[str]) -> LocalClient:
    """Returns a client for a local file or directory. It needs no running daemon: it starts one for this file alone, and `close`,
    or the end of a `with` block, ends it.

    The name of the file for the client's methods is `client.name`. Names of other replays in its directory begin with "local/".

    The program `replayd` comes with this package on Linux, macOS and Windows. On other systems it must be in the PATH, or $REPLAYD
    must have its path. FileNotFoundError is raised if there is none, and if there is no such file. The daemon listens at a socket that only this user can reach, or, on Windows, at a port of
    this machine, with a token that only this process knows. It ends when this process does, even if that is killed.
    """
    daemon, name = _daemon(path)
    return LocalClient(grpc.insecure_channel(daemon.address, options=OPTIONS), daemon, name)


def open_async(path: str | os.PathLike[str]) -> LocalAsyncClient:
    """The same as open, for asyncio. Call it inside the event loop that will use the client. It waits for the start of the
    daemon, some hundredths of a second."""
    daemon, name = _daemon(path)
    return LocalAsyncClient(grpc.aio.insecure_channel(daemon.address, options=OPTIONS), daemon, name)


class LocalClient(Client):
    """A client of a daemon of its own."""

    name: str
    """The name of the file that was opened, for `events` and the other methods."""

    def __init__(self, channel: grpc.Channel, daemon: Daemon, name: str) -> None:
        super().__init__(channel, metadata(daemon.token))
        self.name = name
        self._daemon = daemon

    def __enter__(self) -> LocalClient:
        return self

    def _failed(self, error: grpc.RpcError) -> ReplaydError:
        return _with_remedy(from_grpc(error), self.name)

    def close(self) -> None:
        """Ends the daemon. Streams end."""
        super().close()
        self._daemon.close()


class LocalAsyncClient(AsyncClient):
    """A client of a daemon of its own, for asyncio."""

    name: str
    """The name of the file that was opened, for `events` and the other methods."""

    def __init__(self, channel: grpc.aio.Channel, daemon: Daemon, name: str) -> None:
        super().__init__(channel, metadata(daemon.token))
        self.name = name
        self._daemon = daemon

    async def __aenter__(self) -> LocalAsyncClient:
        return self

    def _failed(self, error: grpc.RpcError) -> ReplaydError:
        return _with_remedy(from_grpc(error), self.name)

    async def close(self) -> None:
        """Ends the daemon. Streams end."""
        import asyncio

        await super().close()
        await asyncio.to_thread(self._daemon.close)


def _with_remedy(error: ReplaydError, name: str) -> ReplaydError:
    """The error, and for a name that the daemon does not have the one that was opened: callers give the path again."""
    if error.reason == "REPLAY_NOT_FOUND":
        error.message += f"; what was opened is {name!r}, which is client.name"
        error.args = (error.message,)
    return error


def binary() -> str:
    """The path of the program. Raises FileNotFoundError if there is none."""
    if given := os.environ.get("REPLAYD"):
        if found := shutil.which(given):
            return found
        raise FileNotFoundError(f"$REPLAYD is {given!r}, which is no program: set it to the path of replayd")
    # Packages for common systems have the program. It is where the environment keeps its commands, also if that is not in the PATH.
    for place in (sysconfig.get_path("scripts"), sysconfig.get_path("scripts", f"{os.name}_user"), None):
        if found := shutil.which("replayd", path=place):
            return found
    raise FileNotFoundError(
        "the program replayd is neither in this environment nor in the PATH: the package for this system is without it. Install it "
        "(https://github.com/replayd/replayd), or set $REPLAYD to its path, or use replayd.connect with a daemon that runs elsewhere"
    )


def _daemon(path: str | os.PathLike[str]) -> tuple[Daemon, str]:
    """A daemon for a file or directory, and its name there."""
    file = Path(path).absolute()
    if file.is_dir():
        return Daemon(binary(), file), _ROOT
    file.stat()  # raises an error if there is no such file
    return Daemon(binary(), file.parent), f"{_ROOT}/{file.name}"


def _free_port() -> int:
    """A port of this machine at which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Daemon:
    """A daemon with one root. It listens at a socket in a directory of its own, which only this user can read. Where Python has no such
    sockets, on Windows, it listens at a port, and wants a token, which is in that directory."""

    token: str | None = None

    def __init__(self, program: str, root: Path) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="replayd-")
        place: str | tuple[str, int]
        guard = []
        if hasattr(socket, "AF_UNIX"):
            place = os.path.join(self._directory.name, "socket")
            self.address = f"unix:{place}"
        else:
            place = "127.0.0.1", _free_port()
            self.address = f"{place[0]}:{place[1]}"
            self.token = secrets.token_urlsafe()
            file = Path(self._directory.name, "token")
            file.write_text(self.token)
            guard = ["--token-file", str(file)]
        # Of the environment, REPLAYD_... are flags of the user's own daemon.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("REPLAYD_")}
        self._log = os.path.join(self._directory.name, "log")
        self._program = os.path.abspath(program)
        # The root is the working directory, because --root is a list and the directory's name may have commas.
        command = [self._program, "serve", "--root", f"{_ROOT}=.", "--listen", self.address, "--web-listen", "none"]
        command += ["--survey-budget", "0", "--log-level", "error", "--drain-timeout", "1s", "--until-stdin-ends", *guard]
        try:
            with builtins.open(self._log, "wb") as log:
                self._process: subprocess.Popen[bytes] = subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=log, cwd=root, env=environment
                )
        except BaseException:
            self._directory.cleanup()
            raise
        try:
            self._wait_for(place)
        except BaseException:
            self.close()
            raise

    def _wait_for(self, place: str | tuple[str, int]) -> None:
        deadline = time.monotonic() + _START_TIMEOUT
        while True:
            with socket.socket(socket.AF_UNIX if isinstance(place, str) else socket.AF_INET) as probe:
                try:
                    probe.connect(place)
                    connected = True
                except OSError:
                    connected = False
            if self._process.poll() is not None:  # before anything else: another program may have the port
                raise RuntimeError(f"{self._program} does not start: {self._printed()}")
            if connected:
                return
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self._program} does not start within {_START_TIMEOUT:g} s: {self._printed()}")
            time.sleep(0.005)

    def _printed(self) -> str:
        """The end of what the daemon printed."""
        return Path(self._log).read_text(errors="replace")[-2000:].strip() or f"exit status {self._process.returncode}"

    def close(self) -> None:
        """Ends the daemon and waits for it."""
        stdin: Any = self._process.stdin
        stdin.close()
        try:
            self._process.wait(_END_TIMEOUT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._directory.cleanup()
