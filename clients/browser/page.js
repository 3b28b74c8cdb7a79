// The page under test. It streams replays one after the other, and sends the events and the result to the test.

import { connect, EndReason } from "@replayd/client";

const asked = new URL(location.href).searchParams;
const daemon = asked.get("daemon");
const follow = asked.get("follow") === "true";

let told = Promise.resolve();

/** Sends a message to the test. Messages arrive in order. */
function tell(what, body) {
  told = told.then(() => fetch(what, { method: "POST", body: JSON.stringify(body) }));
  return told;
}

let lines = [];
function flush() {
  if (lines.length > 0) tell("/events", lines);
  lines = [];
}
setInterval(flush, 100);

async function stream(replay) {
  try {
    const events = connect(daemon).events(replay, {
      follow,
      heartbeat: 1000,
      retry: { initial: 50, maximum: 500 },
    });
    for await (const event of events) lines.push(event.toJSON());
    return { reason: EndReason[events.end.reason], reconnects: events.reconnects };
  } catch (error) {
    return { error: String(error) };
  }
}

let end;
for (const replay of asked.getAll("replay")) end = await stream(replay);
flush();
tell("/end", end);
