// The entry point: shows the view for the address.

import { Format } from "@replayd/client";
import { fill, h } from "./dom.js";
import { openFile } from "./file.js";
import { home } from "./home.js";
import { mapView } from "./mapview.js";
import { client, wantsToken } from "./net.js";
import { play } from "./player.js";
import { askToken } from "./token.js";

const app = document.getElementById("app")!;
let shown = new AbortController();

/** Shows the view for the current address. */
async function show(): Promise<void> {
  shown.abort();
  shown = new AbortController();
  const { signal } = shown;
  if (!location.pathname.startsWith("/replay/")) return home(app, signal, drop);
  fill(app, h("main", { class: "middle" }, h("p", { class: "quiet", role: "status" }, "Loading …")));
  try {
    const name = location.pathname.slice("/replay/".length).split("/").map(decodeURIComponent).join("/");
    document.title = `${name} · replayd`;
    const replay = await client.replay(name);
    if (signal.aborted) return;
    if (replay.format === Format.DATAFILE) return await mapView(app, signal, replay);
    play(app, signal, replay);
  } catch (error) {
    if (signal.aborted) return;
    if (wantsToken(error)) return askToken(app);
    failed(error);
  }
}

function failed(error: unknown): void {
  const text = error instanceof Error ? error.message : String(error);
  fill(app, h("main", { class: "middle" }, h("h1", {}, "This cannot be shown"), h("p", {}, text), h("p", {}, h("a", { href: "/" }, "All replays"))));
}

/** Shows a local file. */
function drop(file: File): void {
  shown.abort();
  shown = new AbortController();
  const { signal } = shown;
  openFile(app, file, signal).catch((error) => signal.aborted || failed(error));
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
  if (file) drop(file);
});

void show();
