/** Version, changelog, guide to upgrading and stores agree: each release has stores that open forever. */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { z } from "zod";
import { releasePath, releases } from "../stores/release-stores.ts";

const read = (file: string): string =>
  readFileSync(join(import.meta.dirname, "../..", file), "utf8");
const { version } = z.object({ version: z.string() }).parse(JSON.parse(read("package.json")));

/** The versions that have a section, oldest first. */
const sections = (file: string): readonly string[] =>
  [...read(file).matchAll(/^## (\d+\.\d+\.\d+)$/gm)].map(([, name = ""]) => name).toReversed();

it("the version of the package is the newest release that has stores", () => {
  expect(releases.at(-1)).toBe(version);
});

it("each release of the changelog has stores and a section on upgrading", () => {
  expect(releases).toEqual(sections("CHANGELOG.md"));
  expect(sections("UPGRADING.md")).toEqual(releases);
});

it.each(releases)("the stores of %s are kept", (release) => {
  for (const file of ["stores.tar.gz", "meanings.json.gz"])
    expect(existsSync(releasePath(release, file)), file).toBe(true);
});
