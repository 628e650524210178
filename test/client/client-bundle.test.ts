/** `turnlog/client` in a page: small, without dependencies, and nothing of the runtime. */

import { gzipSync } from "node:zlib";
import { rolldown } from "rolldown";
import { expect, it } from "vitest";

it("is at most 8 KB gzipped for a browser, and has no code but its own", async () => {
  const bundle = await rolldown({
    input: new URL("../../src/public/client.ts", import.meta.url).pathname,
    platform: "browser",
    treeshake: { moduleSideEffects: false },
    // What is left of `node:` imports is counted below.
    onLog: () => {},
  });
  const { output } = await bundle.generate({ format: "esm", minify: true });
  const [{ code, imports, modules }] = output;
  expect(imports).toEqual([]);
  const folders = Object.entries(modules).flatMap(([file, { code: kept }]) =>
    kept === null || kept === "" ? [] : [file.replace(/^.*\/src\//, "").replace(/[^/]*$/, "")],
  );
  expect(new Set(folders)).toEqual(new Set(["client/", "events/values/"]));
  expect(gzipSync(code).length).toBeLessThanOrEqual(8 * 1024);
});
