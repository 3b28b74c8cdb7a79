// Opens every replay below a directory, and asks of each that there is something to see, or a sentence that says why there is not:
// CORPUS_PAGE=DIRECTORY, and CORPUS_SECONDS for as many as can be looked at in that time.

import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { options, start, tab } from "./harness.js";

const root = process.env.CORPUS_PAGE;
const seconds = Number(process.env.CORPUS_SECONDS ?? 3600);

test("no replay shows nothing without a sentence", { ...options, skip: options.skip || (root ? false : "no CORPUS_PAGE"), timeout: (seconds + 120) * 1000 }, async (t) => {
  const own = await start(root);
  t.after(() => own.stop());
  const names = [];
  for (let next = ""; ;) {
    const { replays, next_page_token: token } = await (await fetch(`${own.url}/v1/replays?page-size=1000${next && `&page-token=${next}`}`)).json();
    names.push(...replays.map(({ name }) => name));
    if (!(next = token)) break;
  }
  const order = names.map((name, i) => [(i * 7919) % names.length, name]).sort(([a], [b]) => a - b).map(([, name]) => name); // of all kinds, if time is short
  const until = Date.now() + seconds * 1000;
  const [faults, loading] = [[], []];
  let [looked, sentences, slowest] = [0, 0, [0, ""]];
  let page = await tab(t, { of: own });
  for (const name of order) {
    if (Date.now() > until) break;
    if (looked++ % 40 === 39) {
      await page.close();
      page = await tab(t, { of: own });
    }
    const began = Date.now();
    await page.goto(`${own.url}/replay/${name.split("/").map(encodeURIComponent).join("/")}`, { timeout: 120_000 });
    const seen = () => page.evaluate(() => {
      const notice = document.querySelector(".notice:not([hidden])")?.textContent ?? "";
      if (document.querySelector("main.middle h1") || (notice && !/^Loading/.test(notice))) return "sentence";
      if (/^Loading the map of/.test(notice)) return "progress";
      if (document.querySelector(".sheet") || document.querySelector(".layers input") || document.querySelector(".players button")) return "picture";
      return "";
    });
    let what = "";
    while ((what = await seen()) in { "": 0, progress: 0 } && Date.now() - began < 15_000) await sleep(100);
    if (!what) faults.push(name);
    if (what === "sentence" && (await sleep(2000), await seen()) !== "sentence") faults.push(`${name}: the sentence was not true`);
    if (what === "sentence") sentences++;
    if (what === "progress") loading.push(name);
    if (Date.now() - began > slowest[0]) slowest = [Date.now() - began, name];
  }
  await page.close(); // before the daemon ends, whose absence it would say
  t.diagnostic(`${looked} of ${names.length} replays, ${sentences} with a sentence; the slowest took ${slowest[0]} ms: ${slowest[1]}; still loading after 15 s, and saying so: ${loading.join(", ") || "none"}`);
  assert.deepEqual(faults, []);
});
