from __future__ import annotations

import random

import pytest

from replayd._columns import Columns
from replayd.teehistorian.v1 import events_pb2

numpy = pytest.importorskip("numpy")

EDGES = [0, 1, -1, 63, 64, -64, -65, 8191, 8192, 2**28, 2**31 - 1, -(2**31)]


def moves(count: int, values: list[int]) -> events_pb2.PlayerDiffColumns:
    return events_pb2.PlayerDiffColumns(
        place=range(count),
        at_tick=[random.choice(values) for _ in range(count)],
        client_id=[0] * count,
        dx=[random.choice(values) for _ in range(count)],
        x=[random.choice(values) for _ in range(count)],
    )


# Below and above 512 events, arrays are created in different ways.
@pytest.mark.parametrize("count", [1, 511, 512, 5000])
@pytest.mark.parametrize("values", [[0], [1, 2, 3], EDGES, list(range(-300, 300))])
def test_arrays_hold_what_the_message_holds(count: int, values: list[int]) -> None:
    message = moves(count, values)
    columns = Columns("player_diff", message)
    assert len(columns) == count
    for name in ["place", "at_tick", "client_id", "dx", "x", "y"]:
        array = columns[name]
        assert array.dtype == (numpy.uint32 if name == "place" else numpy.int32), name
        assert array.tolist() == list(getattr(message, name)), name
    with pytest.raises(KeyError):
        columns["z"]


def test_arrays_of_flags() -> None:
    message = events_pb2.TickColumns(place=range(1000), implicit=[i % 3 == 0 for i in range(1000)])
    array = Columns("tick", message)["implicit"]
    assert array.dtype == numpy.bool_
    assert array.tolist() == list(message.implicit)


def test_unknown_columns_are_ignored() -> None:
    message = moves(1000, EDGES)
    message.MergeFromString(b"\xf8\x07\x05" + b"\xfa\x07\x02\x01\x02")  # an unknown varint field and an unknown column
    assert Columns("player_diff", message)["x"].tolist() == list(message.x)
