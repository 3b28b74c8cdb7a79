"""Uploads: what a replay is read from, and the messages that carry it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import BinaryIO

import grpc

from ._error import ReplaydError
from ._session import Session
from .v1 import stream_pb2

Source = str | os.PathLike[str] | bytes | BinaryIO
"""A path, a replay's bytes, or an open binary file, which is read from where it stands."""

_CHUNK = 64 << 10


def parts(source: Source, session: Session) -> Iterator[stream_pb2.DecodeReplayRequest]:
    """What is sent: first what is wanted, then the bytes."""
    yield stream_pb2.DecodeReplayRequest(options=session.request)
    if isinstance(source, bytes):
        for at in range(0, len(source), _CHUNK):
            yield stream_pb2.DecodeReplayRequest(data=source[at : at + _CHUNK])
    elif isinstance(source, (str, os.PathLike)):
        with open(source, "rb") as file:
            yield from _chunks(file)
    else:
        yield from _chunks(source)


def _chunks(file: BinaryIO) -> Iterator[stream_pb2.DecodeReplayRequest]:
    while data := file.read(_CHUNK):
        yield stream_pb2.DecodeReplayRequest(data=data)


def name_of(source: Source) -> str:
    """What errors call it."""
    return os.path.basename(source) if isinstance(source, (str, os.PathLike)) else ""


def check(session: Session) -> None:
    """Raises when an upload ended early."""
    if session.end is None:
        raise ReplaydError(grpc.StatusCode.UNAVAILABLE, "the stream stopped without an end")
    if session.end.reason == stream_pb2.END_REASON_SERVER_DRAINING:
        raise ReplaydError(grpc.StatusCode.UNAVAILABLE, "the daemon shut down", "DRAINING")
