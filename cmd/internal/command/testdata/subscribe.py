"""Prints what a named subscription gets, a line for each response: ADDRESS NAME TOKEN KINDS."""

import base64
import json
import sys

import replayd
from replayd import Retry

address, name, token, kinds = sys.argv[1:]
with replayd.connect(address) as client:
    for r in client.subscribe(
        subscription=name,
        token=base64.b64decode(token),
        kinds=kinds.split(","),
        heartbeat=1,
        retry=Retry(0.01, 0.05, 3600),
    ):
        line = {
            "identity": r.replay.identity if r.replay else "",
            "events": [{"offset": str(e.offset), "index": str(e.index), "kind": e.kind} for e in r],
            "end": bool(r.response and r.response.HasField("end")),
            "failed": r.failure.name if r.failure and not r.failure.retried else "",
            "token": base64.b64encode(r.token).decode(),
        }
        print(json.dumps(line), flush=True)
