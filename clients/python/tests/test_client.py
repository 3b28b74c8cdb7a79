"""Tests of the client against a real daemon."""

from __future__ import annotations

import asyncio
import errno
import http.server
import io
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest

import replayd
import conftest
from conftest import FINISHED, REPOSITORY, SAMPLES, Daemon
from replayd.events import datafile, dem, sc2replay, teehistorian
from replayd.v1 import filter_pb2, replay_pb2, report_pb2, stream_pb2

NAME = f"r/teehistorian/finished/{FINISHED.name}"
# The ways in which the daemon is stopped while a stream follows.
STOPS: list[Callable[[Daemon], None]] = [Daemon.kill, Daemon.drain, Daemon.kill]


def test_events_are_numbered_and_typed(daemon: Daemon) -> None:
    with replayd.connect(daemon.address) as client:
        stream = client.events(NAME)
        events = list(stream)
    assert [event.sequence for event in events] == list(range(len(events)))
    assert events[-1].kind == "finish"
    assert stream.end is not None and stream.end.reason == stream_pb2.END_REASON_FINISHED
    assert stream.end.events_sent == len(events)
    assert stream.replay is not None and stream.replay.teehistorian.game_type == "DDraceNetwork"
    move = next(event for event in events if event.kind == "player_diff")
    assert move.kind == "player_diff" and move.value.x == move.event.player_diff.x
    assert move.tick == move.event.at_tick


