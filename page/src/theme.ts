// The colours of canvases. The colours of the page itself are in style.css.

const dark = {
  name: "dark", air: "#141925", grid: "#1d2433", wall: "#39435a", wallEdge: "#7d8cad", metal: "#2b3245", metalEdge: "#5d6a86", metalLine: "#353e54",
  freeze: "#5b6ee052", frost: "#8fb4ff", deep: "#8a5be05c", death: "#e0526042", unfreeze: "#5be0b52b", through: "#7d8cad2e", start: "#5be0b5", finish: "#ffb454",
  mark: "#93a1bd", tele: "#e07ad033", boost: "#ffb45433", switch: "#ff7a6333", tune: "#5bc7e02b", label: "#eef2fb", halo: "#0b0e15cc", outline: "#0b0e15", eye: "#fbfcff",
  ground: "#1a2231", groundLine: "#263145", radiant: "#7fd069", dire: "#ff7a63", blue: "#7db3ff", gold: "#ffc857", neutral: "#8794ad",
};

const light: typeof dark = {
  name: "light", air: "#eef2f8", grid: "#e2e8f1", wall: "#9aa7be", wallEdge: "#5c6a84", metal: "#b9c1d0", metalEdge: "#7b879d", metalLine: "#a9b3c5",
  freeze: "#4659d93d", frost: "#3f6bd6", deep: "#7a44d64d", death: "#d93a4c3d", unfreeze: "#17a07a33", through: "#5c6a8433", start: "#128464", finish: "#b26a00",
  mark: "#6b7892", tele: "#c24fb13d", boost: "#d68a1f3d", switch: "#c23a223d", tune: "#1786a533", label: "#141925", halo: "#ffffffd9", outline: "#1b2130", eye: "#ffffff",
  ground: "#ffffff", groundLine: "#e2e8f1", radiant: "#2f7d1c", dire: "#c23a22", blue: "#1f5fc4", gold: "#9a6500", neutral: "#6b7892",
};

const scheme = matchMedia("(prefers-color-scheme: light)");
let prefersLight = scheme.matches; // asking is slow, and the answer is needed for each tile
scheme.addEventListener("change", () => (prefersLight = scheme.matches));

/** The current colours. */
export function theme(): typeof dark {
  return prefersLight ? light : dark;
}

/** The colour of a player. Each is far from the colours before it, so that they are easy to distinguish. */
export const colourOf = (id: number): string => `hsl(${Math.round((id * 137.508 + 165) % 360)} ${prefersLight ? "62% 46%" : "68% 63%"})`;
