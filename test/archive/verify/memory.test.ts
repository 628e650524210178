/** What verifying and importing hold in memory: the content of a session once, and little else. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { fileURLToPath } from "node:url";
import type { ModelMessage } from "ai";
import { expect, it } from "vitest";
import { exportSession, importMessages, openLog } from "../../../src/public/index.ts";
import { temporaryFolder } from "../../cli/temporary-folder.ts";

const child = fileURLToPath(new URL("memory-child.ts", import.meta.url));

/** Megabytes of content, and of the heap of a process that has it once: its code takes some 25. */
const CONTENT = 16;
const HEAP = 25 + 1.75 * CONTENT;
const RESULTS = 320;

it("is a session's content once, in a heap that has no place for it twice", async () => {
  await using folder = await temporaryFolder();
  const [dir, file] = [join(folder.path, "store"), join(folder.path, "file.jsonl")];
  {
    await using log = await openLog({ dir, durability: "os" });
    await importMessages(log, messages(), { from: "model-messages", as: "s" });
    await pipeline(withLineEnds(exportSession(log, "s")), createWriteStream(file));
  }
  expect(await run("verify", dir)).toBe("");
  expect(await run("import", join(folder.path, "other"), file)).toBe("");
  const keys = join(folder.path, "keys");
  expect(await run("import", join(folder.path, "encrypted"), file, keys)).toBe("");
});

/** Runs the child in a limited heap and answers what it said on stderr. */
async function run(...args: readonly string[]): Promise<string> {
  const limits = [`--max-old-space-size=${HEAP}`, "--max-semi-space-size=2"];
  const started = spawn(process.execPath, [...limits, child, ...args], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  started.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
  await once(started, "close");
  return started.exitCode === 0 ? "" : `${started.signalCode ?? started.exitCode}: ${said}`;
}

function messages(): readonly ModelMessage[] {
  const size = (CONTENT * 2 ** 20) / RESULTS;
  const calls = Array.from({ length: RESULTS }, (_, index): readonly ModelMessage[] => {
    const call = { toolCallId: `c${index}`, toolName: "look" };
    const value = `${index} words `.repeat(size / 8).slice(0, size);
    const output = { type: "text", value } as const;
    return [
      { role: "assistant", content: [{ type: "tool-call", ...call, input: {} }] },
      { role: "tool", content: [{ type: "tool-result", ...call, output }] },
    ];
  });
  return [
    { role: "user", content: "Look." },
    ...calls.flat(),
    { role: "assistant", content: "Done." },
  ];
}

async function* withLineEnds(lines: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const line of lines) yield `${line}\n`;
}
