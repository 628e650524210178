/** The table of methods: each row is shown, and the guide has the table. */

import { readFile } from "node:fs/promises";
import * as acp from "@agentclientprotocol/sdk";
import { expect, it } from "vitest";
import { scriptedModel } from "../../src/public/testing.ts";
import { rows, table } from "./conformance.ts";
import { editorAt, memoryRuntime, storeOf } from "./editor.ts";

it.each(rows)("$method, $case: $outcome", async ({ outcome, run }) => {
  await using runtime = await memoryRuntime({ model: scriptedModel(() => "Hello.") });
  await using editor = await editorAt(async () => storeOf(runtime));
  const became = await run(editor).then(() => "works", refusalOf);
  expect(became).toBe(outcome);
});

/** The code of a refusal; other errors are those of the test. */
function refusalOf(error: unknown): number {
  if (error instanceof acp.RequestError) return error.code;
  throw error;
}

it("has a row for each method of the protocol", () => {
  const known: ReadonlySet<string> = new Set(rows.map(({ method }) => method));
  const methods = Object.values(acp.AGENT_METHODS);
  expect(methods.filter((method) => !known.has(method))).toEqual([]);
});

it("is the table of the guide", async () => {
  const guide = await readFile(new URL("../../docs/editors.md", import.meta.url), "utf8");
  expect(guide).toContain(table());
});
