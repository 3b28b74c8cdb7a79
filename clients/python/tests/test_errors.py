"""Tests of errors at the end of a call, against a server that does what a script says, for blocking code and asyncio."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import grpc
import pytest
from google.protobuf.message import Message
from google.rpc import code_pb2, error_details_pb2, status_pb2

import replayd
from replayd.teehistorian.v1 import events_pb2
from replayd.v1 import error_pb2, replay_pb2, stream_pb2

Response = stream_pb2.StreamEventsResponse
BATCHES = 200  # more than the client reads before the call has ended


def failure(code: int, reason: str, *more: Message) -> bytes:
    """The details of a status, as the daemon sends them."""
    status = status_pb2.Status(code=code, message="because")
    for detail in (error_details_pb2.ErrorInfo(domain="replayd.dev", reason=reason, metadata={"offset": "7"}), *more):
        status.details.add().Pack(detail)
    return bytes(status.SerializeToString())


def retry_info(seconds: float) -> Message:
    info: Any = error_details_pb2.RetryInfo()
    info.retry_delay.FromTimedelta(timedelta(seconds=seconds))
    made: Message = info
    return made


class Script:
    """A server whose n-th call of StreamEvents sends BATCHES batches of one event from where the client asks for, and then fails
    with the n-th code and details."""

    def __init__(self, *ends: tuple[grpc.StatusCode, bytes]) -> None:
        self.ends = ends
        self.calls: list[float] = []
        self.server = grpc.server(ThreadPoolExecutor(4))
        self.server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("replayd.v1.ReplayService", {
            "StreamEvents": grpc.unary_stream_rpc_method_handler(
                self.stream, stream_pb2.StreamEventsRequest.FromString, Response.SerializeToString
            ),
        }),))
        self.address = f"127.0.0.1:{self.server.add_insecure_port('127.0.0.1:0')}"
        self.server.start()

    def stream(self, request: stream_pb2.StreamEventsRequest, context: grpc.ServicerContext) -> Iterator[Response]:
        code, details = self.ends[len(self.calls)]
        self.calls.append(time.monotonic())
        at = int(request.start.cursor or b"0")
        replay = replay_pb2.Replay(name="r/x", format=replay_pb2.FORMAT_TEEHISTORIAN)
        yield Response(start=stream_pb2.StreamStart(replay=replay, next_sequence=at))
        for n in range(at, at + BATCHES):
            events = events_pb2.EventList(events=[events_pb2.Event(at_tick=n, tick=events_pb2.Tick())])
            batch = stream_pb2.EventBatch(first_sequence=n, next_sequence=n + 1, offsets=[1], teehistorian=events)
            yield Response(cursor=b"%d" % (n + 1), batch=batch)
        if code == grpc.StatusCode.OK:
            yield Response(end=stream_pb2.StreamEnd(reason=stream_pb2.END_REASON_FINISHED))
            return
        context.set_trailing_metadata((("grpc-status-details-bin", details),) if details else ())
        context.abort(code, "because")


Outcome = tuple[list[int], replayd.ReplaydError | None, int]
"""The ticks of the events, the error, and the number of reconnects."""


def blocking(address: str, **options: Any) -> Outcome:
    ticks: list[int] = []
    with replayd.connect(address) as client, client.events("r/x", **options) as stream:
        try:
            ticks.extend(event.tick for event in stream)
        except replayd.ReplaydError as error:
            return ticks, error, stream.reconnects
        return ticks, None, stream.reconnects


def asynchronous(address: str, **options: Any) -> Outcome:
    async def run() -> Outcome:
        ticks: list[int] = []
        async with replayd.connect_async(address) as client, client.events("r/x", **options) as stream:
            try:
                async for event in stream:
                    ticks.append(event.tick)
                    if len(ticks) == 1:  # the call has ended before the client reads on
                        await asyncio.sleep(0.1)
            except replayd.ReplaydError as error:
                return ticks, error, stream.reconnects
            return ticks, None, stream.reconnects

    return asyncio.run(run())


both = pytest.mark.parametrize("run", [blocking, asynchronous])


@pytest.fixture
def script() -> Iterator[Callable[..., Script]]:
    scripts: list[Script] = []

    def make(*ends: tuple[grpc.StatusCode, bytes]) -> Script:
        scripts.append(Script(*ends))
        return scripts[-1]

    yield make
    for one in scripts:
        one.server.stop(None).wait()


@both
def test_an_error_after_many_events_keeps_its_reason_and_cursor(script: Callable[..., Script], run: Callable[..., Outcome]) -> None:
    details = failure(code_pb2.DATA_LOSS, "CORRUPT", error_pb2.ResumeInfo(cursor=b"200"))
    ticks, error, reconnects = run(script((grpc.StatusCode.DATA_LOSS, details)).address)
    assert (ticks, reconnects) == (list(range(BATCHES)), 0)
    assert error is not None and (error.code, error.reason) == (grpc.StatusCode.DATA_LOSS, "CORRUPT")
    assert (error.message, error.cursor, error.metadata) == ("because", b"200", {"offset": "7"})


@both
def test_the_delay_that_the_daemon_asks_for_is_kept(script: Callable[..., Script], run: Callable[..., Outcome]) -> None:
    busy = (grpc.StatusCode.RESOURCE_EXHAUSTED, failure(code_pb2.RESOURCE_EXHAUSTED, "TOO_MANY_STREAMS", retry_info(0.5)))
    server = script(busy, (grpc.StatusCode.OK, b""))
    ticks, error, reconnects = run(server.address, retry=replayd.Retry(initial=0.001))
    assert error is None and ticks == list(range(2 * BATCHES)) and reconnects == 1
    assert server.calls[1] - server.calls[0] >= 0.5


@both
@pytest.mark.parametrize("code", [grpc.StatusCode.CANCELLED, grpc.StatusCode.ABORTED, grpc.StatusCode.UNKNOWN])
def test_a_call_that_is_cut_off_is_resumed(
    script: Callable[..., Script], run: Callable[..., Outcome], code: grpc.StatusCode
) -> None:
    """These codes come from proxies, without details."""
    server = script((code, b""), (grpc.StatusCode.OK, b""))
    ticks, error, reconnects = run(server.address, retry=replayd.Retry(initial=0.001))
    assert error is None and ticks == list(range(2 * BATCHES)) and reconnects == 1
