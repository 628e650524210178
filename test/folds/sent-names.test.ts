/** The names of a request's tools, in the order in which the SDK sends them: the digest of a prompt has them. */

import { generateText, tool, type ToolSet } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { expect, it } from "vitest";
import { z } from "zod";
import { READER, sentNames } from "../../src/folds/index.ts";

const names = ["look", "ask", "pay", "cancel"];

async function sentBySdk(choice: {
  readonly activeTools?: string[];
  readonly toolOrder?: string[];
}): Promise<readonly string[]> {
  let sent: readonly string[] = [];
  const model = new MockLanguageModelV4({
    doGenerate: ({ tools = [] }) => {
      sent = tools.map(({ name }) => name);
      throw new Error("The request is known.");
    },
  });
  const tools: ToolSet = Object.fromEntries(
    names.map((name) => [name, tool({ inputSchema: z.object({}), execute: () => "" })]),
  );
  await expect(
    generateText({ model, tools, prompt: "Look.", maxRetries: 0, ...choice }),
  ).rejects.toThrow("The request is known.");
  return sent;
}

it.each<{ readonly activeTools?: string[]; readonly toolOrder?: string[] }>([
  {},
  { activeTools: ["pay", "look"] },
  { activeTools: [] },
  { toolOrder: ["pay", "look", "cancel", "ask"] },
  // Those that the order does not name come last, by name.
  { toolOrder: ["pay"] },
  { activeTools: ["look", "ask", "cancel"], toolOrder: ["cancel"] },
])("sends the tools that the SDK sends with %o, in its order", async (choice) => {
  expect(sentNames(names, choice)).toEqual(await sentBySdk(choice));
});

it("keeps the tool that reads on in cut results, whatever is active", () => {
  expect(sentNames([...names, READER], { activeTools: ["ask"] })).toEqual(["ask", READER]);
});
