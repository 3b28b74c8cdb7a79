// The form that asks for a token, for daemons that require one.

import { fill, h } from "./dom.js";
import { token } from "./net.js";

export function askToken(app: HTMLElement): void {
  const field = h("input", { type: "password", id: "token", autocomplete: "off", required: true });
  fill(app, h("main", { class: "middle" }, h("form", {
    class: "token",
    onsubmit: (event: Event) => {
      event.preventDefault();
      token.set(field.value.trim());
      location.reload();
    },
  }, h("h1", {}, "This daemon asks for a token"),
  h("p", { class: "quiet" }, "It is kept until this tab is closed, and sent to this daemon alone."),
  h("label", { for: "token" }, "Token"), field, h("button", { type: "submit", class: "open" }, "Go on"))));
  field.focus();
}
