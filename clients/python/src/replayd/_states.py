"""The latest states of live games, folded from the responses of a call. It does no input or output."""

from __future__ import annotations

from typing import Any

from ._error import ReplaydError
from ._session import SILENT_HEARTBEATS, Attempts, Retry, silence_of
from .v1 import state_pb2

_MAX_INTERVAL = 60.0


class States(dict[int, state_pb2.WatchedReplay]):
    """The latest states of games, by their numbers in a call. Each has its description and all players, by number."""

    def apply(self, response: state_pb2.WatchStateResponse) -> None:
        """Takes a response. It forgets the games that an earlier response has ended, so that the end of a game is seen once."""
        for number in [number for number, game in self.items() if _over(game)]:
            del self[number]
        for news in response.replays:
            game = self.setdefault(news.replay, state_pb2.WatchedReplay(replay=news.replay, whole=True))
            if news.HasField("description"):
                game.description.CopyFrom(news.description)
            if news.HasField("tick"):
                _set_players(game, news)
                game.tick, game.unfinished = news.tick, news.unfinished
                game.age.CopyFrom(news.age)
            game.end = news.end
            game.ClearField("failure")
            if news.HasField("failure"):
                game.failure.CopyFrom(news.failure)


def _over(game: state_pb2.WatchedReplay) -> bool:
    """Whether no more of a game follows."""
    return bool(game.end) or game.HasField("failure") and not game.failure.retried


def players(game: state_pb2.WatchedReplay) -> list[Any]:
    """The players of a game: its events of the kind sample_player."""
    format = game.WhichOneof("players")
    return list(getattr(game, format).events) if format else []


def _number(event: Any) -> int:
    sample = event.sample_player
    number: int = sample.client_id if hasattr(sample, "client_id") else sample.player_id
    return number


def _set_players(game: state_pb2.WatchedReplay, news: state_pb2.WatchedReplay) -> None:
    """Applies the players of a response to those of a state."""
    format = news.WhichOneof("players")
    if format is None:
        return
    after = {} if news.whole else {_number(event): event for event in players(game)}
    for number in news.removed:
        after.pop(number, None)
    after.update((_number(event), event) for event in players(news))
    events = [after[number] for number in sorted(after)]
    of = type(getattr(news, format))(events=events)
    game.ClearField(format)
    getattr(game, format).CopyFrom(of)


class Watched:
    """One watch of states over any number of connections."""

    def __init__(self, request: state_pb2.WatchStateRequest, retry: Retry | None) -> None:
        self.request = request
        interval: float = request.interval.ToTimedelta().total_seconds()
        self.silence = max(silence_of(request), SILENT_HEARTBEATS * min(interval, _MAX_INTERVAL))
        self._attempts = Attempts(retry)
        self._states = States()

    def called(self) -> None:
        """Records the time when a call begins. Its games have numbers of their own."""
        self._attempts.called()
        self._states = States()

    def take(self, response: state_pb2.WatchStateResponse) -> States:
        """Updates the states with a response."""
        self._attempts.succeeded()
        self._states.apply(response)
        return self._states

    def delay(self, error: ReplaydError | None) -> float:
        """Returns how many seconds to wait before the next attempt, or raises the error if there must be none."""
        return self._attempts.delay(error, True, self.request.directory or "all games")
