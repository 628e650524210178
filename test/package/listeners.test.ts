/** Law 15 in the sources: listeners on abort signals are added where they are removed, too. */

import { glob, readFile } from "node:fs/promises";
import { expect, it } from "vitest";

const helpers: ReadonlySet<string> = new Set([
  "src/shared/abort.ts",
  // Browsers do not all have `Symbol.dispose`.
  "src/client/http.ts",
  // The signal is of one request, which aborts it at its end.
  "src/client/http.ts",
  // The signals are of one request of the MCP client, which has a time limit.
  "src/mcp/http-transport.ts",
  // A contract that other stores run, with claims of its own.
  "src/testing/inbox-contract.ts",
]);

it("only the helpers listen to abort signals, so that nothing listens for longer than it lives", async () => {
  const found: string[] = [];
  for await (const file of glob("src/**/*.ts")) {
    const text = await readFile(file, "utf8");
    if (!helpers.has(file) && /addEventListener\(\s*"abort"|AbortSignal\.any\(/.test(text))
      found.push(file);
  }
  expect(found).toEqual([]);
});
