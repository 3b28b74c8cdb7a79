// Prints what a named subscription gets, a line for each response: ADDRESS NAME TOKEN KINDS.

import { connect } from "../../../../clients/typescript/dist/node.js";

const [address, subscription, token, kinds] = process.argv.slice(2);
const client = connect(address);
for await (const r of client.subscribe("", {
  subscription,
  token: Buffer.from(token, "base64"),
  kinds: kinds.split(","),
  heartbeat: 1000,
  retry: { initial: 10, maximum: 50, giveUpAfter: 3_600_000 },
})) {
  const line = {
    identity: r.replay?.identity ?? "",
    events: [...r].map(({ offset, index, kind }) => ({ offset: String(offset), index: String(index), kind })),
    end: r.response?.response.case === "end",
    failed: r.failure && !r.failure.retried ? r.failure.name : "",
    token: Buffer.from(r.token).toString("base64"),
  };
  process.stdout.write(JSON.stringify(line) + "\n");
}
