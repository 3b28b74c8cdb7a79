// Tests the page in a real browser, served by bin/replayd: what it shows, and what it requests.

import assert from "node:assert/strict";
import { appendFileSync, mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { PNG } from "pngjs";
import { accessible, atRest, daemon, directory, finished, lastTick, mapFound, options, recorded, replayd, repository, samePicture, says, shown, start, tab, tickOf, until } from "./harness.js";

test("from the list to a moment of a game, and back by its link", options, async (t) => {
  const page = await tab(t);
  await page.goto(daemon.url);
  await page.waitForSelector(`a[href$="${finished}"]`);
  await accessible(page);
  await page.type("input[type=search]", "sunny finished");
  await until(page, () => document.querySelectorAll(".replays li").length === 1);
  await page.$eval(".replays a", (link) => link.click());

  await shown(page); // it starts to play
  await until(page, () => document.querySelector("canvas.scene").dataset.tick > 20);
  await page.keyboard.press("Space");
  await until(page, () => document.querySelector(".round").getAttribute("aria-label").startsWith("Play"));
  const paused = await tickOf(page);
  await page.keyboard.press(".");
  await until(page, (tick) => document.querySelector("canvas.scene").dataset.tick == tick, paused + 1);
  await page.keyboard.press("End");
  await until(page, (tick) => document.querySelector("canvas.scene").dataset.tick == tick, lastTick);
  const { x, y, width, height } = await (await page.$(".timeline")).boundingBox();
  await page.mouse.click(x + width / 2, y + height - 10);
  await until(page, (last) => location.search.includes("tick=") && document.querySelector("canvas.scene").dataset.tick < last, lastTick);
  const middle = await tickOf(page);
  assert.ok(Math.abs(middle - lastTick / 2) < 3, `tick ${middle}`);

  await until(page, () => document.querySelectorAll(".players button").length === 3);
  await page.click('.players button[data-client="0"]');
  await until(page, () => location.search.includes("player=0"));
  const link = await page.url();
  await page.keyboard.press("i");
  await until(page, () => document.querySelectorAll(".events li").length > 0);
  await says(page, ".inspector", new RegExp(`at tick ${middle}.*replayd cat.*grpcurl.*curl -sN.*connect`, "s"));
  await accessible(page);

  const other = await tab(t, { scheme: "light" });
  await other.goto(link);
  await shown(other);
  assert.equal(await tickOf(other), middle);
  await other.waitForSelector('.players [aria-pressed="true"][data-client="0"]');
  await accessible(other);
});

test("a finished game is found again after the daemon was away", options, async (t) => {
  const own = await start(directory);
  t.after(() => own.stop());
  const page = await tab(t, { away: true, of: own });
  await page.goto(`${own.url}/replay/samples/recorded.teehistorian?tick=1`);
  await shown(page);
  await page.evaluate(() => (document.querySelector("canvas.scene").dataset.ready = "unknown"));
  await own.stop();
  await page.evaluate(() => document.querySelector(".timeline").focus());
  await page.keyboard.press("End");
  await own.restart();
  await until(page, () => document.querySelector("canvas.scene").dataset.ready === "true" && document.querySelector("canvas.scene").dataset.tick > 2900);
  await says(page, ".players", /Ada/);
  await says(page, ".feed", /Ada/);
  assert.doesNotMatch(await page.$eval(".feed", ({ textContent }) => textContent), /#\d/);

  await own.stop(); // nor is a replay lost whose page was opened meanwhile
  await page.$eval("a.back", (link) => link.click());
  await until(page, () => /daemon is away/.test(document.querySelector("[role=status]")?.textContent));
  await page.evaluate((path) => { history.pushState(null, "", path); dispatchEvent(new PopStateEvent("popstate")); }, `/replay/samples/${finished}`);
  await until(page, () => /daemon is away/.test(document.querySelector("main")?.textContent));
  await own.restart();
  await shown(page);
  await own.stop();
  await choose(page, "Scoreboard");
  await page.keyboard.press("i");
  await says(page, ".inspector", /daemon is away/);
  await own.restart();
  await says(page, ".report table:not(.both)", /alice/);
  await says(page, ".inspector", /at tick/);
});

test("a game of which nothing can be seen says why", options, async (t) => {
  const page = await tab(t);
  for (const [name, why] of [
    ["sc2replay/1.0.SC2Replay", /does not say what units did/],
    ["teehistorian/finished/4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian?tick=1701", /Nobody is in the game/],
  ]) {
    await page.goto(`${daemon.url}/replay/samples/${name}`);
    await says(page, ".notice:not([hidden])", why);
    await accessible(page);
  }
});

test("a link with an unknown parameter is refused by its name", options, async (t) => {
  const page = await tab(t);
  for (const path of [`/replay/samples/${finished}?tick=141&plaier=0`, "/?plaier=0"]) {
    await page.goto(daemon.url + path);
    await until(page, () => /“plaier” in the address is no parameter/.test(document.querySelector("main")?.textContent));
    await accessible(page);
  }
});

test("the lines of the inspector give what it shows", options, async (t) => {
  const page = await tab(t);
  await page.goto(`${daemon.url}/replay/samples/${finished}?tick=141`);
  await shown(page);
  await page.keyboard.press("i");
  await page.type('input[aria-label="Kinds of events"]', "player_new\n");
  await until(page, () => document.querySelectorAll(".events li").length === 1);
  const curl = await page.$$eval(".line code", (lines) => lines.find((line) => line.textContent.startsWith("curl")).textContent);
  const address = /http[^']*/.exec(curl)[0];
  const lines = (await (await fetch(address)).text()).split("\n").filter((line) => line.includes('"kind"'));
  assert.equal(lines.length, 1);
  assert.equal(JSON.parse(lines[0]).kind, "player_new");
});

test("a tick is always drawn in the same way", options, async (t) => {
  const page = await tab(t, { width: 900, height: 640 });
  await mapFound("recorded.teehistorian");
  for (const [name, moment, marks] of [
    ["golden", "recorded.teehistorian?tick=1210"], ["golden-dota", "dota.dem?tick=430&player=1", 9], ["golden-cs", "cs.dem?tick=500", 3],
    ["golden-deadlock", "deadlock.dem?tick=430", 2], ["golden-sc2", "sc2replay/battle.SC2Replay?tick=300"], ["golden-map", "datafile/sample.map?time=0"],
  ]) {
    await page.goto(`${daemon.url}/replay/samples/${moment}`);
    await shown(page);
    if (name === "golden") await page.waitForSelector("[data-designed]");
    if (marks) await until(page, (count) => document.querySelector(".timeline").dataset.marks >= count, marks); // where players have been is known then
    // Minimaps have little on them, so their limit is lower.
    const oneIn = name === "golden" || name === "golden-map" ? 200 : 600;
    samePicture(await atRest(await page.$("canvas.scene")), fileURLToPath(new URL(`${name}.png`, import.meta.url)), oneIn);
  }
});

test("hooks, weapons and freezes are drawn as the rules lead to them, and guesses with gaps", options, async (t) => {
  const own = await start(join(repository, "cmd/internal/demo/race"));
  t.after(() => own.stop());
  const page = await tab(t, { width: 900, height: 640, of: own });
  for (const [name, tick] of [["golden-hooks", 1440], ["golden-frozen", 828]]) {
    await page.goto(`${own.url}/replay/samples/race.teehistorian?tick=${tick}&player=4`);
    await shown(page);
    await page.waitForSelector("[data-designed][data-played]");
    samePicture(await atRest(await page.$("canvas.scene")), fileURLToPath(new URL(`${name}.png`, import.meta.url)), 3000);
  }
});

test("a game whose rules are not known is not asked for again and again, and shown without", options, async (t) => {
  writeFileSync(join(directory, "unruly.teehistorian"), Buffer.from(recorded.toString("latin1").replace("DDraceNetwork", "DDraceNetwerk"), "latin1"));
  utimesSync(join(directory, "unruly.teehistorian"), 1.7e9, 1.7e9); // it does not grow
  t.after(() => rmSync(join(directory, "unruly.teehistorian")));
  await mapFound("unruly.teehistorian");
  const page = await tab(t);
  const streams = [];
  page.on("request", (request) => request.url().endsWith("/StreamEvents") && /sample_character/.test(request.postData()) && streams.push(request));
  await page.goto(`${daemon.url}/replay/samples/unruly.teehistorian`);
  await shown(page);
  await until(page, () => document.querySelector("canvas.scene").dataset.tick > 100);
  assert.ok(streams.length > 0 && streams.length < 5, `${streams.length} requests`); // of a busy daemon some are lost, and asked again
  assert.equal(await page.$("[data-played]"), null);
});

test("the picture of a map lies under the game, and where there is none the page says so", options, async (t) => {
  const assets = join(directory, "..", `${directory.split("/").at(-1)}.assets`);
  mkdirSync(join(assets, "overviews"), { recursive: true });
  t.after(() => rmSync(assets, { recursive: true }));
  const png = new PNG({ width: 64, height: 64 });
  for (let y = 0; y < 64; y++) {
    for (let x = 0; x < 64; x++) png.data.set([x < 32 ? 200 : 20, y < 32 ? 160 : 20, (x + y) % 16 < 8 ? 40 : 90, 255], (y * 64 + x) * 4);
  }
  writeFileSync(join(assets, "overviews/de_sample.png"), PNG.sync.write(png));
  writeFileSync(join(assets, "overviews/de_sample.txt"), '"pos_x" "-3000"\n"pos_y" "2500"\n"scale" "5"\n');
  for (const name of ["dota", "dl_sample"]) writeFileSync(join(assets, `overviews/${name}.png`), PNG.sync.write(png));
  writeFileSync(join(assets, "overviews/dl_sample.txt"), "pos_x -10000\npos_y 10000\nscale 20\n");
  writeFileSync(join(assets, "overviews/dota.txt"), "pos_x -8700\npos_y 8700\nscale 17\n");
  const own = await start(directory, "--assets", assets);
  t.after(() => own.stop());
  const page = await tab(t, { width: 900, height: 640, of: own });
  for (const [name, picture] of [["dota.dem?tick=430", "golden-dota-map"], ["deadlock.dem?tick=430", "golden-deadlock-map"], ["cs.dem?tick=500", "golden-radar"]]) {
    await page.goto(`${own.url}/replay/samples/${name}`);
    await shown(page);
    assert.deepEqual(await page.$$eval(".doubt:not([hidden])", (all) => all.map((one) => one.textContent)), []);
    samePicture(await atRest(await page.$("canvas.scene")), fileURLToPath(new URL(`${picture}.png`, import.meta.url)), 600);
  }
  writeFileSync(join(assets, "overviews/de_sample.txt"), '"pos_x" "-3000"');
  await page.reload();
  await says(page, ".doubt:not([hidden])", /cannot be shown: de_sample.txt lacks pos_x, pos_y or a scale/);
  const without = await tab(t);
  await without.goto(`${daemon.url}/replay/samples/cs.dem?tick=500`);
  await says(without, ".doubt:not([hidden])", /no picture of the map “de_sample”/);
});

/** Chooses a tab beside a game. */
const choose = (page, title) => page.$$eval("[role=tab]", (tabs, title) => tabs.find(({ textContent }) => textContent === title).click(), title);

/** Generated demos and replays, and the texts that must be shown. The link opens them in the middle, which needs the state. */
const matches = [
  {
    name: "dota.dem", last: 900, players: 10, at: 780, who: 3, marks: 9,
    side: [/Radiant.*1.*Ada.*Axe.*Margaret.*Crystal Maiden.*level 6.*1\/1\/0.*dead.*1920.*Dire.*1.*Barbara/s, /What happenedScoreboardPurchasesDraft/, /0:01Tango0:22Blink/, /Radiant\s*Invoker banned\s*0:03Axe\s*Lina.*Dire\s*0:00Rubick banned\s*0:04Pudge\s*Zuus/s],
    feed: [/Rubick was banned/, /Axe was picked/, /Ada.*: glhf/, /Margaret killed Donald/, /Donald killed Margaret/, /Radiant Tower1 Mid fell/],
  },
  {
    name: "cs.dem", last: 640, players: 10, at: 620, who: 2, marks: 3,
    side: [/Analysts.*3.*Ada.*\$800.*Linus.*\$1400.*Compilers.*4.*Frances.*dead/s], feed: [/Linus killed Frances with Ak47, headshot/, /Linus planted the bomb/, /won round 8: Target Bombed/],
  },
  {
    name: "deadlock.dem", last: 640, players: 12, at: 500, who: 2, marks: 2,
    side: [/Amber Hand.*3.*Ada.*Inferno.*level 8.*4000.*Linus.*Hornet.*3\/2\/4.*5200.*Sapphire Flame.*5.*Frances.*dead/s, /0:01Headshot Booster/], feed: [/Linus killed Frances with help of Margaret/],
  },
  { name: "sc2replay/5.0.SC2Replay", last: 100_000, players: 2, at: 450, who: 1, marks: 4, side: [/Alice.*Terran · won.*Bob/s, /Build order.*Supply Depot/s], feed: [/Alice.*: gl hf/, /Bob.*: größe 한/] },
];

test("the draft of a match leads to its moments, and a game without one has none", options, async (t) => {
  const page = await tab(t);
  await page.goto(`${daemon.url}/replay/samples/dota.dem?tick=780`);
  await page.waitForSelector(".drafted .when");
  await page.$eval(".drafted .when", (button) => button.click());
  await until(page, () => document.querySelector("canvas.scene").dataset.tick === "100" && location.search.includes("tick=100"));
  assert.deepEqual(await page.$$eval(".drafted .when", (buttons) => buttons.map((button) => button.textContent)), ["0:03", "0:00", "0:04"]);
  await page.goto(`${daemon.url}/replay/samples/cs.dem?tick=500`);
  await shown(page);
  await says(page, ".feed", /Linus planted the bomb/);
  assert.equal(await page.$(".drafted"), null);
});

test("a game says what is pointed at and what keys do, and is where it was after going back and a reload", options, async (t) => {
  const page = await tab(t, { height: 600 });
  for (const [name, pattern] of [["sc2replay/battle.SC2Replay?tick=300", /^[A-Z][a-z ]+ · (Alice|Bob)/], ["dota.dem?tick=780", /Radiant Tower1 Mid · 0?destroyed|Tower.* % of its health/], ["cs.dem?tick=500", /^Ada · \d+ of 100 health$/]]) {
    await page.goto(`${daemon.url}/replay/samples/${name}`);
    await shown(page);
    await until(page, (source) => {
      const canvas = document.querySelector("canvas.scene");
      const { left, top, width, height } = canvas.getBoundingClientRect();
      for (let y = top + 5; y < top + height; y += 10) {
        for (let x = left + 5; x < left + width; x += 10) {
          canvas.dispatchEvent(new PointerEvent("pointermove", { clientX: x, clientY: y, pointerType: "mouse" }));
          const what = document.querySelector(".what");
          if (!what.hidden && new RegExp(source).test(what.textContent)) return true;
        }
      }
    }, pattern.source);
  }
  await page.keyboard.press("?");
  await until(page, () => /Five seconds back and on/.test(document.querySelector("dialog[open]")?.textContent));
  await accessible(page);
  await page.keyboard.press("Escape");

  await page.goto(`${daemon.url}/replay/samples/dota.dem?tick=600`);
  await shown(page);
  await page.keyboard.press("Space");
  await until(page, () => history.state?.playing && history.state.tick > 620);
  const before = await page.evaluate(() => history.state.tick);
  const goesOn = () => until(page, (tick) => {
    const { dataset } = document.querySelector("canvas.scene") ?? {};
    return dataset?.ready === "true" && dataset.tick >= tick && document.querySelector(".round").getAttribute("aria-label").startsWith("Pause");
  }, before);
  await page.reload();
  await goesOn();
  await page.$eval("a.back", (link) => link.click());
  await page.waitForSelector(".replays li");
  await page.goBack();
  await goesOn();
});

test("keys draw where players have been and died, and save a picture", options, async (t) => {
  const page = await tab(t);
  for (const [name, shows] of [["dota.dem?tick=780", ["Where players have been", "Where players died"]], ["recorded.teehistorian?tick=1000", ["Where players have been"]]]) {
    await page.goto(`${daemon.url}/replay/samples/${name}`);
    await shown(page);
    await until(page, () => document.querySelector(".timeline").dataset.marks > 0);
    const picture = () => page.$eval("canvas.scene", (canvas) => canvas.toDataURL());
    const without = await picture();
    for (const what of shows) {
      await until(page, (text) => { // once the replay has been surveyed
        const said = document.querySelector(".heated");
        if (said.hidden || said.textContent !== text) dispatchEvent(new KeyboardEvent("keydown", { key: "h" }));
        return !said.hidden && said.textContent === text;
      }, what);
      await sleep(200);
      assert.notEqual(await picture(), without, what);
    }
    await accessible(page);
    while (await page.$(".heated:not([hidden])")) await page.keyboard.press("h");
    const saved = await page.evaluate(() => new Promise((resolve) => {
      HTMLAnchorElement.prototype.click = function () { resolve(`${this.download} ${this.href}`); };
      dispatchEvent(new KeyboardEvent("keydown", { key: "p" }));
    }));
    assert.match(saved, /^.+ \d+\.\d\d\.png blob:/);
  }
});

test("the list of what happened stays at its end, unless the viewer has scrolled in it", options, async (t) => {
  const page = await tab(t, { height: 480 });
  await page.goto(`${daemon.url}/replay/samples/dota.dem?tick=0`);
  await shown(page);
  const end = () => page.$eval(".feed", (feed) => feed.scrollHeight > feed.clientHeight + 30 && feed.scrollTop + feed.clientHeight > feed.scrollHeight - 5);
  await page.keyboard.press("End");
  await says(page, ".feed", /Tower1 Mid fell/);
  assert.ok(await end());
  await page.$eval(".feed", (feed) => feed.scrollIntoView({ block: "center" })); // the side may be longer than the window
  const { x, y } = await (await page.$(".feed")).boundingBox();
  await page.mouse.move(x + 30, y + 30);
  await page.mouse.wheel({ deltaY: -2000 });
  await until(page, () => document.querySelector(".feed").scrollTop === 0);
  await page.keyboard.press(",");
  await sleep(300);
  assert.equal(await page.$eval(".feed", ({ scrollTop }) => scrollTop), 0);
  await page.$eval(".feed li:last-child .when", (button) => button.click());
  await until(page, () => { const feed = document.querySelector(".feed"); return feed.scrollTop + feed.clientHeight > feed.scrollHeight - 5; });
});

test("demos and StarCraft II replays play, seek and link", options, async (t) => {
  const page = await tab(t);
  for (const match of matches) {
    await page.goto(`${daemon.url}/replay/samples/${match.name}`);
    await shown(page); // it starts to play
    await until(page, () => document.querySelector("canvas.scene").dataset.tick > 8);
    await page.keyboard.press("Space");
    await until(page, () => document.querySelector(".round").getAttribute("aria-label").startsWith("Play"));
    const paused = await tickOf(page);
    await page.keyboard.press(".");
    await until(page, (tick) => document.querySelector("canvas.scene").dataset.tick == tick, paused + 1);
    await page.keyboard.press("End");
    await until(page, (tick) => document.querySelector("canvas.scene").dataset.tick == tick, match.last);
    await until(page, (count) => document.querySelectorAll(".players button").length === count, match.players);
    await until(page, (count) => document.querySelector(".timeline").dataset.marks >= count, match.marks);
    await page.click(`.players button[data-client="${match.who}"]`);
    await until(page, (who) => location.search.includes(`player=${who}`), match.who);

    await page.goto(`${daemon.url}/replay/samples/${match.name}?tick=${match.at}&player=${match.who}`);
    await shown(page);
    await until(page, (count) => document.querySelectorAll(".feed li").length >= count, match.feed.length);
    assert.equal(await tickOf(page), match.at);
    await page.waitForSelector(`.players [aria-pressed="true"][data-client="${match.who}"]`);
    for (const what of match.side) await says(page, ".side", what);
    for (const what of match.feed) await says(page, ".feed", what);
    await until(page, () => (document.querySelector(".chart").getAttribute("aria-label") ?? "").match(/\d/));
  }
});

test("every view opens, is accessible and fits, on a phone too", options, async (t) => {
  for (const size of [{ width: 1280, height: 800 }, { width: 390, height: 844, scheme: "light" }]) {
    const page = await tab(t, size);
    for (const name of [
      "datafile/sample.map", "dota.dem?tick=780", "sc2replay/battle.SC2Replay?tick=300", finished,
      ...(size.scheme ? ["dota.dem?tick=780&overlay=scoreboard", "dem/sample.dem"] : ["dota.dem?tick=780&overlay=feed", "cs.dem?tick=500"]),
    ]) {
      await page.goto(`${daemon.url}/replay/samples/${name}`);
      await page.waitForSelector('[data-ready="true"]');
      await accessible(page);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wide <= 0, `${name} is ${wide} pixels too wide`);
      const over = await page.evaluate(() => { // the clock may have the game's own time too, which needs room
        const [clock, button] = [".clock", ".controls button"].map((selector) => document.querySelector(selector)?.getBoundingClientRect());
        return clock && button ? clock.right - button.left : 0;
      });
      assert.ok(over <= 0, `the clock of ${name} is ${over} pixels over the buttons`);
    }
  }
});

test("an overlay shows what happens over what is below it", options, async (t) => {
  const page = await tab(t, { width: 500, height: 400 });
  await page.goto(`${daemon.url}/replay/samples/dota.dem?tick=780&overlay=feed&bg=transparent`);
  await until(page, () => /Donald killed Margaret/.test(document.querySelector(".feed")?.textContent));
  assert.doesNotMatch(await page.$eval(".feed", (feed) => feed.textContent), /glhf/); // too long ago
  assert.equal(await page.$("canvas, .transport, .topbar, button"), null);
  const { data, width } = PNG.sync.read(Buffer.from(await page.screenshot({ omitBackground: true })));
  assert.equal(data[3], 0, "its corner is not transparent");
  assert.ok(data.some((value, i) => i % 4 === 3 && value === 255), `nothing of ${width} pixels is seen`);
  await page.goto(`${daemon.url}/replay/samples/dota.dem?tick=780&overlay=scoreboard`);
  await until(page, () => document.querySelectorAll(".players .shown").length === 10);
});

test("a live demo is shown as it grows, marks and all", options, async (t) => {
  const bytes = readFileSync(join(repository, "testdata/dem/teamfight.dem"));
  const path = join(directory, "live.dem");
  let written = Math.floor(bytes.length * 0.55);
  writeFileSync(path, bytes.subarray(0, written));
  const wall = await tab(t);
  await wall.goto(daemon.url);
  const picture = await wall.waitForSelector('.cards [data-client$="live.dem"] canvas[data-players="10"]'); // before it grows
  const before = await picture.evaluate((canvas) => canvas.toDataURL());
  const page = await tab(t);
  await page.goto(`${daemon.url}/replay/samples/live.dem`);
  await shown(page);
  await until(page, () => document.querySelector(".timeline").dataset.marks === "5"); // the chat, the draft, and a purchase
  await until(page, () => !document.querySelector(".pill").hidden);
  await until(page, () => document.querySelectorAll(".feed li").length === 4);
  const chat = await page.$(".feed .news-chat"); // it must stay, or a click on it may get lost
  while (written < bytes.length) {
    appendFileSync(path, bytes.subarray(written, (written += 2500)));
    await sleep(50);
  }
  await wall.bringToFront();
  await wall.waitForFunction((canvas, before) => canvas.isConnected && canvas.toDataURL() !== before, { polling: 50 }, picture, before);
  await page.bringToFront();
  await until(page, () => document.querySelector(".timeline").dataset.marks >= 7); // two deaths, without another request
  await until(page, () => Number(document.querySelector("canvas.scene").dataset.tick) > 880);
  await says(page, ".feed", /Donald killed Margaret/);
  assert.ok(await chat.evaluate((item) => item.isConnected && item === document.querySelector(".feed .news-chat") && /glhf/.test(item.textContent)));
});

test("the scoreboard of a game says who took part, and how it stands or ended", options, async (t) => {
  const page = await tab(t);
  for (const [name, pattern] of [
    [`${finished}?tick=${lastTick}`, /Player.*Clan.*Left.*Played.*alice.*replayd.*0:33.*Carol/s],
    ["sc2replay/battle.SC2Replay?tick=300", /Player.*Race.*Result.*MMR.*SQ.*Alice.*Terran.*win.*4321.*Bob.*Zerg.*loss/s],
    ["dem/dota.dem", /Player.*Hero.*somebody.*Axe.*another.*Lina/s], ["cs.dem?tick=500", /Player.*Ada/s],
    ["sc2replay/battle.SC2Replay?tick=0", /^(?!.*Workers).*Alice/s], // as it stood at the tick
  ]) {
    await page.goto(`${daemon.url}/replay/samples/${name}`);
    await shown(page);
    await choose(page, "Scoreboard");
    await says(page, ".report table:not(.both)", pattern);
    await accessible(page);
    if (name.endsWith("tick=0")) {
      await page.keyboard.press("End");
      await says(page, ".report table:not(.both)", /Workers.*Left.*Alice.*1:14:24/s);
    }
  }
});

test("two players are shown side by side, and their lines stand out", options, async (t) => {
  const page = await tab(t);
  await page.goto(`${daemon.url}/replay/samples/dota.dem?tick=780`);
  await shown(page);
  await choose(page, "Scoreboard");
  const pick = (name) => page.waitForSelector(`.report button[data-client="${name}"]`).then((button) => button.evaluate((one) => one.click()));
  await until(page, () => /Ada \d/.test(document.querySelector(".chart").getAttribute("aria-label") ?? ""));
  const chart = () => page.$eval(".chart", (canvas) => canvas.toDataURL());
  const all = await chart();
  for (const name of ["Ada", "Margaret", "Donald"]) await pick(name); // the third one takes the place of the first
  await says(page, ".both", /^MargaretDonald.*Kills11.*Level66/s);
  await accessible(page);
  await until(page, (before) => document.querySelector(".chart").toDataURL() !== before, all);
  await pick("Donald");
  assert.equal(await page.$(".both:not([hidden])"), null);
  await until(page, (before) => document.querySelector(".chart").toDataURL() === before, all);
});

test("build orders keep what they have when they grow", options, async (t) => {
  const page = await tab(t);
  await page.goto(`${daemon.url}/replay/samples/sc2replay/battle.SC2Replay?tick=100`);
  await shown(page);
  const first = await page.waitForSelector(".builds li");
  const before = await page.$$eval(".builds li", (items) => items.length);
  await page.keyboard.press("ArrowRight"); // five seconds
  await until(page, (count) => document.querySelectorAll(".builds li").length > count, before);
  assert.ok(await first.evaluate((item) => item.isConnected && item === document.querySelector(".builds li")));
});

/** Waits for a tick, and returns how many the clock had shown before. */
const passed = (tick) => new Promise((resolve) => {
  const ticks = new Set();
  const look = () => {
    const now = document.querySelector("canvas.scene").dataset.tick;
    ticks.add(now);
    if (now == tick) resolve(ticks.size);
    else requestAnimationFrame(look);
  };
  look();
});

test("a file that is opened becomes a temporary replay, in which the player seeks", options, async (t) => {
  const page = await tab(t);
  const files = [
    [finished, lastTick, 141], ["dota.dem", 900, 780], ["sc2replay/5.0.SC2Replay", undefined, 450], ["datafile/sample.map"],
  ];
  const client = await page.createCDPSession();
  await client.send("Network.enable");
  const uploading = (uploadThroughput) => client.send("Network.emulateNetworkConditions", { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput });
  await uploading(8_000); // so that End is pressed while the first file still arrives
  for (const [name, last, at] of files) {
    await page.goto(daemon.url);
    await (await page.waitForSelector("input[type=file]")).uploadFile(join(directory, name));
    await until(page, () => location.pathname.startsWith("/replay/@upload/"));
    await page.waitForSelector('[data-ready="true"]');
    await until(page, (title) => document.querySelector(".topbar h1")?.textContent === title, name.split("/").at(-1));
    if (at === undefined) continue;
    await page.keyboard.press("End");
    if (last) assert.ok(await page.evaluate(passed, last) < 100, "the clock is set to what arrives, and does not play it");
    await uploading(-1);
    await page.goto(`${await page.url().split("?")[0]}?tick=${at}`); // a link to a moment, which needs the state there
    await shown(page);
    assert.equal(await tickOf(page), at);
    await until(page, () => document.querySelectorAll(".players button").length > 0 && document.querySelector(".timeline").dataset.marks > 0);
  }
  const address = await page.url();
  await page.goto(daemon.url);
  await until(page, (count) => document.querySelectorAll(".mine").length === count, files.length);
  await accessible(page);
  assert.equal(await page.$eval(".replays:not(:has(.mine))", (list) => list.textContent.includes("@upload")), false);
  await page.click(".mine button");
  await until(page, (count) => document.querySelectorAll(".mine").length === count, files.length - 1);

  const other = await tab(t, { away: true }); // the browser logs the 404
  await other.goto(address);
  await until(other, () => /no longer here/.test(document.body.textContent));
});

test("an upload shows its progress, and is refused when it is no replay or cancelled", options, async (t) => {
  const page = await tab(t, { away: true });
  writeFileSync(join(directory, "large.bin"), Buffer.concat([readFileSync(join(directory, finished)), Buffer.alloc(60 << 20)]));
  writeFileSync(join(directory, "no-replay"), "no replay");
  const client = await page.createCDPSession();
  await client.send("Network.enable");
  await page.goto(daemon.url);
  const open = async (name) => (await page.waitForSelector("input[type=file]")).uploadFile(join(directory, name));
  await open("no-replay");
  await until(page, () => /unrecognized format/.test(document.body.textContent));
  await page.goto(daemon.url);
  await page.waitForSelector("input[type=file]");
  await client.send("Network.emulateNetworkConditions", { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: 4 << 20 });
  await open("large.bin");
  await until(page, () => document.querySelector("progress")?.value > 0);
  await says(page, "main", /large\.bin.* of 63 MB/);
  await accessible(page);
  await page.click("main button");
  await page.waitForSelector(".home");
  rmSync(join(directory, "large.bin"));
});
