"""What the client for blocking code does in another way than the one for asyncio, which has _asyncio.py."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import chain
from types import TracebackType
from typing import Any, ClassVar, Generic, TypeVar

import grpc

from ._error import SilentError
from ._session import Session
from ._stream import StreamBase
from .v1 import stream_pb2

T = TypeVar("T")


class Stream(StreamBase, Generic[T]):
    """An iterator over a stream. End it with `close` or a `with` block, or delete it."""

    def __init__(
        self,
        session: Session,
        responses: Iterator[stream_pb2.StreamEventsResponse],
        items_of: Callable[[stream_pb2.StreamEventsResponse], Iterable[T]],
    ) -> None:
        super().__init__(session)
        self._parts = self._run(responses, items_of)
        self._items = chain.from_iterable(self._parts)  # a generator would take several times as long for each item

    def _run(
        self,
        responses: Iterator[stream_pb2.StreamEventsResponse],
        items_of: Callable[[stream_pb2.StreamEventsResponse], Iterable[T]],
    ) -> Generator[Iterable[T], None, None]:
        for response in responses:
            yield items_of(response)
            self.cursor = response.cursor or self.cursor

    def __iter__(self) -> Iterator[T]:
        """Returns an iterator that is faster than the stream itself. After `close` it still has what was received."""
        return self._items

    def __next__(self) -> T:
        return next(self._items)

    def close(self) -> None:
        """Ends the stream."""
        self._parts.close()
        self._items = chain()

    def __enter__(self) -> Stream[T]:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class Watch:
    """Reads the responses of a call, and raises SilentError if one takes too long. Only reading is measured, so a slow caller is
    no silence. There is no limit for the first response, because the daemon may be seeking or waiting for a replay to follow."""

    _EACH: ClassVar = 0.5
    """How many seconds are between checks of all watches: a sixth of the shortest silence."""
    _all: ClassVar[set[Watch]] = set()
    _lock: ClassVar = threading.Lock()
    _thread: ClassVar[threading.Thread | None] = None
    """What checks them while there are any. To start a thread takes as long as to read a thousand rows."""

    def __init__(self, call: Any, silence: float) -> None:
        self._call = call
        self._silence = silence
        self._reading_since: float | None = None
        self._expired = False

    def read(self) -> Any:
        """Returns the next response, or None at the end of the call."""
        self._reading_since = time.monotonic()
        try:
            response = next(self._call, None)
        except grpc.RpcError:
            if self._expired:
                raise SilentError(self._silence) from None
            raise
        finally:
            self._reading_since = None
        if self not in self._all:
            with self._lock:
                self._all.add(self)
                if not (Watch._thread and Watch._thread.is_alive()):
                    Watch._thread = threading.Thread(target=self._run, daemon=True, name="replayd-watch")
                    Watch._thread.start()
        return response

    @classmethod
    def _run(cls) -> None:
        while True:
            time.sleep(cls._EACH)
            for watch in cls._all.copy():
                since = watch._reading_since
                if since is not None and time.monotonic() - since > watch._silence:
                    watch._expired = True
                    watch._call.cancel()
            with cls._lock:
                if not cls._all:
                    cls._thread = None  # a watch that is added from now on starts another
                    return

    @classmethod
    def _forget(cls) -> None:
        """Forgets, in a process that was forked, the streams of the other one, whose thread may have had the lock."""
        cls._all, cls._lock, cls._thread = set(), threading.Lock(), None

    def end(self) -> None:
        """Ends the call."""
        self._all.discard(self)
        self._call.cancel()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=Watch._forget)
