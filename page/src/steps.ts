// Values over time.

/** Values that hold from a tick on until the next one. Ticks come in order. */
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

  /** As push, unless the value is the one that holds. */
  note(tick: number, value: T, same: (a: T, b: T) => boolean = Object.is): void {
    if (this.values.length === 0 || !same(this.values.at(-1)!, value)) this.push(tick, value);
  }

  /** The index of the last value at or before a tick, -1 for none. */
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

  at(tick: number): T | undefined {
    return this.values[this.indexAt(tick)];
  }

  /** Forgets what no tick from there on needs. */
  trim(tick: number): void {
    const index = this.indexAt(tick);
    if (index <= 0) return;
    this.ticks.splice(0, index);
    this.values.splice(0, index);
  }
}

/** Where something is; none where it is not there. */
export type Place = { x: number; y: number } | undefined;

/**
 * Where something is between two ticks. It has moved steadily from one place to the next when these are at most so many ticks
 * and units apart.
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
