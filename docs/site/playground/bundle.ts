/** Bundles turnlog, the AI SDK and zod for the page that runs programs, with a small Node in place of Node's modules. */

import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { rolldown } from "rolldown";

const here = (file: string): string => join(import.meta.dirname, file);
const root = here("../../..");

/** Packages that stand for modules of Node. */
const packages: Readonly<Record<string, string>> = {
  events: here("../node_modules/events/events.js"),
  buffer: here("../node_modules/buffer/index.js"),
};
const modules =
  /^(?:node:.+|crypto|fs|path|os|net|util|events|buffer|module|stream|child_process)$/;

export async function bundlePlayground(folder: string): Promise<void> {
  const bundle = await rolldown({
    input: {
      globals: here("globals.ts"),
      page: here("page.ts"),
      turnlog: join(root, "src/public/index.ts"),
      testing: join(root, "src/public/testing.ts"),
      ai: join(root, "node_modules/ai/dist/index.js"),
      zod: join(root, "node_modules/zod/index.js"),
    },
    platform: "browser",
    tsconfig: join(root, "tsconfig.build.json"),
    transform: { target: "es2024", define: { "process.env.NODE_ENV": '"production"' } },
    // Functions that only a store on disk needs are absent, and fail when they are called.
    shimMissingExports: true,
    onLog: (level, log, tell) => {
      if (log.code !== "SHIMMED_EXPORT") tell(level, log);
    },
    plugins: [
      {
        name: "node",
        resolveId: (id) =>
          modules.test(id) ? (packages[id.replace("node:", "")] ?? here("node.ts")) : undefined,
      },
    ],
  });
  await bundle.write({ dir: folder, minify: true, entryFileNames: "[name].js" });
  copyFileSync(here("index.html"), join(folder, "index.html"));
}
