// Watches the requests of a page for events.

import { StreamEventsRequestSchema } from "../node_modules/@replayd/client/gen/replayd/v1/stream_pb.js";
import { fromBinary } from "../node_modules/@replayd/client/node_modules/@bufbuild/protobuf/dist/esm/index.js";

/**
 * Keeps the page's requests for events from now on: what each asks for, and when it was sent, answered, had its first bytes of an answer,
 * and ended, in milliseconds as Date.now. What has not happened is undefined.
 */
export async function watchRequests(page) {
  const client = await page.createCDPSession();
  const requests = [];
  const byId = new Map();
  client.on("Network.requestWillBeSent", ({ requestId, request, timestamp, wallTime }) => {
    if (!request.url.endsWith("/StreamEvents")) return;
    const body = Buffer.concat(request.postDataEntries.map(({ bytes }) => Buffer.from(bytes, "base64")));
    const one = { asks: fromBinary(StreamEventsRequestSchema, body.subarray(5)), sent: wallTime * 1000, offset: (wallTime - timestamp) * 1000 }; // 5: the envelope
    requests.push(one);
    byId.set(requestId, one);
  });
  for (const [event, what] of [["responseReceived", "answered"], ["dataReceived", "first"], ["loadingFailed", "ended"], ["loadingFinished", "ended"]]) {
    client.on(`Network.${event}`, ({ requestId, timestamp }) => {
      const one = byId.get(requestId);
      if (one) one[what] ??= timestamp * 1000 + one.offset;
    });
  }
  await client.send("Network.enable", { maxPostDataSize: 1 << 16 });
  return requests;
}
