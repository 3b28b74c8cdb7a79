// Bundles the page into dist, which is committed: the daemon embeds it, and `go build` needs no Node.

import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));
process.chdir(here);
rmSync("dist", { recursive: true, force: true });
mkdirSync("dist");
const { metafile } = await build({
  absWorkingDir: here,
  metafile: true,
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

// The packages whose code is in the bundle, each with the comments of its sources that have a copyright. THIRD_PARTY_NOTICES.md
// includes the file.
const packages = new Map();
for (const { inputs } of Object.values(metafile.outputs)) {
  for (const [path, { bytesInOutput }] of Object.entries(inputs)) {
    const folder = /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path)?.[0];
    if (!folder || bytesInOutput === 0) continue;
    const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const one = packages.get(name) ?? { version, license, comments: new Set() };
    packages.set(name, one);
    for (const comment of readFileSync(path, "utf8").match(/(?:^[ \t]*\/\/.*\n)+|\/\*[^]*?\*\//gm) ?? []) {
      if (/copyright/i.test(comment)) one.comments.add(comment.replace(/^[ \t]*(?:\/\/|\/\*+|\*\/|\*)[ \t]?/gm, "").trim());
    }
  }
}
const text = [...packages].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, { version, license, comments }]) => {
  if (!license || comments.size === 0) throw new Error(`${name} has no licence`);
  return [`## ${name} ${version}`, "", `${license}:`, ...[...comments].sort().flatMap((comment) => ["", ...comment.split("\n").map((line) => `    ${line}`.trimEnd())])].join("\n");
});
writeFileSync("bundled.md", `${text.join("\n\n")}\n`);
