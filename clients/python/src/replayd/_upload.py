"""Uploads of replays."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from concurrent.futures import Future
from types import TracebackType
from typing import Any, BinaryIO

import grpc

from ._error import ReplaydError
from ._session import Session
from .v1 import stream_pb2

Source = str | os.PathLike[str] | bytes | BinaryIO
"""A path, the bytes of a replay, or an open binary file, which is read from its current position."""

_CHUNK = 64 << 10


class Upload:
    """The upload of a source. As a context manager it opens a path, and raises an OSError if that fails. If reading the source
    fails, it raises that exception instead of the one with which the call then ends."""

    def __init__(self, source: Source, session: Session) -> None:
        self.call: Future[Any] = Future()
        """The call that sends the source. The caller sets it after creating the call, so that parts can cancel it."""
        self._failure: Exception | None = None
        self._source = source
        self._session = session

    def __enter__(self) -> Upload:
        if isinstance(self._source, (str, os.PathLike)):
            self._file: BinaryIO = open(self._source, "rb")
        elif isinstance(self._source, bytes):
            self._file = io.BytesIO(self._source)
        else:
            self._file = self._source
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._file is not self._source:
            self._file.close()
        if self._failure and error and not isinstance(error, GeneratorExit):
            raise self._failure from None

    def parts(self) -> Iterator[stream_pb2.DecodeReplayRequest]:
        """Yields the options, then the bytes. grpc iterates over them, in a thread or in the event loop, and would only log an
        exception. The exception is therefore raised when the call has ended."""
        yield stream_pb2.DecodeReplayRequest(options=self._session.request)
        try:
            while data := self._file.read(_CHUNK):
                yield stream_pb2.DecodeReplayRequest(data=data)
        except Exception as error:
            self._failure = error
            self.call.result().cancel()


def name_of(source: Source) -> str:
    """The name of a source in error messages."""
    return os.path.basename(source) if isinstance(source, (str, os.PathLike)) else ""


def check(session: Session) -> None:
    """Raises an error if an upload ended early."""
    if session.end is None:
        raise ReplaydError(grpc.StatusCode.UNAVAILABLE, "the stream stopped without an end")
    if session.end.reason == stream_pb2.END_REASON_SERVER_DRAINING:
        raise ReplaydError(grpc.StatusCode.UNAVAILABLE, "the daemon shut down", "DRAINING")
