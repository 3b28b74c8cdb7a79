"""Reads requests, one JSON line each, and prints the events that the Python client yields for them. See doc.go."""

from __future__ import annotations

import json
import sys
from typing import Any

import replayd
from google.protobuf import json_format
from replayd.v1 import stream_pb2


def main() -> None:
    clients: dict[str, replayd.Client] = {}
    for line in sys.stdin:
        asked = json.loads(line)
        request = json_format.ParseDict(asked["request"], stream_pb2.StreamEventsRequest())
        address: str = asked["address"]
        client = clients.get(address) or clients.setdefault(address, replayd.connect(address))
        end: dict[str, Any] = {"end": ""}
        try:
            for event in client.events(request.replay, **options(request)):
                sys.stdout.write(json.dumps(event.to_dict()) + "\n")
        except replayd.ReplaydError as error:
            end = {"end": error.reason or str(error)}
        print(json.dumps(end), flush=True)


def options(request: stream_pb2.StreamEventsRequest) -> replayd.StreamOptions:
    """The options that mean the same as the request."""
    made: replayd.StreamOptions = {
        "include": request.include, "exclude": request.exclude, "with_state": request.start.with_state, "follow": request.follow,
        "resolve_players": request.resolve_players, "strict": request.strict, "max_batch_events": request.max_batch_events,
        "where": request.where,
    }  # fmt: skip
    match request.start.WhichOneof("at"):
        case "cursor":
            made["cursor"] = request.start.cursor
        case "tick":
            made["tick"] = request.start.tick
        case "last_events":
            made["last"] = request.start.last_events
        case "now":
            made["now"] = True
    return made


if __name__ == "__main__":
    main()
