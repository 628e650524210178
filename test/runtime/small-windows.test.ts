/** Long sessions in windows that are far too small for them: nothing hits the wall, and nothing is lost. */

import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  byImportance,
  checkpoint,
  dropMiddle,
  overflow,
  slidingWindow,
  summarize,
  threshold,
  tokens,
  type Agent,
  type CompactionStrategy,
  type CompactionWhen,
} from "../../src/public/index.ts";
import { billingModel, type BillingModel } from "../support/billing-model.ts";
import { sampled } from "../support/runs.ts";
import { call, calling } from "../support/script.ts";
import { badSummarisers, summariser } from "../support/summarisers.ts";
import { openSession, type OpenSession } from "../support/with-runtime.ts";

const words =
  "ship sails harbour wind north cargo ledger captain rope anchor signal lantern crew chart".split(
    " ",
  );

/** So many words that no two calls say the same. */
function tale(seed: number, count: number): string {
  return Array.from(
    { length: count },
    (_, index) => words[(seed * 7 + index * index + index * seed) % words.length],
  ).join(" ");
}

const read = tool({
  inputSchema: z.object({ path: z.string(), seed: z.number(), count: z.number() }),
  execute: ({ seed, count }) => tale(seed, count),
});

/** Each turn reads a few files, each a share of the window, and then says something. */
function worker(window: number): BillingModel {
  return billingModel(
    (_, index) =>
      index % 4 === 3
        ? `Done with ${index}: ${tale(index, 30)}`
        : calling(
            call("read", `${index}`, {
              path: `docs/${index}.md`,
              seed: index,
              count: Math.floor(window / 30),
            }),
          ),
    { window },
  );
}

function agentOf(
  model: BillingModel,
  window: number,
  when: CompactionWhen,
  how: CompactionStrategy,
): Agent {
  return {
    model,
    tools: { read },
    context: {
      compact: { when, how },
      limits: { billing: { contextWindow: window, maxOutputTokens: Math.floor(window / 8) } },
    },
  };
}

async function talk(open: OpenSession, turns: number): Promise<void> {
  for (let turn = 1; turn <= turns; turn++) {
    const sent = await open.session.send(
      turn <= 3 ? `Remember FACT-${turn}, and read on.` : `Read on, turn ${turn}.`,
    );
    expect(await sent.result).toMatchObject({ finishReason: "stop" });
  }
}

const windows = [8000, 16_000, 64_000];
const ways: readonly [string, CompactionWhen, () => CompactionStrategy][] = [
  ["summarize at overflow", overflow(), () => summarize({ model: summariser("honest") })],
  ["summarize at half", threshold(0.5), () => summarize({ model: summariser("honest") })],
  ["a sliding window", threshold(0.8), () => slidingWindow()],
  ["the middle dropped", tokens(5000), () => dropMiddle()],
  ["the least important dropped", tokens(5000), () => byImportance()],
  ["checkpoints", overflow(), () => checkpoint()],
];

describe.each(windows)("a session of fifteen turns in a window of %d tokens", (window) => {
  it.each(sampled(ways, 3, windows.indexOf(window)))(
    "stays below it with %s",
    async (_, when, how) => {
      const model = worker(window);
      await using open = await openSession(agentOf(model, window, when, how()));
      await talk(open, 15);
      expect(Math.max(...model.taken)).toBeLessThanOrEqual(window);
      expect(model.refused).toBe(0);
      const compacted = (await open.events()).filter(({ type }) => type === "context.compacted");
      expect(compacted.length).toBeGreaterThanOrEqual(1);
      // Never a loop: far fewer than there are steps.
      const started = (await open.types()).filter((type) => type === "context.compaction-started");
      expect(started.length).toBeLessThan(model.taken.length / 2);
    },
  );
});

describe("a summary", () => {
  it("still has what was said in the first turns after five compactions", async () => {
    const model = worker(8000);
    const how = summarize({ model: summariser("honest") });
    await using open = await openSession(agentOf(model, 8000, overflow(), how));
    await talk(open, 40);
    const compacted = (await open.events()).flatMap((event) =>
      event.type === "context.compacted" ? [event.data] : [],
    );
    expect(compacted.length).toBeGreaterThanOrEqual(5);
    for (const { summary, rung, usage, model: by, beforeTokens, afterTokens } of compacted) {
      for (const fact of ["FACT-1", "FACT-2", "FACT-3"]) expect(summary).toContain(fact);
      expect(summary).toMatch(/Tools called: read \(\d+\)/);
      expect([rung, by?.modelId, usage?.basis]).toEqual(["whole", "summariser", "measured"]);
      expect(afterTokens).toBeLessThanOrEqual(0.9 * beforeTokens);
    }
    const { spending } = await open.session.context();
    expect(spending.compactions.inputTokens).toBe(
      compacted.reduce((sum, { usage }) => sum + (usage?.inputTokens ?? 0), 0),
    );
  });

  it.each(badSummarisers)(
    "of a summariser that is %s is refused on each rung, and a digest without a model takes its place",
    async (kind) => {
      const model = worker(8000);
      const how = summarize({ model: summariser(kind) });
      await using open = await openSession(agentOf(model, 8000, overflow(), how));
      await talk(open, 8);
      expect(Math.max(...model.taken)).toBeLessThanOrEqual(8000);
      const events = await open.events();
      const first = events.findIndex(({ type }) => type === "context.compaction-started");
      const end = events.findIndex(
        ({ type }, index) => index > first && type === "context.compacted",
      );
      const rungs = events
        .slice(first, end)
        .flatMap((event) => (event.type === "context.summary-rejected" ? [event.data.rung] : []));
      expect(rungs).toEqual(["whole", "capped", "newest"]);
      expect(events[end]?.data).toMatchObject({ rung: "digest" });
      expect(JSON.stringify(events[end]?.data)).toContain("Remember FACT-1");
    },
  );
});