class Relay(http.server.SimpleHTTPRequestHandler):
    """The relay of a broadcast that is over."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args, directory=str(REPOSITORY / "clients" / "testdata"))

    def log_message(self, format: str, *args: Any) -> None:
        pass


def test_follow_broadcast(binary: Path, tmp_path: Path) -> None:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Relay) as relay:
        threading.Thread(target=relay.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{relay.server_port}/broadcast"
        allow = ["--broadcast-allow", url, "--broadcast-into", "r/tv", "--broadcast-pace", "1ms"]
        daemon = Daemon(binary, tmp_path, *allow)
        try:
            with replayd.connect(daemon.address) as client:
                name = client.follow_broadcast(url)
                stream = client.events(name, follow=True)
                kinds = [event.kind for event in stream]
                assert name.startswith("r/tv/") and client.follow_broadcast(url + "/") == name
                with pytest.raises(replayd.ReplaydError) as refused:
                    client.follow_broadcast("http://example.org/secret")
        finally:
            daemon.kill()
            relay.shutdown()
    assert refused.value.code == grpc.StatusCode.PERMISSION_DENIED and "secret" not in str(refused.value)
    assert stream.end is not None and stream.end.reason == stream_pb2.END_REASON_FINISHED and "kill" in kinds


def test_to_dict_equals_replayd_cat(daemon: Daemon) -> None:
    with replayd.connect(daemon.address) as client:
        ours = [event.to_dict() for event in client.events(NAME)]
    printed = subprocess.run([daemon.binary, "cat", FINISHED], capture_output=True, check=True).stdout
    assert ours == [json.loads(line) for line in printed.splitlines()]


def test_positions_join_streams(daemon: Daemon) -> None:
    with replayd.connect(daemon.address) as client:
        whole = [(event.offset, event.index, event.kind) for event in client.events(NAME)]
        moves = [(event.offset, event.index, event.kind) for event in client.events(NAME, kinds=["player_diff"])]
        rest = client.events(NAME, exclude=[filter_pb2.EventFilter(kinds=["player_diff"])], max_batch_events=7)
        moves += [(event.offset, event.index, event.kind) for event in rest]
        state = next(event for event in client.events(NAME, tick=300, with_state=True) if event.state)
    assert sorted(moves) == whole == sorted(set(whole))
    assert (state.offset, state.index) == (0, 0)


def test_batches_hold_the_same_events(daemon: Daemon) -> None:
    with replayd.connect(daemon.address) as client:
        events = [event.event for event in client.events(NAME)]
        batches = list(client.batches(NAME, max_batch_events=7))
    assert {len(batch) for batch in batches[:-1]} == {7}
    assert [event for batch in batches for event in batch.events] == events
    assert [event.sequence for batch in batches for event in batch] == list(range(len(events)))


def test_an_upload_gives_the_same_events(daemon: Daemon) -> None:
    async def upload() -> list[str]:
        async with replayd.connect_async(daemon.address) as client:
            return [event.to_json() async for event in client.decode(FINISHED)]

    with replayd.connect(daemon.address) as client:
        served = [event.to_json() for event in client.events(NAME)]
        stream = client.decode(FINISHED)
        assert [event.to_json() for event in stream] == served
        assert stream.end is not None and stream.end.reason == stream_pb2.END_REASON_FINISHED
        assert [event.to_json() for event in client.decode(FINISHED.read_bytes())] == served
        with FINISHED.open("rb") as file:
            batches = client.decode_batches(file, max_batch_events=100)
            assert [event.to_json() for batch in batches for event in batch] == served
        with pytest.raises(replayd.ReplaydError, match="UNKNOWN_FORMAT"):
            list(client.decode(b"this is no replay"))
        big = conftest.teehistorian(300_000)
        assert sum(len(batch) for batch in client.decode_batches(big)) == 600_004
    assert asyncio.run(upload()) == served


def test_a_subscription_has_each_event_once(daemon: Daemon) -> None:
    formats = [replay_pb2.FORMAT_TEEHISTORIAN, replay_pb2.FORMAT_DATAFILE, replay_pb2.FORMAT_DEM]
    with replayd.connect(daemon.address) as client:
        names = {replay.identity: replay.name for replay in client.replays(formats=formats)}
        want = {  # which events name their class depends on where batches begin
            identity: [event.to_json() for event in client.events(name, max_batch_events=300)] for identity, name in names.items()
        }
        got: dict[str, list[str]] = {identity: [] for identity in want}
        token, responses = b"", 0
        for part in client.subscribe(formats=formats, max_batch_events=300, retry=replayd.Retry(initial=0.01)):
            if part.replay:
                got[part.replay.identity] += [event.to_json() for event in part]
            token, responses = part.token, responses + 1
            if responses in (9, 40):
                daemon.kill()
                daemon.start()
            if sum(map(len, got.values())) >= sum(map(len, want.values())):
                break
        assert got == want
        again = next(client.subscribe(formats=formats, token=token))
        assert again.heartbeat is not None and not list(again) and again.replay is None
        with pytest.raises(replayd.ReplaydError, match="TOKEN_MISMATCH"):
            next(client.subscribe(token=token))
        with pytest.raises(TypeError, match="tick"):
            next(client.subscribe(tick=1))  # type: ignore[call-arg]


def test_a_named_subscription_goes_on_behind_what_was_acknowledged(daemon: Daemon) -> None:
    directory, got = "r/teehistorian/finished", list[str]()
    with replayd.connect(daemon.address) as client:
        (name,) = (replay.name for replay in client.replays(directory))
        while True:
            for part in client.subscribe(directory, subscription="stats", max_batch_events=300):
                got += [event.to_json() for event in part]
                if part.batch:
                    client.acknowledge("stats", part.token)
                    break
                if part.response and part.response.HasField("end"):
                    break
            else:
                raise AssertionError
            if not part.batch:
                break
        assert got == [event.to_json() for event in client.events(name, max_batch_events=300)]
        client.delete_subscription("stats")

    async def forget() -> None:
        async with replayd.connect_async(daemon.address) as client:
            with pytest.raises(replayd.ReplaydError, match="SUBSCRIPTION_NOT_FOUND"):
                await client.acknowledge("stats", part.token)
            with pytest.raises(replayd.ReplaydError, match="SUBSCRIPTION_NOT_FOUND"):
                await client.delete_subscription("stats")

    asyncio.run(forget())


def test_a_subscription_has_tables(daemon: Daemon) -> None:
    async def rows() -> dict[str, int]:
        counts: dict[str, int] = {}
        async with replayd.connect_async(daemon.address) as client:
            async for part in client.subscribe("r/teehistorian/finished", kinds=["join", "tick"], tables=True, max_batch_events=50):
                if part.replay and part.batch:
                    assert set(part.batch.tables) <= {"join", "tick"}
                    name = part.replay.name
                    counts[name] = counts.get(name, 0) + sum(table.arrow().num_rows for table in part.batch.tables.values())
                if part.response and part.response.HasField("end"):
                    return counts
        return counts

    counts = asyncio.run(rows())
    with replayd.connect(daemon.address) as client:
        assert counts == {name: len(list(client.events(name, kinds=["join", "tick"]))) for name in counts}
    assert counts


class FailingFile(io.BytesIO):
    """A file whose second read fails."""

    def read(self, size: int | None = -1, /) -> bytes:
        if self.tell() > 0:
            raise OSError(errno.EIO, "read error")
        return super().read(1000)


@pytest.mark.parametrize(
    ("source", "error"), [("none", FileNotFoundError), (".", IsADirectoryError), (FailingFile(FINISHED.read_bytes()), OSError)]
)
def test_an_error_from_reading_an_upload_is_raised_unchanged(
    daemon: Daemon, caplog: pytest.LogCaptureFixture, source: str | FailingFile, error: type[OSError]
) -> None:
    async def upload() -> None:
        async with replayd.connect_async(daemon.address) as client:
            async for _ in client.decode(source):
                pass

    with replayd.connect(daemon.address) as client, pytest.raises(error) as raised:
        list(client.decode(source))
    assert type(raised.value) is error
    if isinstance(source, FailingFile):
        assert raised.value.errno == errno.EIO
        source.seek(0)
    with pytest.raises(error) as raised:
        asyncio.run(upload())
    assert type(raised.value) is error
    assert not caplog.records  # grpc would log a traceback of an exception that reaches it


def test_resuming_at_a_cursor(daemon: Daemon) -> None:
    with replayd.connect(daemon.address) as client:
        whole = list(client.events(NAME))
        seen: list[replayd.Event] = []
        with client.batches(NAME, max_batch_events=100) as stream:
            for batch in stream:
                seen.extend(batch)
                if len(seen) >= 500:
                    cursor = batch.cursor
                    break
        seen.extend(client.events(NAME, cursor=cursor))
    assert [event.to_json() for event in seen] == [event.to_json() for event in whole]


def test_filters(daemon: Daemon) -> None:
    with replayd.connect(daemon.address) as client:
        joins = list(client.events(NAME, kinds=["join", "drop"], players=[1]))
        rest = list(client.events(NAME, exclude=[filter_pb2.EventFilter(kinds=["player_diff", "tick"])]))
    assert {event.kind for event in joins} == {"join", "drop"}
    assert {event.value.client_id for event in joins if event.kind == "join" or event.kind == "drop"} == {1}
    assert not {"player_diff", "tick"} & {event.kind for event in rest}


def test_filters_of_formats(daemon: Daemon) -> None:
    with replayd.connect(daemon.address) as client:
        demo = list(client.events("r/dem/sample.dem", format=dem.FORMAT, classes=["CEvery*"], fields=["m_iFixed?"]))
        names: set[str] = set()
        for event in demo:
            assert event.kind == "entity_created" or event.kind == "entity_updated" or event.kind == "entity_entered"
            assert event.string(getattr(event.value, "class")) == "CEverything"
            names.update(event.string(field.field) for field in event.value.fields)
        assert names == {"m_iFixed8"}, names
        name = next(r.name for r in client.replays("r/datafile") if r.format == replay_pb2.FORMAT_DATAFILE)
        layers = [event for event in client.events(name, format=datafile.FORMAT, layers=[1])]
        assert layers and {event.value.layer for event in layers if event.kind == "tile_layer" or event.kind == "tiles"} == {1}
        groups = list(client.events(name, format=datafile.FORMAT, kinds=["tile_layer", "quad_layer"], groups=[0]))
        assert {e.value.group for e in groups if e.kind == "tile_layer" or e.kind == "quad_layer"} <= {0}
        with pytest.raises(replayd.ReplaydError, match="does not have the format dem"):
            list(client.events(name, format=dem.FORMAT))
        with pytest.raises(replayd.ReplaydError) as error:
            list(client.events(NAME, classes=["x"]))
        assert error.value.reason == "BAD_REQUEST" and error.value.fields
        with pytest.raises(ValueError, match="exclude include"):
            client.events(NAME, teams=[1], include=[filter_pb2.EventFilter()])


def test_a_state_comes_first_and_is_not_counted(daemon: Daemon) -> None:
    with replayd.connect(daemon.address) as client:
        rest = [event.to_json() for event in client.events(NAME, tick=500)]
        events = list(client.events(NAME, tick=500, with_state=True))
        state = [event for event in events if event.state]
        assert state and {event.kind for event in state} == {"player_state"}
        assert [event.to_json() for event in events[len(state) :]] == rest
        assert all(event.to_json().startswith('{"state":true,"at_tick":') for event in state)
        batches = list(client.batches(NAME, tick=500, with_state=True))
        parts = [batch for batch in batches if batch.state]
        assert parts == batches[: len(parts)] and [batch.complete for batch in parts][-1]
        assert [event.to_json() for batch in parts for event in batch] == [event.to_json() for event in state]
        assert sum(map(len, parts)) == len(state) and {batch.next_sequence for batch in parts} == {0}
        at = client.events(NAME, cursor=parts[-1].cursor)
        assert [event.to_json() for event in at] == rest  # the cursor of a state's last part is after the state
        only = list(client.events(NAME, tick=500, with_state=True, players=[99]))
        assert only == []

    async def follow() -> list[str]:
        async with replayd.connect_async(daemon.address) as client:
            stream = client.events(NAME, format=teehistorian.FORMAT, tick=500, with_state=True)
            return [event.to_json() async for event in stream if event.state]

    assert asyncio.run(follow()) == [event.to_json() for event in state]


def test_facts(daemon: Daemon) -> None:
    """Facts come by name alone, at the same place whatever comes beside them and wherever the stream begins."""
    name = "r/sc2replay/battle.SC2Replay"
    with replayd.connect(daemon.address) as client:
        steps = list(client.events(name, format=sc2replay.FORMAT, kinds=["fact_build_step"]))
        assert steps and {event.kind for event in steps} == {"fact_build_step"}
        assert not any(event.kind.startswith("fact_") for event in client.events(name))
        both = client.events(name, format=sc2replay.FORMAT, kinds=["fact_build_step", "unit_born"], tick=700)
        late = [(event.offset, event.index, event.event) for event in both if event.kind == "fact_build_step"]
        assert late == [(event.offset, event.index, event.event) for event in steps if event.tick >= 700]
        table = client.table(name, "fact_build_step", ["name"])
        names = [event.value.name for event in steps if event.kind == "fact_build_step"]
        assert table.column("name").to_pylist() == names


def test_starts(daemon: Daemon) -> None:
    with replayd.connect(daemon.address) as client:
        whole = list(client.events(NAME))
        late = list(client.events(NAME, tick=1000))
        last = list(client.events(NAME, last=5))
    assert late[0].tick >= 1000
    assert [event.event for event in late] == [event.event for event in whole[-len(late) :]]
    assert [event.event for event in last] == [event.event for event in whole[-5:]]
    with pytest.raises(ValueError, match="exclude each other"):
        client.events(NAME, tick=1, now=True)


@pytest.mark.parametrize("options", [{"kind": ["join"]}, {"tick_min": 3, "kinds": ["join"]}, {"followSuccessors": True}])
def test_unknown_options_are_errors(options: dict[str, object]) -> None:
    name = next(iter(options))
    with replayd.connect("127.0.0.1:1") as client:
        calls: list[Any] = [client.events, client.batches, client.responses, client.decode, client.decode_batches]
        for call in calls:
            with pytest.raises(TypeError, match=f"there is no option '{name}'"):
                call(NAME, **options)


@pytest.mark.parametrize(
    ("name", "options", "code", "reason"),
    [
        ("r/none", {}, grpc.StatusCode.NOT_FOUND, "REPLAY_NOT_FOUND"),
        ("r/../x", {}, grpc.StatusCode.NOT_FOUND, "REPLAY_NOT_FOUND"),
        (NAME, {"kinds": ["none"]}, grpc.StatusCode.INVALID_ARGUMENT, "BAD_REQUEST"),
        (NAME, {"cursor": b"none"}, grpc.StatusCode.INVALID_ARGUMENT, "BAD_REQUEST"),
        (NAME, {"last": 0}, grpc.StatusCode.INVALID_ARGUMENT, "BAD_REQUEST"),
    ],
)
def test_errors_are_raised_and_not_retried(
    daemon: Daemon, name: str, options: replayd.StreamOptions, code: grpc.StatusCode, reason: str
) -> None:
    with replayd.connect(daemon.address) as client, pytest.raises(replayd.ReplaydError) as error:
        list(client.events(name, **options))
    assert (error.value.code, error.value.reason) == (code, reason)
    assert reason != "BAD_REQUEST" or error.value.fields


def test_damage_is_raised_after_the_events_before_it(daemon: Daemon) -> None:
    # An extension record with a negative size.
    (daemon.root / "bad.teehistorian").write_bytes(conftest.teehistorian(100)[:-1] + b"\x4a" + bytes(16) + b"\x40" + bytes(9))
    with replayd.connect(daemon.address) as client:
        stream = client.events("r/bad.teehistorian")
        with pytest.raises(replayd.ReplaydError) as error:
            count = 0
            for count, _ in enumerate(stream, 1):
                pass
    assert error.value.code == grpc.StatusCode.DATA_LOSS
    assert error.value.reason == "CORRUPT"
    assert count >= 200
    assert error.value.cursor == stream.cursor != b""
    assert stream.reconnects == 0


def test_without_a_daemon_a_stream_fails_at_once() -> None:
    with replayd.connect("127.0.0.1:1") as client, pytest.raises(replayd.ReplaydError) as error:
        list(client.events(NAME))
    assert error.value.code == grpc.StatusCode.UNAVAILABLE


def test_listing(daemon: Daemon) -> None:
    with replayd.connect(daemon.address) as client:
        names = [replay.name for replay in client.replays()]
        with pytest.raises(TypeError, match="there is no option 'format'"):
            next(client.replays(format=[replay_pb2.FORMAT_DEM]))  # type: ignore[call-arg]
        assert NAME in names and names == sorted(names)
        assert client.replay(NAME).teehistorian.game_type == "DDraceNetwork"
        assert "player_diff" in [kind.name for kind in client.server_info().formats[0].kinds]
        changes = client.watch("r/teehistorian/finished")
        assert next(changes).replay.name == NAME


class Trouble:
    """A file that grows in small pieces, split anywhere, while the daemon is stopped in each of the ways in STOPS."""

    def __init__(self, daemon: Daemon) -> None:
        self.daemon = daemon
        self.stops = list(STOPS)
        data = FINISHED.read_bytes()
        begin, count = data.index(b"\0", 16) + 1, len(STOPS) + 1
        cuts = [0, *(begin + (len(data) - begin) * i // count for i in range(1, count)), len(data)]
        self.parts = [data[cuts[i] : cuts[i + 1]] for i in range(count)]
        self.file = (daemon.root / "live.teehistorian").open("wb", buffering=0)
        self.file.write(self.parts.pop(0))
        self.writers: list[threading.Thread] = []

    def after(self, reconnects: int) -> None:
        """Stops the daemon, lets the file grow and starts the daemon again, once the stream has been resumed after the stop
        before."""
        if not self.stops or reconnects < len(STOPS) - len(self.stops):
            return
        self.stops.pop(0)(self.daemon)
        self.writers.append(threading.Thread(target=self._grow, args=(self.parts.pop(0),)))
        self.writers[-1].start()
        self.daemon.start()

    def _grow(self, part: bytes) -> None:
        for writer in self.writers[:-1]:
            writer.join()
        for at in range(0, len(part), 97):
            self.file.write(part[at : at + 97])

    def end(self) -> None:
        for writer in self.writers:
            writer.join()
        self.file.close()


def test_following_resumes_after_the_daemon_is_killed(daemon: Daemon) -> None:
    expected = decoded(daemon)
    trouble = Trouble(daemon)
    got = []
    with replayd.connect(daemon.address) as client:
        stream = client.events("r/live.teehistorian", follow=True)
        for event in stream:
            got.append(line(event))
            trouble.after(stream.reconnects)
    trouble.end()
    assert got == expected
    assert stream.reconnects == len(STOPS)
    assert stream.end is not None and stream.end.reason == stream_pb2.END_REASON_FINISHED


def test_following_resumes_after_the_daemon_is_killed_asyncio(daemon: Daemon) -> None:
    expected = decoded(daemon)
    trouble = Trouble(daemon)

    async def follow() -> list[str]:
        async with replayd.connect_async(daemon.address) as client:
            stream = client.events("r/live.teehistorian", follow=True)
            got = []
            async for event in stream:
                got.append(line(event))
                await asyncio.to_thread(trouble.after, stream.reconnects)
            assert stream.reconnects == len(STOPS)
            return got

    got = asyncio.run(follow())
    trouble.end()
    assert got == expected


def test_a_long_file_resumes_after_the_daemon_is_killed(daemon: Daemon) -> None:
    pairs = 1_000_000  # more than fits into the buffers between client and daemon
    (daemon.root / "long.teehistorian").write_bytes(conftest.teehistorian(pairs))
    with replayd.connect(daemon.address) as client:
        stream = client.batches("r/long.teehistorian", retry=replayd.Retry(initial=0.05))
        kills, expected, moves = 0, 0, 0
        for batch in stream:
            assert batch.first_sequence == expected
            expected = batch.next_sequence
            for event in batch.events:
                if event.WhichOneof("kind") == "player_diff":
                    moves += 1
                    assert event.at_tick == moves + 1
            if kills < 2 and moves > 200_000 * (kills + 1):
                kills += 1
                daemon.kill()
                daemon.start()
    assert stream.reconnects == 2
    assert moves == pairs


def test_a_silent_connection_is_replaced(daemon: Daemon) -> None:
    """The daemon is stopped with SIGSTOP, so that the connection stays open without any response."""
    (daemon.root / "live.teehistorian").write_bytes(FINISHED.read_bytes()[:8000])
    with replayd.connect(daemon.address) as client:
        stream = client.responses("r/live.teehistorian", follow=True, heartbeat=1)
        for response in stream:
            if response.HasField("follow_status"):
                break
        daemon.process.send_signal(19)  # SIGSTOP
        threading.Timer(5, daemon.process.send_signal, (18,)).start()  # SIGCONT
        for response in stream:
            if response.HasField("follow_status"):
                break  # the resumed stream reports again that it has caught up
        stream.close()
    assert stream.reconnects >= 1


def test_a_silent_connection_is_replaced_asyncio(daemon: Daemon) -> None:
    (daemon.root / "live.teehistorian").write_bytes(FINISHED.read_bytes()[:8000])

    async def follow() -> int:
        async with replayd.connect_async(daemon.address) as client:
            stream = client.responses("r/live.teehistorian", follow=True, heartbeat=1)
            async for response in stream:
                if response.HasField("follow_status"):
                    break
            daemon.process.send_signal(19)  # SIGSTOP
            threading.Timer(5, daemon.process.send_signal, (18,)).start()  # SIGCONT
            async for response in stream:
                if response.HasField("follow_status"):
                    break  # the resumed stream reports again that it has caught up
            return stream.reconnects

    assert asyncio.run(follow()) >= 1


def decoded(daemon: Daemon) -> list[str]:
    with replayd.connect(daemon.address) as client:
        return [line(event) for event in client.events(NAME)]


def line(event: replayd.Event) -> str:
    return event.to_json()


def example(name: str, *arguments: object) -> str:
    script = REPOSITORY / "clients/python/examples" / name
    run = subprocess.run([sys.executable, script, *map(str, arguments)], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_feed(daemon: Daemon) -> None:
    printed = example("feed.py", "--address", daemon.address, "--all", NAME).splitlines()
    assert printed[0] == "alice joined"
    assert "bob left" in printed
    assert printed[-1] == "the game is over"


def test_heroes(daemon: Daemon) -> None:
    """The sample is not a demo of Dota 2, so the table has no rows."""
    printed = example("heroes.py", "--address", daemon.address, "--upload", SAMPLES / "dem" / "sample.dem")
    assert printed.splitlines()[0] == "tick,seconds,hero,entity,x,y,z"


def test_readme(daemon: Daemon, tmp_path: Path) -> None:
    """The README's example runs as printed, except for the address."""
    text = (REPOSITORY / "clients/python/README.md").read_text()
    code = text.split("```python\n")[1].split("```")[0]
    assert len(code.splitlines()) <= 10
    script = tmp_path / "example.py"
    script.write_text(code.replace("localhost:7171", daemon.address).replace('"samples/', '"r/'))
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60, check=True)
    assert "player_finish" in run.stdout or "join" in run.stdout, run.stdout


