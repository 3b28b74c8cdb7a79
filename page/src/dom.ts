// Helpers that create elements.

type Child = Node | string | false | undefined;
type Props = Record<string, unknown>;

/** Creates an element. Properties that begin with "on" are listeners. "class" and properties with a dash are attributes, and "style" has styles. */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, props: Props = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === false) continue;
    if (name === "style") Object.assign(element.style, value);
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value as EventListener);
    else if (name in element && !name.includes("-")) Object.assign(element, { [name]: value });
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...present(children));
  if (element instanceof HTMLButtonElement) element.title ||= element.getAttribute("aria-label") ?? "";
  return element;
}

const present = (children: Child[]): (Node | string)[] => children.filter((child): child is Node | string => Boolean(child));

/** Shows a text, which is changed only if it is another one, or hides the element if there is none. */
export function say(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
  element.hidden = !text;
}

/** Says what a button does, where it is read out and under the cursor. */
export function rename(button: HTMLButtonElement, name: string): void {
  button.setAttribute("aria-label", name);
  button.title = name;
}

/** Keeps a list at its end until the viewer scrolls up in it. Returns what shows the end, unless the viewer is elsewhere; again means that it is shown anyway. */
export function keepAtEnd(list: HTMLElement): (again?: boolean) => void {
  let away = false;
  let moved = -Infinity; // when the viewer last did what may scroll: what the list itself does is no wish to be elsewhere
  for (const type of ["wheel", "touchmove", "keydown", "pointerdown"]) list.addEventListener(type, () => (moved = performance.now()), { passive: true });
  list.addEventListener("scroll", () => {
    if (performance.now() - moved < 1000) away = list.scrollTop + list.clientHeight < list.scrollHeight - 30;
  }, { passive: true });
  const show = (again = false) => {
    away &&= !again;
    if (!away) list.scrollTop = list.scrollHeight;
  };
  new ResizeObserver(() => show()).observe(list);
  return show;
}

/** Replaces the children of an element. */
export function fill(element: Element, ...children: Child[]): void {
  element.replaceChildren(...present(children));
}

/**
 * Makes the children of an element equal to those given, and keeps the elements that are there where their tags and their
 * data-client are the same: a button that changes while it is pressed is still clicked. Kept elements keep their listeners.
 * A child with a data-key is kept only for the one with the same key, wherever it is, so that a list may lose its beginning.
 */
export function update(element: Element, ...children: Child[]): void {
  const wanted = present(children).map((child) => (typeof child === "string" ? document.createTextNode(child) : child));
  const keyOf = (node: Node) => (node instanceof HTMLElement ? node.dataset["key"] : undefined);
  const keys = new Set(wanted.map(keyOf));
  for (const old of [...element.childNodes]) if (keyOf(old) !== undefined && !keys.has(keyOf(old))) old.remove();
  let next = element.firstChild;
  for (const node of wanted) { // those that stay are in the same order
    const old = next && keyOf(next) === keyOf(node) ? next : undefined;
    if (!old) {
      element.insertBefore(node, next);
      continue;
    }
    next = old.nextSibling;
    if (!old.isEqualNode(node) && !merge(old, node)) old.replaceWith(node);
  }
  while (next) {
    const old: ChildNode = next;
    next = next.nextSibling;
    old.remove();
  }
}

/** Makes an element equal to another, unless it is of another kind. */
function merge(old: Node, node: Node): boolean {
  if (!(old instanceof HTMLElement) || !(node instanceof HTMLElement) || old.tagName !== node.tagName ||
    old.dataset["client"] !== node.dataset["client"]) return false;
  for (const { name } of [...old.attributes]) if (!node.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of node.attributes) if (name !== "style") old.setAttribute(name, value);
  old.style.cssText = node.style.cssText; // the attribute is not allowed to be set
  update(old, ...node.childNodes);
  return true;
}

const icons = {
  play: "M7 4.500v15l12-7.500z",
  pause: "M6 4.500h4v15H6zM14 4.500h4v15h-4z",
  back: "M15 5l-7 7 7 7",
  stepBack: "M6 5v14M18 5l-9 7 9 7z",
  stepOn: "M18 5v14M6 5l9 7-9 7z",
  link: "M10 14a4 4 0 0 0 6 .4l3-3a4 4 0 0 0-5.7-5.700l-1.2 1.200M14 10a4 4 0 0 0-6-.4l-3 3a4 4 0 0 0 5.7 5.700l1.2-1.2",
  search: "M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM20 20l-4.8-4.8",
  plus: "M12 5v14M5 12h14",
  minus: "M5 12h14",
  frame: "M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5",
  code: "M8 7l-5 5 5 5M16 7l5 5-5 5",
  close: "M6 6l12 12M18 6L6 18",
  heat: "M12 3c1 4 5 6 5 11a5 5 0 0 1-10 0c0-3 2-4 2.500-7 1 1 2 2 2 4 1-2 1-5 .5-8z",
  drop: "M12 4v11M7 10l5 5 5-5M5 20h14",
};

/** A decorative icon, hidden from screen readers. */
export function icon(name: keyof typeof icons): SVGSVGElement {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("class", name === "play" || name === "pause" ? "icon solid" : "icon");
  const path = document.createElementNS(space, "path");
  path.setAttribute("d", icons[name]);
  svg.append(path);
  return svg;
}

/** Seconds as text: 75 as 1:15. */
export function timeText(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const rest = `${String(Math.floor(whole / 60) % 60).padStart(whole >= 3600 ? 2 : 1, "0")}:${String(whole % 60).padStart(2, "0")}`;
  return whole >= 3600 ? `${Math.floor(whole / 3600)}:${rest}` : rest;
}

export function sizeText(bytes: number): string {
  for (const unit of ["B", "kB", "MB"]) {
    if (bytes < 1000) return `${bytes < 10 && unit !== "B" ? bytes.toFixed(1) : Math.round(bytes)} ${unit}`;
    bytes /= 1000;
  }
  return `${bytes.toFixed(1)} GB`;
}

/** When something was, in the viewer's language; "" if that is not known. */
export function dateText(at: { seconds: bigint } | undefined): string {
  return at?.seconds ? new Date(Number(at.seconds) * 1000).toLocaleString([], { dateStyle: "medium", timeStyle: "short" }) : "";
}

/** An error in words. */
export const errorText = (error: unknown): string => error instanceof Error ? error.message : String(error);

/** What a replay is called: by its map, if it has one. */
export const titleOf = ({ mapName, name }: { mapName: string; name: string }): string => mapName || baseOf(name);

/** The last element of a name. */
export const baseOf = (name: string): string => name.slice(name.lastIndexOf("/") + 1);

/** The path of the page that shows a replay. */
export const pathOf = (name: string): string => `/replay/${name.split("/").map(encodeURIComponent).join("/").replace("%40", "@")}`;
