// Values over time.

import type { Point } from "./draw.js";

/** Values that each hold from a tick until the next one. Ticks must be added in order. */
export class Steps<T> {
  readonly ticks: number[] = [];
  readonly values: T[] = [];

  push(tick: number, value: T): void {
    const last = this.ticks.length - 1;
    if (last >= 0 && this.ticks[last] === tick) this.values[last] = value;
    else {
      this.ticks.push(tick);
      this.values.push(value);
    }
  }

  /** Like push, but does nothing if the current value is the same. */
  note(tick: number, value: T, same: (a: T, b: T) => boolean = Object.is): void {
    if (this.values.length === 0 || !same(this.values.at(-1)!, value)) this.push(tick, value);
  }

  /** The index of the last value at or before a tick, or -1 for none. */
  indexAt(tick: number): number {
    let low = 0;
    let high = this.ticks.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.ticks[middle] <= tick) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  at(tick: number): T | undefined { return this.values[this.indexAt(tick)]; }

  /** Drops the values that no tick from this one on needs. */
  trim(tick: number): void {
    const index = this.indexAt(tick);
    if (index <= 0) return;
    this.ticks.splice(0, index);
    this.values.splice(0, index);
  }
}

/** The position of an object, or undefined while it is absent. */
export type Place = Point | undefined;

/**
 * The position of an object at a time between two ticks. If the places before and after are at most this many ticks and units
 * apart, the position is interpolated. Otherwise it is the place before.
 */
export function placeBetween(places: Steps<Place>, time: number, ticks: number, units: number): Place {
  const index = places.indexAt(Math.floor(time));
  const place = places.values[index];
  const next = places.values[index + 1];
  if (!place || !next) return place;
  const long = places.ticks[index + 1] - places.ticks[index];
  if (long > ticks || Math.abs(next.x - place.x) + Math.abs(next.y - place.y) > units) return place;
  const part = (time - places.ticks[index]) / long;
  return { x: place.x + (next.x - place.x) * part, y: place.y + (next.y - place.y) * part };
}
