// The entry point: shows the view for the address.

import { Code, Format, ReplaydError } from "@replayd/client";
import { watchSleep } from "./connection.js";
import { errorText, fill, h, pathOf } from "./dom.js";
import { forgetFile, isTemporary, uploadFile } from "./file.js";
import { home, homeParameters } from "./home.js";
import { mapView } from "./mapview.js";
import { ask, client, wantsToken } from "./net.js";
import { play } from "./player.js";
import { askToken } from "./token.js";

const app = document.getElementById("app")!;
let shown = new AbortController();

/** Ends the view that is shown. Returns the signal of the next one. */
function next(): AbortSignal {
  shown.abort();
  shown = new AbortController();
  return shown.signal;
}

/** Shows the view for the current address. */
async function show(): Promise<void> {
  const signal = next();
  const known = location.pathname.startsWith("/replay/") ? ["tick", "player", "overlay", "bg", "time"] : homeParameters;
  const unknown = [...new URLSearchParams(location.search).keys()].find((name) => !known.includes(name));
  if (unknown !== undefined) { // a misspelt one would show something else than the link says
    return failed(signal, new Error(`“${unknown}” in the address is no parameter of this page; these are: ${known.join(", ")}.`));
  }
  if (!location.pathname.startsWith("/replay/")) return home(app, signal, drop);
  fill(app, h("main", { class: "middle" }, h("p", { class: "quiet", role: "status" }, "Loading …")));
  try {
    const name = location.pathname.slice("/replay/".length).split("/").map(decodeURIComponent).join("/");
    document.title = `${name} · replayd`;
    const away = () => fill(app, h("main", { class: "middle" }, h("p", { role: "status" }, "The daemon is away. Waiting for it …")));
    const replay = await ask(() => client.replay(name), signal, away).catch((error: unknown) => {
      if (!(error instanceof ReplaydError) || error.code !== Code.NotFound) throw error;
      if (!isTemporary(name)) throw new Error(`There is no replay “${name}” here. It may have been moved, or not be shown to you.`);
      forgetFile(name);
      throw new Error("This file is no longer here. A file that was dropped on the page is kept for a limited time, and only while the daemon runs. Drop it again.");
    });
    if (signal.aborted) return;
    if (replay.format === Format.DATAFILE) return await mapView(app, signal, replay);
    play(app, signal, replay);
  } catch (error) {
    failed(signal, error);
  }
}

/** Says why a view cannot be shown. */
function failed(signal: AbortSignal, error: unknown): void {
  if (signal.aborted) return;
  if (wantsToken(error)) return void askToken(app);
  fill(app, h("main", { class: "middle" }, h("h1", {}, "This cannot be shown"), h("p", {}, errorText(error)), h("p", {}, h("a", { href: "/" }, "All replays"))));
}

/** Uploads a local file and shows it. */
async function drop(file: File): Promise<void> {
  const signal = next();
  try {
    const replay = await uploadFile(app, file, signal, () => void show());
    if (signal.aborted) return;
    history.pushState(null, "", pathOf(replay.name));
    await show();
  } catch (error) {
    failed(signal, error);
  }
}

// Links within the page change the view without reloading the page.
document.addEventListener("click", (event) => {
  const link = (event.target as Element).closest?.("a");
  if (!link || event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
  const { origin, pathname } = new URL(link.href);
  if (origin !== location.origin || (pathname !== "/" && !pathname.startsWith("/replay/"))) return;
  event.preventDefault();
  history.pushState(null, "", link.href);
  scrollTo(0, 0);
  void show();
});
addEventListener("popstate", () => void show());

for (const type of ["dragenter", "dragover"]) {
  addEventListener(type, (event) => {
    event.preventDefault();
    document.body.classList.add("dropping");
  });
}
addEventListener("dragleave", (event) => event.relatedTarget === null && document.body.classList.remove("dropping"));
addEventListener("drop", (event) => {
  event.preventDefault();
  document.body.classList.remove("dropping");
  const file = event.dataTransfer?.files[0];
  if (file) void drop(file);
});

watchSleep();
void show();
