"""Prints a summary of the events that the Python client yields for every replay of a daemon. See doc.go."""

from __future__ import annotations

import hashlib
import struct
import sys
from pathlib import Path
from typing import Any

import replayd
from replayd.events import AnyEvent
from replayd.v1 import stream_pb2


def main(address: str, directory: str) -> None:
    with replayd.connect(address) as client:
        for replay in client.replays():
            line("rows", replay.name, client.events(replay.name))
            line("state", replay.name + "@end", client.events(replay.name, now=True, with_state=True))
            last: replayd.StreamOptions = {
                "last": 200, "with_state": True, "resolve_players": ".teehistorian" in replay.name
            }  # fmt: skip
            line("players", replay.name + "@last", client.events(replay.name, **last))
            line("upload", replay.name, client.decode(Path(directory, replay.name.split("/", 1)[1])))


def line(how: str, name: str, events: replayd.Stream[AnyEvent]) -> None:
    digest, count = hashlib.sha256(), 0
    try:
        for event in events:
            digest.update(canonical(event.to_dict()))
            count += 1
        assert events.end is not None
        end = stream_pb2.EndReason.Name(events.end.reason).removeprefix("END_REASON_")
    except replayd.ReplaydError as error:
        end = error.reason
    print(how, name, count, digest.hexdigest(), end)


def canonical(value: Any) -> bytes:
    match value:
        case dict():
            return b"{%b}" % b"".join(canonical(name) + canonical(value[name]) for name in sorted(value))
        case list():
            return b"[%b]" % b"".join(map(canonical, value))
        case str():
            text = value.encode()
            return b"%d:%b" % (len(text), text)
        case bool():
            return b"t" if value else b"f"
        case int() | float():
            return b"#" + struct.pack(">d", value).hex().encode()
        case _:
            return b"n"


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
