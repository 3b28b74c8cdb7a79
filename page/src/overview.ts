// Pictures of maps seen from above, as far as the daemon has them.

import { Code, ReplaydError } from "@replayd/client";
import type { Overview } from "./draw.js";
import { errorText } from "./dom.js";
import { ask, getFile } from "./net.js";

/** The picture of a map, or why there is none, in one sentence. */
export async function overviewOf(map: string, signal: AbortSignal): Promise<Overview | string> {
  const none = `The daemon has no picture of the map “${map}”, so where players have been is drawn.`;
  const away = (error: unknown) => { throw signal.aborted ? error : new ReplaydError(Code.Unavailable, String(error)); };
  const get = (path: string) => ask(() => getFile(path, signal).catch(away), signal);
  try {
    const answer = /^[\w-]{1,64}$/.test(map) ? await get(`/assets/overview/${map}`) : undefined;
    if (answer?.status !== 200) return none;
    const { image, left, top, width, height, error } = (await answer.json()) as Record<"left" | "top" | "width" | "height", number> & { image?: string; error?: string };
    if (!image) return `The picture of the map “${map}” cannot be shown: ${error}.`;
    const picture = await createImageBitmap(await (await get(image)).blob());
    return { picture, area: { left, top: -top, right: left + width, bottom: height - top } };
  } catch (error) {
    return `The picture of the map “${map}” cannot be shown: ${errorText(error)}.`;
  }
}
