/** The program that the README shows runs unchanged, on a store of its own. */

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

it("has at most 450 words outside of code", () => {
  const text = readme.replaceAll(/```[^]*?```/g, "").replaceAll(/\]\([^)]*\)/g, "]");
  expect(text.split(/\s+/).filter((word) => /\w/.test(word)).length).toBeLessThanOrEqual(450);
});