def test_participants(daemon: Daemon) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    with replayd.connect(daemon.address) as client:
        deadline = time.monotonic() + 30
        while not (everybody := client.participants(NAME)) and time.monotonic() < deadline:
            time.sleep(0.1)
        table = client.participants_table(NAME)
    assert [list(one.names) for one in everybody] == table.column("names").to_pylist()
    assert table.num_rows == len(everybody) > 0
    left = [one.to_tick if one.HasField("to_tick") else None for one in everybody]
    assert table.column("to_tick").to_pylist() == left
    assert isinstance(table, pyarrow.Table)


def test_report(daemon: Daemon) -> None:
    with replayd.connect(daemon.address) as client:
        whole, begun = client.report(NAME), client.report(NAME, 20)
    assert [p.name for p in whole.teehistorian.players] == ["alice", "bob", "Carol der Große"]
    assert whole.ended and not begun.ended and begun.tick == 20
    assert [p.connected for p in begun.teehistorian.players] == [True]

    async def run() -> report_pb2.Report:
        async with replayd.connect_async(daemon.address) as client:
            return await client.report(NAME, tick=20)

    # Of the replay, the daemon may know more by now.
    assert asyncio.run(run()).teehistorian == begun.teehistorian


def test_participants_async(daemon: Daemon) -> None:
    async def run() -> int:
        async with replayd.connect_async(daemon.address) as client:
            return len(await client.participants(NAME))

    with replayd.connect(daemon.address) as client:
        assert asyncio.run(run()) == len(client.participants(NAME))
