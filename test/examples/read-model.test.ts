/** The example runs as it is, without a network. */

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { cleanEnvironment } from "../cli/command-line.ts";

it("read-model.ts fills its table from all sessions, after an error from where it stopped", async () => {
  const program = fileURLToPath(new URL("../../examples/read-model.ts", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [program], {
    env: cleanEnvironment({}),
  });
  const [error, before, after] = stdout.trim().split("\n");
  expect(error).toMatch(/the database is away/);
  expect(before).toBe("[ 'ann: a wrong invoice' ]");
  expect(after).toBe("tickets [ 'bob: a lost parcel' ]");
});
