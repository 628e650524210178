/** The public API is small: what each entry point exports is listed here, and nothing else is published. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseSync } from "oxc-parser";
import { expect, it } from "vitest";
import { publicNames } from "./public-names.ts";

const folder = join(import.meta.dirname, "../../src/public");

/** The names that a file exports, types included, in order. */
async function exportedBy(file: string): Promise<readonly string[]> {
  const { module } = parseSync(file, await readFile(join(folder, file), "utf8"));
  return module.staticExports
    .flatMap(({ entries }) => entries)
    .map(({ exportName }) => exportName.name ?? "*")
    .toSorted();
}

it("each entry point exports the listed names", async () => {
  const files = (await readdir(folder)).toSorted();
  const found = await Promise.all(
    files.map(async (file) => [file.replace(/\.ts$/, ""), await exportedBy(file)] as const),
  );
  const listed = Object.entries(publicNames).map(
    ([entry, names]) => [entry, names.split(/\s+/).filter(Boolean).toSorted()] as const,
  );
  expect(Object.fromEntries(found)).toEqual(Object.fromEntries(listed));
});

it("there are few enough to be read", () => {
  const names = Object.values(publicNames).flatMap((list) => list.split(/\s+/).filter(Boolean));
  expect(names.length).toBeLessThanOrEqual(140);
});
