"""Prints a line for each player who joins, leaves or finishes on a live DDNet server, for example for a chat channel.

    python feed.py server1/teehistorian            # prints
    python feed.py server1/teehistorian https://... # posts each line to a Discord webhook as well

It continues with the next game when the map changes, and resumes when the daemon restarts.
"""

from __future__ import annotations

import argparse
import json
import urllib.request

import replayd
from replayd.events import teehistorian
from replayd.teehistorian.v1 import events_pb2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("replay", help="a replay, or the directory into which a server writes its replays")
    parser.add_argument("webhook", nargs="?", help="where to post the lines")
    parser.add_argument("--address", default="localhost:7171", help="the address of the daemon")
    parser.add_argument("--all", action="store_true", help="start at the beginning of the replay and stop at its end")
    options = parser.parse_args()
    with replayd.connect(options.address) as client:
        events = client.events(
            options.replay,
            format=teehistorian.FORMAT,
            kinds=["player_ready", "fact_session", "fact_finish", "finish"],
            resolve_players=True,
            follow=not options.all,
            follow_successors=not options.all,
            now=not options.all,
        )
        for event in events:
            if text := describe(event):
                print(text, flush=True)
                if options.webhook:
                    post(options.webhook, text)


def describe(event: teehistorian.Event) -> str | None:
    """The line for an event, if any. The daemon adds the players' names, even after changes of the map."""
    name = event.event.player.name
    match event.kind:
        case "player_ready":
            return f"{name or event.value.client_id} joined"
        case "fact_session":
            if event.value.end != events_pb2.SESSION_END_DROPPED:
                return None
            return f"{name or event.value.client_id} left" + (f" ({event.value.reason})" if event.value.reason else "")
        case "fact_finish":
            who = name or event.value.client_id if event.value.HasField("client_id") else f"team {event.value.team}"
            return f"{who} finished in {event.value.seconds:.2f} s"
        case "finish":
            return "the game is over"
        case _:
            return None


def post(webhook: str, text: str) -> None:
    """Posts a line to a Discord webhook. A mention in a player's name does not notify anyone."""
    body = json.dumps({"content": text, "allowed_mentions": {"parse": []}}).encode()
    request = urllib.request.Request(webhook, body, {"Content-Type": "application/json", "User-Agent": "replayd"})
    with urllib.request.urlopen(request, timeout=10):
        pass


if __name__ == "__main__":
    main()
