"""What the client for asyncio does in another way than the one for blocking code, which has _blocking.py."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from contextlib import aclosing
from types import TracebackType
from typing import Any, Generic, TypeVar

import grpc.aio

from ._error import SilentError
from ._session import Session
from ._stream import StreamBase
from .v1 import stream_pb2

T = TypeVar("T")


class AsyncStream(StreamBase, Generic[T]):
    """An asynchronous iterator over a stream. End it with `aclose` or an `async with` block."""

    def __init__(
        self,
        session: Session,
        responses: AsyncGenerator[stream_pb2.StreamEventsResponse],
        items_of: Callable[[stream_pb2.StreamEventsResponse], Iterable[T]],
    ) -> None:
        super().__init__(session)
        self._items = self._run(responses, items_of)

    async def _run(
        self,
        responses: AsyncGenerator[stream_pb2.StreamEventsResponse],
        items_of: Callable[[stream_pb2.StreamEventsResponse], Iterable[T]],
    ) -> AsyncGenerator[T]:
        async with aclosing(responses):
            async for response in responses:
                for item in items_of(response):
                    yield item
                self.cursor = response.cursor or self.cursor

    def __aiter__(self) -> AsyncIterator[T]:
        return self._items

    async def __anext__(self) -> T:
        return await anext(self._items)

    async def aclose(self) -> None:
        """Ends the stream."""
        await self._items.aclose()

    async def __aenter__(self) -> AsyncStream[T]:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class AsyncWatch:
    """Reads the responses of a call, and raises SilentError if one takes too long. There is no limit for the first one, because
    the daemon may be seeking or waiting for a replay to follow."""

    def __init__(self, call: Any, silence: float) -> None:
        self._call = call
        self._silence = silence
        self._limit: float | None = None

    async def read(self) -> Any:
        """Returns the next response, or None at the end of the call."""
        try:
            response: Any = await asyncio.wait_for(self._call.read(), self._limit)
        except TimeoutError:
            raise SilentError(self._silence) from None
        self._limit = self._silence
        return None if response is grpc.aio.EOF else response

    def end(self) -> None:
        """Ends the call."""
        self._call.cancel()
