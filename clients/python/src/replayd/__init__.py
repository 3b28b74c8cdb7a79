"""Typed events of game replays, streamed from a replayd daemon.

    import replayd

    with replayd.connect("localhost:7171") as client:
        for event in client.events("samples/teehistorian", follow=True, kinds=["join", "drop"]):
            print(event.tick, event.kind, event.value)

Events have static types. After `if event.kind == "join":` a type checker knows the type of `event.value`. The types are in
`replayd.events`.

Streams survive restarts of the daemon and broken connections. They resume exactly after the last event that was yielded.
`replayd.connect_async` is the same for asyncio. `replayd.open("match.dem")` reads a local file without a running daemon. The
generated messages are in `replayd.v1` and in one package per format, such as `replayd.teehistorian.v1`.
"""

from ._asyncio import AsyncStream
from ._blocking import Stream
from ._connection import connect, connect_async
from ._error import ReplaydError, SequenceError
from ._event import Batch, Event, Format
from ._local import LocalAsyncClient, LocalClient, open, open_async
from ._request import StreamOptions, SubscribeOptions, WatchOptions
from ._session import Retry
from ._states import States, players
from ._subscription import Subscribed
from ._tables import Table
from ._version import __version__
from .aio import AsyncClient
from .client import Client

__all__ = [
    "AsyncClient",
    "AsyncStream",
    "Batch",
    "Client",
    "Event",
    "Format",
    "LocalAsyncClient",
    "LocalClient",
    "ReplaydError",
    "Retry",
    "SequenceError",
    "States",
    "Stream",
    "StreamOptions",
    "SubscribeOptions",
    "Subscribed",
    "Table",
    "WatchOptions",
    "__version__",
    "connect",
    "connect_async",
    "open",
    "open_async",
    "players",
]
