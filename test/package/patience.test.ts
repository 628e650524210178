/** Tests do not fail because the machine is busy: no wait has a limit that is shorter than the test's own. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const tests = join(import.meta.dirname, "..");
/** They give up after a second. */
const impatient = /\bvi\.wait(?:For|Until)\b/;

it("tests wait with `eventually` or `expect.poll`, which are as patient as the test", () => {
  const files = readdirSync(tests, { recursive: true, encoding: "utf8" });
  const found = files.filter(
    (file) =>
      /\.tsx?$/.test(file) &&
      file !== join("support", "eventually.ts") &&
      file !== join("package", "patience.test.ts") &&
      impatient.test(readFileSync(join(tests, file), "utf8")),
  );
  expect(found).toEqual([]);
});
