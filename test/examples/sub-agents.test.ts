/** The example runs as it is, without a network. */

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { cleanEnvironment } from "../cli/command-line.ts";

it("sub-agents.ts lets two researchers answer in sessions of their own", async () => {
  const program = fileURLToPath(new URL("../../examples/sub-agents.ts", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [program], {
    env: cleanEnvironment({}),
  });
  const [text, ...lines] = stdout.trim().split("\n");
  expect(text).toBe("A long river and a high mountain.");
  expect(lines[0]).toMatch(/^article\/research-1-[0-9a-f]{8} succeeded Facts about rivers$/);
  expect(lines[1]).toMatch(/^article\/research-1-[0-9a-f]{8} succeeded Facts about mountains$/);
  expect(lines[2]).toMatch(/^\d+ tokens of its own, \d+ in all$/);
});
