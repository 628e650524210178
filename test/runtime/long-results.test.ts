/** A tool answers with far more than the model's window holds: nothing hits the wall, and nothing is lost. */

import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  openMemoryLog,
  overflow,
  slidingWindow,
  summarize,
  type CompactionStrategy,
} from "../../src/public/index.ts";
import { promptProblems } from "../../src/testing/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { billingModel } from "../support/billing-model.ts";
import {
  agentOf,
  book,
  fetching,
  READER,
  reader,
  shown,
  tools,
  turn,
  WINDOW,
} from "../support/long-result.ts";
import { sampled } from "../support/runs.ts";
import { call, calling } from "../support/script.ts";
import { summariser } from "../support/summarisers.ts";
import { openSession, reopen } from "../support/with-runtime.ts";

describe("a result of 400 KB in a window of 8,000 tokens", () => {
  it("is shown by its beginning and its end, and the log has the whole of it", async () => {
    const model = reader("A long tale.");
    await using open = await openSession(agentOf(model));
    await turn(open);
    expect(model.refused).toBe(0);
    const text = shown(model, 1, "f");
    expect(text.startsWith("Line 0: of the long tale")).toBe(true);
    expect(text.endsWith(book.slice(-100))).toBe(true);
    const [, left, all, from] =
      /\[(\d+) of (\d+) characters left out here\. To read them: read_tool_output\(\{"call":"1\.1","from":(\d+)\}\)\]/.exec(
        text,
      ) ?? [];
    expect(Number(all)).toBe(book.length);
    expect(book.startsWith(text.slice(0, Number(from)))).toBe(true);
    expect(Number(left)).toBeGreaterThan(book.length / 2);
    const events = await open.events();
    const result = events.find(({ type }) => type === "tool.succeeded");
    expect(result?.data).toMatchObject({ output: book });
    const types = events.map(({ type }) => type);
    expect(types.filter((type) => type.startsWith("context."))).toEqual(["context.cut"]);
    const [cut] = events.filter(({ type }) => type === "context.cut");
    expect(promptProblems((await open.session.at(cut?.position ?? 0)).prompt.messages)).toEqual([]);
  });

  it("is counted as it is shown: the estimate of the next prompt is near its bill", async () => {
    const model = reader("A long tale.");
    await using open = await openSession(agentOf(model));
    await turn(open);
    const started = (await open.events()).findLast((event) => event.type === "step.started");
    const billed = model.taken[1] ?? 0;
    expect(Math.abs((started?.data.estimate.tokens ?? 0) - billed)).toBeLessThan(0.15 * billed);
  });

  it.each(["language-model-call", "stream-text"] as const)(
    "can be read to its end by the tool that its note names, a page after the other, and is never cut again (%s)",
    async (stepSource) => {
      const lines = 60;
      const small = book
        .split("\n")
        .slice(0, 12 * lines)
        .join("\n");
      const pages: string[] = [];
      let from = 0;
      const model = billingModel(
        ({ prompt }, index) => {
          if (index === 0) return fetching;
          if (index > 1) {
            const last = prompt.findLast(({ role }) => role === "tool");
            const part = last?.role === "tool" ? last.content[0] : undefined;
            if (part?.type !== "tool-result" || part.output.type !== "text")
              throw new Error("No page.");
            const [head = "", to] =
              /^\[Characters \d+ to (\d+) of \d+\..*\]\n/.exec(part.output.value) ?? [];
            pages.push(part.output.value.slice(head.length));
            from = Number(to);
          }
          return from < small.length
            ? calling(call(READER, `r${index}`, { call: "1.1", from }))
            : "Read.";
        },
        { window: WINDOW },
      );
      const fetch = tool({ inputSchema: z.object({ url: z.string() }), execute: () => small });
      await using open = await openSession(
        { ...agentOf(model), tools: { fetch }, maxSteps: 200 },
        { stepSource },
      );
      await turn(open);
      expect(pages.join("")).toBe(small);
      expect(model.refused).toBe(0);
      const cuts = (await open.types()).filter((type) => type === "context.cut");
      expect([cuts.length, pages.length > 5]).toEqual([1, true]);
    },
  );

  it("leaves room for others of its step, which are cut alike, and for pages that are read at once", async () => {
    const several = calling(
      ...Array.from({ length: 6 }, (_, index) => call("fetch", `f${index}`, { url: "a" })),
    );
    const pages = calling(
      ...Array.from({ length: 6 }, (_, index) =>
        call(READER, `r${index}`, { call: `1.${index + 1}`, from: 9000 }),
      ),
    );
    const model = billingModel((_, index) => [several, pages][index] ?? "Done.", {
      window: WINDOW,
    });
    const compact = { when: overflow(), how: slidingWindow() };
    await using open = await openSession(agentOf(model, { compact }));
    await turn(open);
    expect(model.refused).toBe(0);
    const events = await open.events();
    const cuts = events.filter((event) => event.type === "context.cut");
    expect(cuts.map(({ data }) => data.calls.length)).toEqual([6]);
    expect(Math.max(...model.taken)).toBeLessThan(WINDOW);
  });

  it("is cut once more when the window was unknown and the provider's refusal names it", async () => {
    const model = reader("Read.");
    await using open = await openSession({ model, tools, context: { compact: false } });
    await turn(open);
    expect([model.refused, model.taken.length]).toEqual([1, 2]);
    const about = (await open.types()).filter((type) => /^context|^step.started/.test(type));
    expect(about).toEqual([
      "step.started",
      "context.cut",
      "step.started",
      "context.overflowed",
      "context.cut",
      "step.started",
    ]);
    expect(shown(model, 1, "f").match(/left out here/g)).toHaveLength(1);
  });

  it("is cut far shorter where the provider refuses and does not say how long it may be", async () => {
    const refusal = new Error("Input is too long for requested model.");
    const model = scriptedModel([fetching, { failure: refusal }, "Read."]);
    await using open = await openSession({ model, tools, context: { compact: false } });
    await turn(open);
    const sizes = [1, 2].map((index) => JSON.stringify(model.calls[index]?.prompt).length);
    expect(sizes[1]).toBeLessThan((sizes[0] ?? 0) / 2);
  });

  it("is had back by restoring it, byte for byte, and is then left alone", async () => {
    const model = reader("A long tale.", "Yes.");
    await using open = await openSession(agentOf(model, { compact: false }));
    await turn(open);
    const cut = (await open.events()).find(({ type }) => type === "context.cut");
    if (cut === undefined) throw new Error("Nothing was cut.");
    const before = (await open.session.at(cut.position - 1)).prompt.messages;
    const diff = await open.session.diff(cut.position - 1, cut.position);
    expect(diff.changes).toMatchObject([{ kind: "changed", why: "cut", after: { role: "tool" } }]);
    await open.session.restore(cut.position);
    const { messages: prompt } = (await open.session.view()).prompt;
    expect(JSON.stringify(prompt.slice(0, before.length))).toBe(JSON.stringify(before));
    const back = await open.session.diff(cut.position, (await open.session.view()).position);
    expect(back.changes.filter(({ kind }) => kind === "changed")).toMatchObject([
      { why: "restored" },
    ]);
    await expect(open.session.restore(cut.position)).rejects.toMatchObject({
      code: "COMMAND_REFUSED",
    });
    await (await open.session.send("Did you read it?")).result.catch(() => undefined);
    expect((await open.types()).filter((type) => type === "context.cut")).toHaveLength(1);
    expect(model.refused).toBe(1);
  });

  it("is shown as it was after the agent's limits have changed: the log says what was left out", async () => {
    const model = reader("A long tale.", "Yes.");
    await using log = await openMemoryLog();
    await using open = await openSession(agentOf(model), { log });
    await turn(open);
    await using again = await reopen(open, agentOf(model, { cut: { share: 0.05 }, prune: false }));
    await turn(again, "Go on.");
    expect(shown(model, 2, "f")).toBe(shown(model, 1, "f"));
  });
});

describe.each([8000, 16_000, 64_000].map((window, place) => [window, place] as const))(
  "a session of results that are all too long for its window of %d tokens",
  (window, place) => {
    const ways: readonly [string, () => CompactionStrategy][] = [
      ["a sliding window", () => slidingWindow()],
      ["summaries", () => summarize({ model: summariser("honest") })],
    ];
    it.each(sampled(ways, 2, place))("never sends more than it takes, with %s", async (_, how) => {
      const model = billingModel(
        (_call, index) =>
          index % 4 === 3
            ? `Done with ${index}.`
            : calling(call("fetch", `f${index}`, { url: "a" })),
        { window },
      );
      const limits = { billing: { contextWindow: window, maxOutputTokens: window / 8 } };
      const context = { limits, compact: { when: overflow(), how: how() } };
      await using open = await openSession({ model, tools, context });
      for (let round = 0; round < 8; round++) await turn(open, `Read it, FACT-${round}.`);
      expect([model.refused, Math.max(...model.taken) <= window]).toEqual([0, true]);
      const cuts = (await open.events()).filter((event) => event.type === "context.cut");
      expect(cuts).toHaveLength(24);
    });
  },
);
