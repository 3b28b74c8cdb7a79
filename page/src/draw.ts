// What pictures are drawn of.

/** A point of the world. y points down. */
export interface Point { x: number; y: number }

/** A rectangle of the world. */
export interface Area { left: number; top: number; right: number; bottom: number }

/** Extends an area to contain a point. */
export function stretch(area: Area | undefined, { x, y }: Point): Area {
  if (!area) return { left: x, right: x, top: y, bottom: y };
  return { left: Math.min(area.left, x), right: Math.max(area.right, x), top: Math.min(area.top, y), bottom: Math.max(area.bottom, y) };
}

/** The smallest area with all of some points. */
export const areaOf = (points: readonly Point[]): Area | undefined => points.reduce(stretch, undefined as Area | undefined);

/** A picture of a map, and which part of the world it shows. */
export interface Overview { picture: CanvasImageSource; area: Area }

/** Draws the picture of a map where it belongs, in a context in world units. */
export function spread(c: CanvasRenderingContext2D, { picture, area: { left, top, right, bottom } }: Overview): void {
  c.drawImage(picture, left, top, right - left, bottom - top);
}

/** Begins a path that is a circle. */
export function circle(c: CanvasRenderingContext2D, x: number, y: number, radius: number): void {
  c.beginPath();
  c.arc(x, y, radius, 0, 7);
}

/** Begins a path that is a line through points. */
export function line(c: CanvasRenderingContext2D, ...points: Point[]): void {
  c.beginPath();
  for (const { x, y } of points) c.lineTo(x, y);
}

/** The channels of a colour such as #1d2433 or #1d243380. */
export const channels = (hex: string): number[] => [1, 3, 5, 7].map((at) => (at < hex.length ? parseInt(hex.slice(at, at + 2), 16) : 255));
