// Imports sources of the page into Node.

import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/** Imports a source of the page, with what it imports; with its own state, if it is to be had anew. */
export async function source(name, anew = "") {
  const { outputFiles: [{ text }] } = await build({
    entryPoints: [fileURLToPath(new URL(`../src/${name}`, import.meta.url))], bundle: true, write: false, format: "esm", platform: "node", logLevel: "error",
  });
  return import(`data:text/javascript,${encodeURIComponent(`${text}//${anew}`)}`);
}
