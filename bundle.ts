/**
 * Writes what is published as JavaScript into `dist`, in three builds: the entry points of `package.json`,
 * those for a browser, and the command. Called by `npm run build`, after `tsc` wrote the types.
 *
 * The library leaves dependencies and peers to the user's `node_modules`, and brings along what is pure
 * JavaScript and loaded on demand (`file-type`, secretlint's rules). The command brings along everything
 * but native code and the peers that npm installs with it, so that `npx turnlog` needs nothing more.
 * Few large files: each one that is loaded costs a third of a millisecond. The library keeps its lines:
 * Node prints the line that throws, and a debugger shows the file, so it needs no source map.
 */

import { readFileSync } from "node:fs";
import { build, type OutputOptions } from "rolldown";
import { z } from "zod";
import { browserInput, browserOutput } from "./browser-bundle.ts";

const { exports, dependencies, peerDependencies, peerDependenciesMeta } = z
  .object({
    exports: z.record(z.string(), z.union([z.string(), z.object({ default: z.string() })])),
    dependencies: z.record(z.string(), z.string()),
    peerDependencies: z.record(z.string(), z.string()),
    peerDependenciesMeta: z.record(z.string(), z.object({ optional: z.literal(true) })),
  })
  .parse(JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8")));

/** `./dist/public/events.js` is built from `src/public/events.ts`. */
const entries = Object.values(exports).flatMap((entry) =>
  typeof entry === "string" ? [] : [entry.default.replace(/^\.\/dist\/|\.js$/g, "")],
);
const peers = Object.keys(peerDependencies);
const optional = Object.keys(peerDependenciesMeta);

async function write(
  names: readonly string[],
  chunks: string,
  external: readonly string[],
  options: OutputOptions = {},
): Promise<void> {
  await build({
    input: Object.fromEntries(names.map((name) => [name, `src/${name}.ts`])),
    platform: "node",
    external: external.map((name) => new RegExp(`^${name}(?:/|$)`)),
    tsconfig: "tsconfig.build.json",
    transform: { target: "es2024" },
    // A validator of outputs, which nothing here asks the MCP client for.
    plugins: [
      { name: "no-ajv", load: (id) => (id.includes("ajvProvider") ? "export class n {}" : null) },
    ],
    output: {
      // The declarations have the docstrings.
      comments: { jsdoc: false },
      ...options,
      dir: "dist",
      format: "esm",
      entryFileNames: "[name].js",
      // Without a hash: the files are published together, and `bench/comparison` loads some by name.
      chunkFileNames: `${chunks}/[name].js`,
    },
  });
}

await write(entries, "chunks", [...Object.keys(dependencies), ...peers]);
// Without maps: a page's bundler makes its own.
await build({ ...browserInput, output: { ...browserOutput, dir: "dist/browser" } });
const notBundled = [
  ...Object.keys(dependencies),
  ...peers.filter((name) => !optional.includes(name)),
  // Loaded for `serve --postgres`, `mcp-server` and `acp` only.
  "pg",
  "@modelcontextprotocol/server",
  "@agentclientprotocol/sdk",
  // Native code.
  "sharp",
];
// Without white space and long names, which would be a sixth of the tarball; names of functions stay for stacks.
await write(["cli/main"], "cli", notBundled, {
  minify: { compress: false, mangle: { keepNames: true }, codegen: { removeWhitespace: true } },
});
