/** `turnlog/ui` in a page: small, and without Node, zod or the AI SDK. */

import { gzipSync } from "node:zlib";
import { rolldown } from "rolldown";
import { expect, it } from "vitest";

it("is at most 7.6 KB gzipped for a browser, and imports nothing", async () => {
  const bundle = await rolldown({
    input: new URL("../../src/public/ui.ts", import.meta.url).pathname,
    platform: "browser",
    treeshake: { moduleSideEffects: false },
    // What is left of `node:` imports is counted below.
    onLog: () => {},
  });
  const { output } = await bundle.generate({ format: "esm", minify: true });
  const [{ code, imports }] = output;
  expect(imports).toEqual([]);
  expect(code).not.toMatch(/node:|\bzod\b/);
  expect(gzipSync(code).length).toBeLessThanOrEqual(7.6 * 1024);
});
