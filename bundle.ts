/**
 * Writes what is published as JavaScript into `dist`: the entry points of `package.json` and the
 * command. A module that turnlog is loaded from costs a third of a millisecond, so that few large
 * ones are published. What several share is in `chunks`; what is imported when it is first needed
 * stays apart. Called by `npm run build`, beside `tsc`, whose work the types are.
 */

import { readFileSync } from "node:fs";
import { build } from "rolldown";
import { z } from "zod";

const { exports, dependencies, peerDependencies } = z
  .object({
    exports: z.record(z.string(), z.union([z.string(), z.object({ default: z.string() })])),
    dependencies: z.record(z.string(), z.string()),
    peerDependencies: z.record(z.string(), z.string()),
  })
  .parse(JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8")));

/** `./dist/public/events.js` is built from `src/public/events.ts`, and `bin/turnlog.cjs` loads `cli/main`. */
const names = [
  ...Object.values(exports).flatMap((entry) =>
    typeof entry === "string" ? [] : [entry.default.replace(/^\.\/dist\/|\.js$/g, "")],
  ),
  "cli/main",
];
const installed = [...Object.keys(dependencies), ...Object.keys(peerDependencies)];

await build({
  input: Object.fromEntries(names.map((name) => [name, `src/${name}.ts`])),
  platform: "node",
  external: installed.map((name) => new RegExp(`^${name}(?:/|$)`)),
  tsconfig: "tsconfig.build.json",
  transform: { target: "es2024" },
  output: {
    dir: "dist",
    format: "esm",
    entryFileNames: "[name].js",
    // Not hashed: they are published together, and `bench/comparison` loads some by name.
    chunkFileNames: "chunks/[name].js",
    // The sources are published beside them.
    sourcemap: true,
    sourcemapExcludeSources: true,
  },
});
