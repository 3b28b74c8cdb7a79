// Bundles the page into dist, which is committed: the daemon embeds it, and `go build` needs no Node.

import { copyFileSync, mkdirSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

process.chdir(fileURLToPath(new URL(".", import.meta.url)));
rmSync("dist", { recursive: true, force: true });
mkdirSync("dist");
await build({
  entryPoints: { app: "src/main.ts", style: "src/style.css" },
  outdir: "dist",
  bundle: true,
  minify: true,
  format: "esm",
  platform: "browser", // selects the client's browser entry
  target: "es2022",
  legalComments: "none",
  charset: "utf8",
});
for (const file of ["index.html", "icon.svg"]) copyFileSync(`src/${file}`, `dist/${file}`);
