// The time line, by which a viewer moves through a game.

import { h, timeText } from "./dom.js";
import { type News, newsKinds } from "./format.js";
import type { Game } from "./game.js";

/** The heights of marks by kind. Marks of other kinds are half as high as the line. */
const heights: Partial<Record<News["kind"], number>> = { finish: 1, goal: 0.9, save: 0.8, round: 0.8, draft: 0.7, chat: 0.35 };
const unmarked = new Set<News["kind"]>(["build", "team", "command", "fault"]);
/** The width of a density bar in CSS pixels. */
const barWidth = 4;

export class Timeline {
  readonly element: HTMLElement;
  private readonly marks = h("canvas", { class: "marks", "aria-hidden": "true" });
  private readonly played = h("div", { class: "played" });
  private readonly loaded = h("div", { class: "loaded" });
  private readonly knob = h("div", { class: "knob" });
  private readonly tip = h("div", { class: "tip", "aria-hidden": "true" });
  private drawn = "";
  private told = "";
  /** The size of the marks in CSS pixels. Asking the page for it in each frame would make it lay itself out once more. */
  private width = 0;
  private height = 0;

  constructor(private readonly game: Game, private readonly seek: (tick: number) => void) {
    this.element = h("div", {
      class: "timeline", role: "slider", tabIndex: 0, "aria-label": "Position in the game", "aria-valuemin": 0,
      onpointerdown: (event: PointerEvent) => this.grab(event),
      onpointermove: (event: PointerEvent) => this.hover(event),
    }, this.marks, h("div", { class: "rail" }, this.loaded, this.played), this.knob, this.tip);
    new ResizeObserver(([{ contentRect }]) => ({ width: this.width, height: this.height } = contentRect)).observe(this.marks);
  }

  private tickAt(event: PointerEvent): number {
    const { left, width } = this.element.getBoundingClientRect();
    return Math.round(Math.min(1, Math.max(0, (event.clientX - left) / width)) * this.game.last);
  }

  private grab(event: PointerEvent): void {
    if (event.button !== 0) return;
    this.element.setPointerCapture(event.pointerId);
    this.seek(this.tickAt(event));
  }

  private hover(event: PointerEvent): void {
    const tick = this.tickAt(event);
    if (this.element.hasPointerCapture(event.pointerId)) this.seek(tick);
    const { width } = this.element.getBoundingClientRect();
    const near = this.game.told.marks.filter((mark) => !unmarked.has(mark.kind) && Math.abs(mark.tick - tick) < (this.game.last / width) * 3).slice(0, 3);
    this.tip.textContent = [timeText(tick / this.game.ticksPerSecond), ...near.map((mark) => [mark.name, mark.text].filter(Boolean).join(" "))].join(" · ");
    this.tip.style.left = `${Math.min(Math.max(event.offsetX, 60), width - 60)}px`;
  }

  /** Moves the knob. In whole pixels, because the browser lays out and paints the page again after each change of a style. */
  draw(): void {
    const { game, width } = this;
    const end = Math.max(game.last, 1);
    const pixels = (tick: number) => Math.round(Math.min(1, Math.max(0, tick / end)) * width);
    this.played.style.width = this.knob.style.left = `${pixels(game.tick)}px`;
    this.loaded.style.left = `${pixels(game.world.from)}px`;
    this.loaded.style.right = `${width - pixels(game.world.to)}px`;
  }

  /** Draws the marks, and says where the knob is. */
  tell(): void {
    const { game } = this;
    const end = Math.max(game.last, 1);
    const now = Math.floor(game.tick);
    const text = `${timeText(now / game.ticksPerSecond)} of ${timeText(end / game.ticksPerSecond)}, tick ${now}`;
    if (text !== this.told) {
      this.told = text;
      this.element.setAttribute("aria-valuemax", String(end));
      this.element.setAttribute("aria-valuenow", String(now));
      this.element.setAttribute("aria-valuetext", text);
    }
    this.drawMarks(end);
  }

  private drawMarks(end: number): void {
    const { marks, game } = this;
    const ratio = Math.min(devicePixelRatio || 1, 2);
    const [width, height] = [Math.round(this.width * ratio), Math.round(this.height * ratio)];
    const told = game.told;
    const key = [width, height, told.marks.length, told.beats.length, game.grows ? Math.floor(end / 50) : end].join();
    if (key === this.drawn || !width) return;
    this.drawn = key;
    this.element.dataset["marks"] = String(told.marks.length);
    Object.assign(marks, { width, height });
    const context = marks.getContext("2d")!;
    const style = getComputedStyle(this.element);
    const bars = new Array<number>(Math.ceil(width / (barWidth * ratio))).fill(0);
    for (const tick of told.beats) bars[Math.min(bars.length - 1, Math.floor((tick / end) * bars.length))]++;
    const most = Math.max(...bars, 3);
    context.fillStyle = style.getPropertyValue("--density");
    bars.forEach((count, i) => {
      const tall = Math.sqrt(count / most) * height * 0.9;
      context.fillRect(i * barWidth * ratio, height - tall, (barWidth - 1) * ratio, tall);
    });
    for (const kind of newsKinds) {
      if (unmarked.has(kind)) continue;
      context.fillStyle = style.getPropertyValue(`--mark-${kind}`).trim() || "gray";
      const tall = heights[kind] ?? 0.55;
      for (const mark of told.marks) {
        if (mark.kind !== kind) continue;
        context.fillRect(Math.round((mark.tick / end) * (width - 2)), height * (1 - tall), Math.max(2, ratio * 1.5), height * tall);
      }
    }
  }
}
