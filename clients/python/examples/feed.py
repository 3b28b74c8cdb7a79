"""Tells who joins, leaves and finishes on a live DDNet server, one line each, as a chat channel would like to hear it.

    python feed.py server1/teehistorian            # prints
    python feed.py server1/teehistorian https://... # posts each line to a Discord webhook as well

It goes on with the next game when the map changes, and across restarts of the daemon.
"""

from __future__ import annotations

import argparse
import json
import urllib.request

import replayd
from replayd.events import teehistorian

TICKS_PER_SECOND = 50


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("replay", help="a replay, or the directory into which a server writes its replays")
    parser.add_argument("webhook", nargs="?", help="where to post the lines")
    parser.add_argument("--address", default="localhost:7171", help="of the daemon")
    parser.add_argument("--all", action="store_true", help="also what happened already, and stop when the game is over")
    options = parser.parse_args()
    with replayd.connect(options.address) as client:
        events = client.events(
            options.replay,
            format=teehistorian.FORMAT,
            kinds=["player_ready", "drop", "player_finish", "finish"],
            resolve_players=True,
            follow=not options.all,
            follow_successors=not options.all,
            now=not options.all,
        )
        for event in events:
            if text := tell(event):
                print(text, flush=True)
                if options.webhook:
                    post(options.webhook, text)


def tell(event: teehistorian.Event) -> str | None:
    """What to say of an event, if anything. The daemon knows who is who, over changes of the map, too."""
    name = event.event.player.name
    match event.kind:
        case "player_ready":
            return f"{name or event.value.client_id} joined"
        case "drop":
            return f"{name or event.value.client_id} left" + (f" ({event.value.reason})" if event.value.reason else "")
        case "player_finish":
            return f"{name or event.value.client_id} finished in {event.value.time / TICKS_PER_SECOND:.2f} s"
        case "finish":
            return "the game is over"
        case _:
            return None


def post(webhook: str, text: str) -> None:
    """Posts a line to a Discord webhook; nobody is pinged by a player's name."""
    body = json.dumps({"content": text, "allowed_mentions": {"parse": []}}).encode()
    request = urllib.request.Request(webhook, body, {"Content-Type": "application/json", "User-Agent": "replayd"})
    with urllib.request.urlopen(request, timeout=10):
        pass


if __name__ == "__main__":
    main()
