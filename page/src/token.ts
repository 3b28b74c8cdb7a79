// The form that asks for a token, for daemons that require one.

import { fill, h } from "./dom.js";
import { token } from "./net.js";

/** Asks for a token, unless another tab has one. */
export async function askToken(app: HTMLElement): Promise<void> {
  const refused = token.get();
  const other = await token.ofAnotherTab();
  if (other && other !== refused) return use(other);
  token.set(""); // no other tab shall get it
  const field = h("input", { type: "password", id: "token", autocomplete: "off", required: true });
  fill(app, h("main", { class: "middle" }, h("form", {
    class: "token",
    onsubmit: (event: Event) => {
      event.preventDefault();
      use(field.value.trim());
    },
  }, h("h1", {}, "This daemon asks for a token"),
  refused && h("p", { class: "refused", role: "alert" }, "The daemon does not accept that token. It may be misspelt, or no longer valid."),
  h("p", { class: "quiet" }, "It is kept until the last tab of this page is closed, and sent to this daemon alone."),
  h("label", { for: "token" }, "Token"), field, h("button", { type: "submit", class: "open" }, "Go on"))));
  field.focus();
}

function use(value: string): void {
  token.set(value);
  location.reload();
}
