/** Builds the studio into `dist/studio`. Called by `npm run build:studio`, and once by `turnlog studio` in a clone. */

import { fileURLToPath } from "node:url";
import { build } from "vite";

const path = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

await build({
  configFile: false,
  root: path("."),
  // The page lies at `/` of a server, and deeper in the site of the documents.
  base: "./",
  logLevel: "warn",
  resolve: {
    alias: {
      "node:zlib": path("../src/events/rows/crc32.ts"),
      "visible/jsx-runtime": path("src/shown/jsx-runtime.ts"),
    },
  },
  oxc: { jsx: { runtime: "automatic", importSource: "visible", development: false } },
  build: {
    outDir: path("../dist/studio"),
    emptyOutDir: true,
    target: "es2024",
    // The policy of the page allows no inlined script or style.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    rolldownOptions: {
      // What of `src` needs Node is unused here, and left out.
      external: [/^node:(?!zlib$)/],
      treeshake: { moduleSideEffects: (id) => id.includes("/studio/src/") || id.endsWith(".css") },
    },
  },
});
