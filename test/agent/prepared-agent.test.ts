/** What is checked and found out of an agent before it is used. */

import { tool, toolSearch } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { prepareAgent, searchTools } from "../../src/agent/index.ts";
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
});
