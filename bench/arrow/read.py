"""Compares the cost of reading columns and Arrow record batches in Python:

    PYTHONPATH=clients/python/src .cache/python/bin/python bench/arrow/read.py bin/replayd RECORDING.teehistorian OUT

The program streams player_diff, input_diff and tick of a recording from the daemon as columns. It writes the responses to OUT
for bench_test.go. It measures its own CPU time from the received bytes until each field of each event is in a numpy array. It
requires pyarrow.
"""

from __future__ import annotations

import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy
import pyarrow as pa

import replayd
from replayd.v1 import stream_pb2

ADDRESS = "127.0.0.1:7474"
RUNS = 7


def record(binary: str, recording: Path) -> tuple[list[bytes], float]:
    """Returns the responses, and the CPU time for receiving them."""
    command = [binary, "serve", "--listen", ADDRESS, "--root", f"r={recording.parent}", "--log-level", "error"]
    daemon = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        with replayd.connect(ADDRESS) as client:
            for _ in range(100):
                try:
                    client.server_info()
                    break
                except replayd.ReplaydError:
                    time.sleep(0.1)
            options: replayd.StreamOptions = {"kinds": ["player_diff", "input_diff", "tick"], "columns": True}
            started = time.process_time()
            responses = [r for r in client.responses(f"r/{recording.name}", **options) if r.HasField("batch")]
            used = time.process_time() - started
            return [response.SerializeToString() for response in responses], used
    finally:
        daemon.terminate()
        daemon.wait()


def read_columns(responses: list[bytes]) -> tuple[int, int]:
    """Reads columns as the client does. Returns the number of events, and a sum that must be equal for both ways."""
    count = total = 0
    for data in responses:
        batch = replayd.Batch(stream_pb2.StreamEventsResponse.FromString(data))
        count += len(batch)
        for columns in batch.columns.values():
            arrays = {name: columns[name] for name in columns}
            total += int(arrays["at_tick"][-1])
    return count, total


def as_arrow(responses: list[bytes], compression: str | None) -> list[bytes]:
    """Returns the same batches as Arrow IPC streams, one for each kind. Each stream has its schema once."""
    writers: dict[str, tuple[pa.BufferOutputStream, pa.ipc.RecordBatchStreamWriter]] = {}
    for data in responses:
        batch = replayd.Batch(stream_pb2.StreamEventsResponse.FromString(data))
        for kind, columns in batch.columns.items():
            table = pa.record_batch({name: columns[name] for name in columns})
            if kind not in writers:
                sink = pa.BufferOutputStream()
                options = pa.ipc.IpcWriteOptions(compression=compression)
                writers[kind] = sink, pa.ipc.new_stream(sink, table.schema, options=options)
            writers[kind][1].write_batch(table)
    streams = []
    for sink, writer in writers.values():
        writer.close()
        streams.append(sink.getvalue().to_pybytes())
    return streams


def read_arrow(streams: list[bytes]) -> tuple[int, int]:
    count = total = 0
    for data in streams:
        with pa.ipc.open_stream(data) as stream:
            for batch in stream:
                count += batch.num_rows
                arrays = {name: batch.column(name).to_numpy(zero_copy_only=False) for name in batch.schema.names}
                total += int(arrays["at_tick"][-1])
    return count, total


def measure(what: str, read: Callable[[list[bytes]], tuple[int, int]], data: list[bytes], want: tuple[int, int]) -> None:
    best = float("inf")
    for _ in range(RUNS):
        started = time.process_time()
        assert read(data) == want, what
        best = min(best, time.process_time() - started)
    size = sum(map(len, data))
    print(f"{what:22} {want[0] / best / 1e6:7.1f} M events/CPU s  {size:11,} bytes  {size / want[0]:5.1f} bytes an event")


def main() -> None:
    binary, recording, out = sys.argv[1], Path(sys.argv[2]).resolve(), Path(sys.argv[3])
    pa.set_cpu_count(1)
    responses, used = record(binary, recording)
    out.write_bytes(b"".join(struct.pack("<I", len(r)) + r for r in responses))
    want = read_columns(responses)
    print(f"{want[0]:,} events in {len(responses)} responses, numpy {numpy.__version__}, pyarrow {pa.__version__}")
    print(f"receiving them by gRPC, unmarshalled, took {used:.2f} s of CPU: {want[0] / used / 1e6:.1f} M events/CPU s")
    measure("columns", read_columns, responses, want)
    for compression in (None, "lz4", "zstd"):
        measure(f"Arrow, {compression or 'plain'}", read_arrow, as_arrow(responses, compression), want)


if __name__ == "__main__":
    main()
