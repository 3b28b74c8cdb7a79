// Line charts over the time of a game.

import { h, timeText } from "./dom.js";
import type { Format } from "./format.js";
import type { Game } from "./game.js";
import { theme } from "./theme.js";

/** A number as a short label of a chart, such as 12.3k. */
export const shortNumber = (value: number): string => Math.abs(value) >= 10_000 ? `${(value / 1000).toFixed(1)}k` : String(Math.round(value));

/** Charts of values of the players. One chart is shown at a time. */
export class Charts {
  readonly element: HTMLElement;
  private readonly canvas = h("canvas", { class: "chart", role: "img", onpointerdown: ({ offsetX }: PointerEvent) => this.seek(Math.round(this.tickAt(offsetX))), onpointermove: (event: PointerEvent) => this.hover(event) });
  private readonly tip = h("div", { class: "tip chart-tip", "aria-hidden": "true" });
  private readonly choice: HTMLSelectElement;
  private drawn = "";
  /** The value at the upper edge. */
  private most = 10;

  constructor(private readonly game: Game, private readonly format: Pick<Format, "charts" | "person">, private readonly seek: (tick: number) => void, private readonly beside: () => readonly string[]) {
    this.choice = h("select", { "aria-label": "Chart", onchange: () => (this.drawn = "") }, ...Object.entries(format.charts ?? {}).map(([value, title]) => h("option", { value }, title)));
    this.element = h("section", { class: "charts", "aria-label": "Charts" }, h("div", { class: "chart-head" }, h("h2", {}, "Over time"), this.choice), this.canvas, this.tip);
  }

  private tickAt(x: number): number { return (x / this.canvas.clientWidth) * this.game.last; }

  /** Says which line is under the cursor, and its value there. */
  private hover({ offsetX, offsetY }: PointerEvent): void {
    const { game, canvas } = this;
    const tick = this.tickAt(offsetX);
    const near = [...game.told.charts.get(this.choice.value) ?? []].map(([id, line]) => ({ id, value: line.at(tick) ?? NaN }))
      .sort((a, b) => Math.abs(this.yOf(a.value) - offsetY) - Math.abs(this.yOf(b.value) - offsetY))[0];
    this.tip.textContent = !near || Number.isNaN(near.value) ? "" : `${timeText(tick / game.ticksPerSecond)} · ${this.format.person(game.world, near.id, game.tick).name} ${Math.round(near.value)}`;
    this.tip.style.left = `${Math.min(Math.max(offsetX, 90), canvas.clientWidth - 70)}px`;
  }

  /** How far from the canvas' upper edge a value is drawn, in CSS pixels. */
  private yOf(value: number): number {
    const bottom = this.canvas.clientHeight - 4;
    return bottom - (Math.max(0, value) / this.most) * (bottom - 14);
  }

  /** Draws the chart if it has changed. */
  draw(): void {
    const { game, canvas } = this;
    const lines = game.told.charts.get(this.choice.value);
    this.element.hidden = game.told.charts.size === 0;
    if (!lines || !canvas.clientWidth) return;
    const t = theme();
    const ratio = Math.min(devicePixelRatio || 1, 2);
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    const end = Math.max(1, game.last);
    const tick = Math.floor(game.tick);
    const state = [this.choice.value, width, height, t.name, game.told.covered, end, Math.round((tick / end) * width * ratio), ...this.beside()].join();
    if (state === this.drawn) return;
    this.drawn = state;
    Object.assign(canvas, { width: width * ratio, height: height * ratio });
    const c = canvas.getContext("2d")!;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.most = 10;
    for (const { values } of lines.values()) for (const value of values) this.most = Math.max(this.most, value);
    const { most } = this;
    const yOf = (value: number) => this.yOf(value);
    c.font = "11px system-ui, sans-serif";
    for (const part of [0.5, 1]) {
      c.fillStyle = t.grid;
      c.fillRect(0, Math.round(yOf(most * part)), width, 1);
    }
    const said: string[] = [];
    for (const [id, line] of lines) {
      const { name, colour } = this.format.person(game.world, id, tick);
      const beside = this.beside();
      c.globalAlpha = beside.length === 0 || beside.includes(name) ? 1 : 0.12; // the two who are compared stand out
      c.strokeStyle = colour;
      c.lineWidth = 1.6;
      c.beginPath();
      line.ticks.forEach((at, i) => {
        const x = (at / end) * width;
        if (i === 0) c.moveTo(x, yOf(line.values[i]));
        else { // a value holds until it changes
          if (at - line.ticks[i - 1] > end / 60) c.lineTo(x, yOf(line.values[i - 1]));
          c.lineTo(x, yOf(line.values[i]));
        }
      });
      if (line.ticks.length > 0) c.lineTo((Math.min(end, game.told.covered) / end) * width, yOf(line.values.at(-1)!));
      c.stroke();
      const now = line.at(tick);
      if (now !== undefined) said.push(`${name} ${Math.round(now)}`);
    }
    c.globalAlpha = 1;
    c.lineWidth = 3;
    c.strokeStyle = t.halo;
    c.fillStyle = t.mark;
    for (const part of [0.5, 1]) { // over the lines
      const place = [shortNumber(most * part), 2, yOf(most * part) - 3] as const;
      c.strokeText(...place);
      c.fillText(...place);
    }
    c.fillStyle = t.label;
    c.fillRect(Math.round((tick / end) * width), 0, 1, height);
    canvas.setAttribute("aria-label", `${this.choice.selectedOptions[0]?.textContent}: ${said.join(", ") || "nothing yet"}`);
  }
}
