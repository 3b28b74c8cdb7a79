// How the clock of a live game follows its file.

/**
 * How many ticks the clock of a live game stays behind the last tick that has arrived, so that it does not run out of ticks. Takes
 * how many arrived at once, in some seconds: the clock keeps to the middle of what usually arrives at once. The one time in twenty when
 * the most arrives does not count: the picture rather stands still for a moment than is late for seconds.
 */
export function lagFor(arrivals: readonly number[]): number {
  if (arrivals.length === 0) return 2;
  const sorted = [...arrivals].sort((a, b) => a - b);
  const [usual, most] = [sorted[sorted.length >> 1], sorted[Math.floor((sorted.length - 1) * 0.95)]];
  return Math.min(100, Math.max(2, most + 1 - usual / 2));
}

/**
 * The speed of a live game's clock that is some ticks behind where it should be. Up to three it catches up without being seen. More are
 * those that the viewer missed while the connection was away: what a second would show is then played in a fifth of it.
 */
const pace = (away: number): number => Math.min(10, Math.max(0, 1 + away / 20 + Math.max(0, away - 3) / 1.5));

/**
 * The clock of a live game after a frame that lasted so many ticks. It does not pass the last tick that has arrived, and catching up ends where
 * the clock should be, however long the frame was. It never goes back.
 */
export function follow(tick: number, arrived: number, lag: number, step: number): number {
  const target = arrived - lag;
  return Math.max(tick, Math.min(tick + step * pace(target - tick), arrived, Math.max(tick + step, target)));
}
