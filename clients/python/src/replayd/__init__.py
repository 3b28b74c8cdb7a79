"""Typed events of game replays, streamed from a replayd daemon.

    import replayd

    with replayd.connect("localhost:7171") as client:
        for event in client.events("samples/teehistorian", follow=True, kinds=["join", "drop"]):
            print(event.tick, event.kind, event.value)

Type checkers know the events: behind `if event.kind == "join":` they know what `event.value` is. `replayd.events` names the
types.

Streams survive restarts of the daemon and cut connections: they resume exactly behind the last event that was yielded.
`replayd.connect_async` is the same for asyncio. The generated messages are in `replayd.v1` and, one package a
format, in `replayd.teehistorian.v1` and its siblings.
"""

from ._columns import Columns
from ._connection import connect, connect_async
from ._error import ReplaydError, SequenceError
from ._event import Batch, Event, Format
from ._request import StreamOptions
from ._session import Retry
from .aio import AsyncClient, AsyncStream
from .client import Client, Stream

__all__ = [
    "AsyncClient",
    "AsyncStream",
    "Batch",
    "Client",
    "Columns",
    "Event",
    "Format",
    "ReplaydError",
    "Retry",
    "SequenceError",
    "Stream",
    "StreamOptions",
    "connect",
    "connect_async",
]
