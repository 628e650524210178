/**
 * How the entries that a browser can load are bundled: `turnlog/events`, `turnlog/projections`,
 * `turnlog/ui` and `turnlog/client`. Node's
 * CRC-32 is replaced; modules that nothing uses are left out, and with them all else that needs Node.
 */

import { fileURLToPath } from "node:url";
import type { InputOptions, OutputOptions } from "rolldown";

const path = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

export const browserInput: InputOptions = {
  input: {
    events: path("src/public/events.ts"),
    projections: path("src/public/projections.ts"),
    ui: path("src/public/ui.ts"),
    client: path("src/public/client.ts"),
  },
  platform: "browser",
  // The test fails if an import of Node is left once unused modules are dropped.
  external: [/^node:(?!zlib$)/, /^zod(?:\/|$)/, /^ai(?:\/|$)/],
  resolve: { alias: { "node:zlib": path("src/events/rows/crc32.ts") } },
  treeshake: { moduleSideEffects: false },
  tsconfig: path("tsconfig.build.json"),
  transform: { target: "es2024" },
};

/** A file for each of ours, so that a page's bundler leaves out the projections that the page does not use. */
export const browserOutput: OutputOptions = {
  format: "esm",
  entryFileNames: "[name].js",
  preserveModules: true,
  preserveModulesRoot: path("src"),
};
