// Tests the list of replays, and the token, in a real browser.

import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { accessible, browser, daemon, directory, options, says, shown, start, tab, until } from "./harness.js";

test("players are found, and what was searched for is there again after going back and after a reload", options, async (t) => {
  const page = await tab(t);
  await page.goto(daemon.url);
  await page.waitForSelector(".replays li");
  await page.type("input[type=search]", "aLiC 5.0");
  await until(page, () => document.querySelectorAll(".replays li").length === 1);
  await until(page, () => /Alice \(Terran\) vs Bob \(Zerg\), Alice won/.test(document.querySelector(".replays li").textContent));
  await accessible(page);
  await page.$eval(".replays a", (link) => link.click());
  await shown(page);
  const again = () => until(page, () => document.querySelector("input[type=search]")?.value === "aLiC 5.0" && document.querySelectorAll(".replays li").length === 1);
  await page.goBack();
  await again();
  await page.reload();
  await again();

  await page.goto(`${daemon.url}/?q=finished`); // rows say who played and how long
  await until(page, () => /alice.*Carol.*0:34/s.test(document.querySelector(".replays li")?.textContent));
  await page.goto(`${daemon.url}/?state=finished&q=teehistorian/`);
  await until(page, () => /finished\/.*mapchange|mapchange.*finished\//s.test(document.querySelector(".home")?.textContent) && !/killed/.test(document.querySelector(".home").textContent));
  await page.$eval("input[type=search]", (input) => { input.value = ""; input.dispatchEvent(new Event("input")); });
  await until(page, () => location.search === "?state=finished");
  await page.select('select[aria-label="State"]', "");
  await page.select('select[aria-label="Order"]', "largest");
  await until(page, () => location.search === "?sort=largest" && document.querySelector(".replays li").textContent.includes("recorded.teehistorian"));
  const count = await page.$$eval(".replays li, .card", (rows) => rows.length);
  await says(page, "[role=status]", new RegExp(`^${count}$`));
  await page.type("input[type=search]", "nobody at all");
  await says(page, "[role=status]", /Nothing like that is there/);
  await accessible(page);

  for (const name of ["sample.map", "recorded.teehistorian"]) { // rows have a picture of the map
    await page.goto(`${daemon.url}/?q=${name}`);
    await until(page, (name) => {
      const picture = document.querySelector(`.replays li[data-client$="${name}"] canvas`)?.getContext("2d");
      return picture?.getImageData(0, 0, 96, 54).data.some((value, i) => i % 4 === 3 && value > 0);
    }, name);
  }
  await page.goto(`${daemon.url}/?format=ddnet`);
  await until(page, () => document.querySelector('.formats [aria-pressed="true"]')?.textContent === "DDNet games");
  await page.setViewport({ width: 1000, height: 200 });
  await page.evaluate(() => scrollTo(0, 150));
  await until(page, () => history.state?.y === 150);
  await page.$eval(".replays a", (link) => link.click());
  await shown(page);
  await page.goBack();
  await until(page, () => scrollY === 150 && document.querySelector('.formats [aria-pressed="true"]').textContent === "DDNet games");
});

test("a token that is wrong is told, and one that is right is asked for once", options, async (t) => {
  const file = join(directory, "..", `${directory.split("/").at(-1)}.tokens`);
  writeFileSync(file, "the-right-one-of-more-than-16-bytes\n", { mode: 0o600 });
  t.after(() => rmSync(file));
  const own = await start(directory, "--token-file", file, "--insecure");
  t.after(() => own.stop());
  const context = await browser.createBrowserContext();
  t.after(() => context.close());
  const page = await tab(t, { away: true, of: own, context });
  await page.goto(own.url);
  const say = async (text) => {
    await page.waitForSelector("#token");
    await page.type("#token", text);
    await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
  };
  await say("the wrong one");
  await says(page, "[role=alert]", /does not accept that token/);
  await accessible(page);
  await say("the-right-one-of-more-than-16-bytes");
  await page.waitForSelector(".replays li");

  const other = await tab(t, { away: true, of: own, context });
  await other.goto(own.url);
  await other.waitForSelector(".replays li");
  await other.evaluate(() => [...document.querySelectorAll("button")].find(({ textContent }) => textContent === "Sign out").click());
  await Promise.all([other.waitForSelector("#token"), page.waitForSelector("#token")]);
});
