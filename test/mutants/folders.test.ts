import { globSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { filesOf, folders, root } from "./folders.ts";

it("names sources and tests that exist, whatever was moved or renamed", () => {
  const all = globSync("**/*.test.ts", { cwd: join(root, "test") });
  for (const { sources, tests } of Object.values(folders)) {
    for (const source of sources) expect(filesOf(source)).not.toEqual([]);
    for (const one of tests.flat())
      expect(
        all.some((file) => file.startsWith(one)),
        one,
      ).toBe(true);
  }
});

it("finds the files of nested folders, and refuses a source that does not exist", () => {
  expect(filesOf("context")).toContain(join(root, "src/context/shortening/pruning.ts"));
  expect(() => filesOf("projections/gone.ts")).toThrow(/gone\.ts/u);
});
