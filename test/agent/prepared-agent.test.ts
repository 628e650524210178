/** What is checked and found out of an agent before it is used. */

import { tool, toolSearch, type ToolSet } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  bindReader,
  bindSearch,
  prepareAgent,
  requestTools,
  searchTools,
} from "../../src/agent/index.ts";
import { READER } from "../../src/folds/index.ts";
import { scriptedModel } from "../../src/models/index.ts";

describe("an agent", () => {
  it.each([
    ["context.cut.share", { cut: { share: 2 } }],
    ["context.cut.share", { cut: { share: 0 } }],
    ["context.media", { media: { pictures: -1 } }],
  ])(
    "is refused with a wrong `%s`, also one that prepareCall returned",
    async (option, context) => {
      await expect(prepareAgent({ model: scriptedModel([]), context })).rejects.toMatchObject({
        code: "INVALID_INPUT",
        message: expect.stringContaining(option) as unknown,
      });
    },
  );

  it("searches by the tools of `toolSearch()` only: another tool's output may look like found tools", () => {
    const echo = tool({ inputSchema: z.object({}), execute: () => ({ tools: [{ name: "pay" }] }) });
    expect(searchTools({ tools: { echo, search: toolSearch() } })).toEqual(["search"]);
  });

  it("finds a tool by a word of its name before one that has the word in its description", async () => {
    const deferred = { inputSchema: z.object({}), execute: () => "paid", deferLoading: true };
    const tools: ToolSet = {
      other: tool({ ...deferred, description: "Does not pay." }),
      pay: tool(deferred),
      search: toolSearch(),
    };
    const search = bindSearch({ tools }, async () => ({})).tools?.["search"];
    const options = { toolCallId: "1", messages: [], context: {} };
    expect(await search?.execute?.({ query: "pay" }, options)).toMatchObject({
      tools: [{ name: "pay" }, { name: "other" }],
    });
  });

  it("keeps a tool of its own that is called as the one which reads on in results", () => {
    const own = tool({ inputSchema: z.object({}), execute: () => "mine" });
    const agent = { tools: { [READER]: own } };
    expect(bindReader(agent, () => "ours")).toBe(agent);
  });

  it("has well-formed descriptions, also of functions", () => {
    const description = (): string => "Half \ud83d";
    const tools = { look: tool({ description, inputSchema: z.object({}), execute: () => 1 }) };
    const sent = requestTools({ tools, model: scriptedModel([]) })?.["look"]?.description;
    expect(typeof sent === "function" && sent({ context: {} as never })).toBe("Half \ufffd");
  });
});
