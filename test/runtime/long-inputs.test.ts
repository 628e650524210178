/** A model writes a file that fills its window: the next step has room, and nothing is lost. */

import { tool, type ToolSet } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { Agent } from "../../src/public/index.ts";
import { openMemoryLog, verifySession } from "../../src/public/index.ts";
import { promptProblems } from "../../src/testing/index.ts";
import { billingModel, type BillingModel } from "../support/billing-model.ts";
import { WINDOW, book, turn } from "../support/long-result.ts";
import { call, calling } from "../support/script.ts";
import { openSession, reopen } from "../support/with-runtime.ts";
import type { ContextOptions } from "../../src/agent/index.ts";

const file = book.slice(0, 17_000);
const tools: ToolSet = {
  write: tool({
    inputSchema: z.object({ path: z.string() }).catchall(z.unknown()),
    execute: () => "written",
  }),
};
const writing = (content: unknown = file) => calling(call("write", "w", { path: "a.md", content }));

function agentOf(model: BillingModel, context: ContextOptions = {}): Agent {
  const limits = { billing: { contextWindow: WINDOW, maxOutputTokens: 1000 } };
  return { model, tools, context: { limits, ...context } };
}

/** The input of the call as the model is shown it in a step. */
function shown(model: BillingModel, index: number): unknown {
  for (const { role, content } of model.calls[index]?.prompt ?? []) {
    if (role !== "assistant") continue;
    for (const part of content) if (part.type === "tool-call") return part.input;
  }
  throw new Error("The model was shown no call.");
}

describe("a file of 17 KB that a model writes in a window of 8,000 tokens", () => {
  it.each(["language-model-call", "stream-text"] as const)(
    "is shown by its beginning and its end, and the log has the whole of it (%s)",
    async (stepSource) => {
      await using log = await openMemoryLog();
      const model = billingModel([writing(), "Written."], { window: WINDOW });
      await using open = await openSession(agentOf(model), { log, stepSource });
      await turn(open);
      expect(model.refused).toBe(0);
      const { content } = z.object({ content: z.string() }).parse(shown(model, 1));
      expect(shown(model, 1)).toMatchObject({ path: "a.md" });
      const [note, left, all] =
        /\n\[(\d+) of (\d+) characters left out here\.\]\n/.exec(content) ?? [];
      const [head = "", tail = ""] = content.split(note ?? "");
      expect(file.startsWith(head)).toBe(true);
      expect(file.endsWith(tail)).toBe(true);
      expect(head.length).toBeGreaterThan(2 * tail.length);
      expect(Number(all)).toBe(file.length);
      expect(Number(left)).toBe(file.length - head.length - tail.length);
      const events = await open.events();
      const types = events.map(({ type }) => type).filter((type) => type.startsWith("context."));
      expect(types).toEqual(["context.cut"]);
      const started = events.findLast((event) => event.type === "step.started");
      const billed = model.taken[1] ?? 0;
      const estimated = started?.data.estimate.tokens ?? 0;
      expect(Math.abs(estimated - billed)).toBeLessThan(0.15 * billed);
      const called = events.find((event) => event.type === "part.tool-call");
      expect(called?.data.input).toEqual({ path: "a.md", content: file });
      expect(
        promptProblems((await open.session.view()).prompt.messages).map(({ rule }) => rule),
      ).toEqual(["ends-with-input"]);
      expect((await verifySession(log, "s")).problems).toEqual([]);
    },
  );

  it("is cut after a refusal where the window is not known before", async () => {
    const model = billingModel([writing(), "Written."], { window: WINDOW / 2 });
    await using open = await openSession({ model, tools });
    await turn(open, "Write it.");
    expect(model.refused).toBe(1);
    const types = (await open.events()).map(({ type }) => type);
    expect(types.filter((type) => type.startsWith("context."))).toEqual([
      "context.overflowed",
      "context.cut",
    ]);
  });

  it("is shown as it was by another process, and whole after the cut is undone", async () => {
    const model = billingModel([writing(), "Written.", "Fine."], { window: WINDOW });
    const first = await openSession(agentOf(model));
    await turn(first);
    const { messages: prompt } = (await first.session.view()).prompt;
    await using open = await reopen(first, agentOf(model));
    expect((await open.session.view()).prompt.messages).toEqual(prompt);
    await open.session.restore();
    expect(JSON.stringify((await open.session.view()).prompt.messages)).toContain(
      JSON.stringify(file).slice(1, -1),
    );
  });

  it.each([
    ["cuts are off", { cut: false }],
    ["the tool is one of `keepTools`", { cut: { keepTools: ["write"] } }],
  ] as const)("stays whole if %s", async (_what, context) => {
    const model = billingModel([writing(), "Written."], { window: 4 * WINDOW });
    await using open = await openSession(agentOf(model, { ...context, compact: false }));
    await turn(open);
    expect(shown(model, 1)).toEqual({ path: "a.md", content: file });
  });

  it("is shown as text if it consists of many small values", async () => {
    const model = billingModel([writing(Array.from({ length: 9000 }, (_, at) => at)), "Done."], {
      window: WINDOW,
    });
    await using open = await openSession(agentOf(model));
    await turn(open);
    const { input, ...rest } = z.looseObject({ input: z.string() }).parse(shown(model, 1));
    expect(rest).toEqual({});
    expect(input).toMatch(/^\{"path":"a\.md","content":\[0,1,2/);
    expect(input).toMatch(/8998,8999\]\}$/);
  });
});
