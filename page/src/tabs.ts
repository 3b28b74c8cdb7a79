// Sections of which one is shown at a time, chosen by tabs.

import { h } from "./dom.js";

/** A section, and the title of its tab. */
export type Tab = [title: string, section: HTMLElement];

/** The tabs of sections, the first of which is shown. A tab of a section without contents is left out until show is called with true. */
export class Tabs {
  readonly element: HTMLElement;
  private readonly buttons: HTMLButtonElement[];

  constructor(name: string, private readonly tabs: readonly Tab[]) {
    this.buttons = tabs.map(([title, section], i) => {
      Object.assign(section, { id: `tab-${i}`, role: "tabpanel", ariaLabel: title });
      return h("button", { type: "button", role: "tab", "aria-controls": section.id, onclick: () => this.choose(i) }, title);
    });
    this.element = h("div", { class: "tabs", role: "tablist", "aria-label": name, onkeydown: (event: KeyboardEvent) => this.key(event) }, ...this.buttons);
    this.choose(0);
  }

  /** Says whether a section has contents. */
  show(section: HTMLElement, yes: boolean): void {
    this.buttons[this.tabs.findIndex(([, one]) => one === section)]!.hidden = !yes;
  }

  private choose(chosen: number): void {
    this.tabs.forEach(([, section], i) => {
      section.hidden = i !== chosen;
      this.buttons[i].setAttribute("aria-selected", String(i === chosen));
      this.buttons[i].tabIndex = i === chosen ? 0 : -1;
    });
  }

  /** The arrows go from tab to tab, and not through the game. */
  private key(event: KeyboardEvent): void {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by) return;
    event.stopPropagation();
    event.preventDefault();
    const present = this.buttons.filter(({ hidden }) => !hidden);
    const next = present[(present.indexOf(event.target as HTMLButtonElement) + by + present.length) % present.length];
    next.focus();
    next.click();
  }
}
