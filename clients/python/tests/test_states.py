"""Tests of the latest states of live games."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import replayd
from conftest import FINISHED, Daemon
from replayd.teehistorian.v1.events_pb2 import SamplePlayer
from replayd.v1 import state_pb2, stream_pb2


def test_the_latest_states(binary: Path, tmp_path: Path) -> None:
    data = FINISHED.read_bytes()
    (tmp_path / "games").mkdir()
    game = tmp_path / "games" / "game.teehistorian"
    game.write_bytes(data[: len(data) // 3])
    daemon = Daemon(binary, game.parent)
    part, last = 1, -1
    with replayd.connect(daemon.address) as client:
        for states in client.watch_state(interval=0.05, columns=["x"], resolve_players=True, retry=replayd.Retry(initial=0.01)):
            assert len(states) <= 1
            for state in states.values():
                if not state.HasField("tick") or state.tick == last:
                    continue
                assert state.description.name == "r/game.teehistorian" and state.tick > last
                for event in replayd.players(state):
                    assert event.player.name and not event.sample_player.HasField("y")
                last, part = state.tick, part + 1
                with game.open("ab") as file:
                    file.write(data[len(data) // 3 * (part - 1) : len(data) // 3 * part])
                if part == 2:  # the next call has the state again
                    daemon.kill()
                    daemon.start()
            if part > 2:
                break
        with pytest.raises(replayd.ReplaydError, match="nothing"):
            next(client.watch_state(columns=["nothing"]))
        with pytest.raises(TypeError, match="columns"):
            next(client.watch_state(columns="x"))
    daemon.kill()


def test_states_fold() -> None:
    def game(*players: int, whole: bool = False, x: int = 0, removed: tuple[int, ...] = (), **of: Any) -> state_pb2.WatchStateResponse:
        entry = state_pb2.WatchedReplay(replay=3, tick=1, whole=whole, removed=removed, **of)
        entry.teehistorian.SetInParent()
        for player in players:
            entry.teehistorian.events.add().sample_player.CopyFrom(SamplePlayer(client_id=player, x=x))
        return state_pb2.WatchStateResponse(replays=[entry])

    states = replayd.States()

    def told() -> dict[int, int]:
        return {event.sample_player.client_id: event.sample_player.x for event in replayd.players(states[3])}

    states.apply(game(0, 2, whole=True))
    assert told() == {0: 0, 2: 0}
    states.apply(game(1, 2, x=5, removed=(0,)))
    assert told() == {1: 5, 2: 5} and list(told()) == [1, 2]
    states.apply(game())
    assert told() == {1: 5, 2: 5}
    states.apply(game(7, whole=True, end=stream_pb2.END_REASON_FINISHED))
    assert told() == {7: 0} and states[3].end
    states.apply(state_pb2.WatchStateResponse())
    assert not states
