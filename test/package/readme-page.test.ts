/** The program that the README shows runs unchanged, on a store of its own; README and guides stay short. */

import { globSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, it, vi } from "vitest";
import { runShownCode } from "../support/shown-code.ts";
import { temporaryFolder } from "../cli/temporary-folder.ts";

const readme = await readFile(fileURLToPath(new URL("../../README.md", import.meta.url)), "utf8");

it("answers, and has the session when it is run again", async () => {
  const [, program = ""] = /```ts\n([\s\S]*?)```/.exec(readme) ?? [];
  await using folder = await temporaryFolder({});
  const own = program.replace('".turnlog"', JSON.stringify(folder.at("store")));
  const write = vi.spyOn(process.stdout, "write").mockImplementation(() => true);
  try {
    await runShownCode(own);
    const said = write.mock.calls.length;
    expect(said).toBeGreaterThan(0);
    await runShownCode(own);
    expect(write.mock.calls.length).toBeGreaterThan(said);
  } finally {
    write.mockRestore();
  }
});

function wordsOutsideOfCode(page: string): number {
  const text = page.replaceAll(/```[^]*?```/g, "").replaceAll(/\]\([^)]*\)/g, "]");
  return text.split(/\s+/).filter((word) => /\w/.test(word)).length;
}

it("has at most 450 words outside of code", () => {
  expect(wordsOutsideOfCode(readme)).toBeLessThanOrEqual(450);
});

/** Those that a program writes, and those for contributors. */
const noGuides = new Set(
  [
    ["cookbook", "crossings", "events", "providers", "reference", "session-machine"],
    ["design", "performance", "tests"],
  ].flatMap((names) => names.map((name) => `${name}.md`)),
);

it("the guides have at most 22,000 words outside of code", () => {
  const cwd = fileURLToPath(new URL("../../docs/", import.meta.url));
  const guides = globSync("*.md", { cwd }).filter((page) => !noGuides.has(page));
  expect(guides.length).toBeGreaterThan(25);
  const words = guides.map((page) => wordsOutsideOfCode(readFileSync(`${cwd}${page}`, "utf8")));
  expect(words.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(22_000);
});
