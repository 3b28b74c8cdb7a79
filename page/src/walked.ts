// Where players have been: what can be known of a map of which there is no picture.

import type { Point } from "./draw.js";

/** At most so many squares are kept. */
const most = 20_000;
/** A longer way, in squares, was not walked. */
const furthest = 8;

/** The squares of a map in which players have been. */
export class Walked {
  /** The upper left corners of the squares. */
  readonly squares: Point[] = [];
  private readonly known = new Set<string>();
  private readonly last = new Map<string, Point>();
  private shape: Path2D | undefined;
  private shaped = 0;

  /** size is that of a square in world units. */
  constructor(readonly size: number) {}

  /** Adds the way of somebody to a place. Whoever is met for the first time, or jumps, only is there. */
  to(who: string, { x, y }: Point): void {
    const from = this.last.get(who) ?? { x, y };
    this.last.set(who, { x, y });
    const steps = Math.ceil((Math.hypot(x - from.x, y - from.y) / this.size) * 2);
    if (steps > 2 * furthest) return this.at(x, y);
    for (let i = 0; i <= steps; i++) this.at(x + ((from.x - x) * i) / (steps || 1), y + ((from.y - y) * i) / (steps || 1));
  }

  private at(x: number, y: number): void {
    const [column, row] = [Math.floor(x / this.size), Math.floor(y / this.size)];
    const key = `${column} ${row}`;
    if (this.squares.length >= most || this.known.has(key)) return;
    this.known.add(key);
    this.squares.push({ x: column * this.size, y: row * this.size });
  }

  /** All squares as one shape, in world units. */
  path(): Path2D {
    this.shape ??= new Path2D();
    const over = this.size * 0.02; // without it seams would be seen
    for (; this.shaped < this.squares.length; this.shaped++) {
      const { x, y } = this.squares[this.shaped];
      this.shape.rect(x - over, y - over, this.size + 2 * over, this.size + 2 * over);
    }
    return this.shape;
  }
}
