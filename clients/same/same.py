"""Prints a summary of the events that the Python client yields for every replay of a daemon. See doc.go."""

from __future__ import annotations

import hashlib
import json
import struct
import sys
from pathlib import Path
from typing import Any

import replayd
from replayd.events import AnyEvent
from replayd.v1 import stream_pb2
from replayd.v1.filter_pb2 import EventFilter
from replayd.v1.replay_pb2 import Format


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


def compare_facts(address: str, directory: str, golden: str) -> None:
    """Compares the facts of files with those of the golden file."""
    files = 0
    with replayd.connect(address) as client:
        formats = {Format.Name(f.format): [k.name for k in f.kinds if k.name.startswith("fact_") and not k.needs_map] for f in client.server_info().formats}
        for want in map(json.loads, Path(golden).read_text().splitlines()):
            path = Path(directory, want["file"])
            if not path.exists() and not want["file"].startswith("testdata/"):
                continue
            kinds = formats["FORMAT_SC2REPLAY" if path.suffix == ".SC2Replay" else "FORMAT_TEEHISTORIAN"]
            got = facts(client.decode(path, include=[EventFilter(kinds=kinds)]), want["file"].startswith("testdata/"))
            if got != want["kinds"]:
                sys.exit(f"{want['file']}: {got}, and not {want['kinds']}")
            files += 1
    print(files, "files have the same facts in Python")


def facts(events: replayd.Stream[AnyEvent], first: bool) -> dict[str, dict[str, Any]]:
    """The facts of each kind. What a damaged file has before its damage counts."""
    of_kind: dict[str, list[dict[str, Any]]] = {}
    try:
        for event in events:
            value = event.to_dict()
            del value["sequence"]
            of_kind.setdefault(event.kind, []).append(value)
    except replayd.ReplaydError:
        pass
    return {
        kind: {"count": len(all), "hash": hashlib.sha256(b"".join(map(canonical, all))).hexdigest()[:16]} | ({"first": all[0]} if first else {})
        for kind, all in of_kind.items()
    }


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
    main(*sys.argv[1:]) if len(sys.argv) == 3 else compare_facts(*sys.argv[1:])
