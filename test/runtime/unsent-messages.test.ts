/** A message that no model takes: its turn fails and says why, and it alone is left out of what follows. */

import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  byImportance,
  checkpoint,
  dropMiddle,
  dropOldest,
  manual,
  overflow,
  slidingWindow,
  summarize,
  TurnlogError,
  type Agent,
} from "../../src/public/index.ts";
import type { CompactionChoice } from "../../src/agent/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { billingModel, type BillingModel } from "../support/billing-model.ts";
import { call, calling } from "../support/script.ts";
import { summariser } from "../support/summarisers.ts";
import { openSession, reopen, type OpenSession } from "../support/with-runtime.ts";

const WINDOW = 8000;
const long = (words: number): string => "word ".repeat(words);

function agentOf(model: BillingModel, compact: CompactionChoice | false, isKnown = true): Agent {
  const limits = { billing: { contextWindow: WINDOW, maxOutputTokens: 500 } };
  return { model, context: { compact, ...(isKnown ? { limits } : {}) } };
}

async function tell(open: OpenSession, text: string): Promise<string> {
  return (await (await open.session.send(text)).result).text;
}

async function refused(open: OpenSession, text: string): Promise<void> {
  const turn = await open.session.send(text);
  const failure = /TURN_FAILED.*send a shorter message/;
  await expect(turn.result.catch((error: unknown) => coded(error))).resolves.toMatch(failure);
}

function coded(error: unknown): string {
  return TurnlogError.isInstance(error) ? `${error.code}: ${error.message}` : String(error);
}

const choices: readonly [string, CompactionChoice | false][] = [
  ["the oldest dropped", { when: overflow(), how: dropOldest({ keepTurns: 9 }) }],
  ["a sliding window", { when: overflow(), how: slidingWindow() }],
  ["the middle dropped", { when: overflow(), how: dropMiddle() }],
  ["the least important dropped", { when: overflow(), how: byImportance() }],
  ["checkpoints", { when: overflow(), how: checkpoint() }],
  ["summaries", { when: overflow(), how: summarize({ model: summariser("honest") }) }],
  ["a strategy that is asked for", { when: manual(), how: slidingWindow() }],
  ["nothing compacted", false],
];

describe.each([
  ["known", true],
  ["not known", false],
])("a message that is too long, in a window that is %s", (_, isKnown) => {
  it.each(choices)("is left out alone before the next one is sent, with %s", async (_, compact) => {
    const model = billingModel((_, index) => `Answer ${index}.`, { window: WINDOW });
    await using open = await openSession(agentOf(model, compact, isKnown));
    await tell(open, "The ship is called Aurora.");
    await refused(open, `Read this: ${long(20_000)}`);
    await using again = await reopen(open, agentOf(model, compact, isKnown));
    expect(await tell(again, "What is it called?")).toBe("Answer 1.");
    const prompt = JSON.stringify(model.calls.at(-1)?.prompt);
    expect(prompt).toContain("The ship is called Aurora.");
    expect(prompt).toContain("Answer 0.");
    expect(prompt).toContain("A message of the user is not shown here");
    expect(prompt).toContain("Read this: word");
    expect(prompt.length).toBeLessThan(4000);
    const strategies = (await again.events()).flatMap((event) =>
      event.type === "context.compacted" ? [event.data.strategy] : [],
    );
    expect(strategies).toEqual(["unsent-messages"]);
    // Had back, it is left out again before the prompt is sent.
    await again.session.restore();
    expect(JSON.stringify((await again.session.view()).prompt.messages)).toContain(long(20_000));
    expect(await tell(again, "And where does it lie?")).toBe("Answer 2.");
  });
});

describe("a message that is too long", () => {
  it("costs a session nothing of what was said before", async () => {
    const model = billingModel((_, index) => `Answer ${index}.`, { window: WINDOW });
    const compact = { when: overflow(), how: slidingWindow() };
    await using open = await openSession(agentOf(model, compact));
    for (let turn = 0; turn < 5; turn++) await tell(open, `Tale ${turn}: ${long(1000)}`);
    await refused(open, long(20_000));
    await refused(open, long(30_000));
    expect(await open.types()).not.toContain("context.compacted");
    await tell(open, "Which tales do you know?");
    const prompt = JSON.stringify(model.calls.at(-1)?.prompt);
    for (let turn = 0; turn < 5; turn++) expect(prompt).toContain(`Tale ${turn}:`);
    expect(prompt).toContain("2 messages are not shown here");
  });

  it("is named by its beginning when a later turn repeats the question", async () => {
    const model = billingModel((_, index) => `Answer ${index}: ${long(300)}`, { window: WINDOW });
    const compact = { when: overflow(), how: checkpoint({ documents: ["PLAN.md"] }) };
    await using open = await openSession(agentOf(model, compact));
    await refused(open, `Read this: ${long(20_000)}`);
    for (let turn = 0; turn < 12; turn++) await tell(open, `Tale ${turn}: ${long(700)}`);
    const compacted = (await open.events()).flatMap((event) =>
      event.type === "context.compacted" ? [event.data] : [],
    );
    expect(compacted.map(({ strategy }) => strategy)).toContain("checkpoint");
    expect(compacted.map(({ strategy }) => strategy)).not.toContain("only-this-turn");
    expect(compacted.at(-1)?.summary).toContain("The original request:\n\nRead this: word");
  });
});

describe("instructions that leave no room for any message", () => {
  it("fail every turn and say so, and the session continues once they are shorter", async () => {
    const model = billingModel((_, index) => `Answer ${index}.`, { window: WINDOW });
    const agent = agentOf(model, { when: overflow(), how: slidingWindow() });
    await using open = await openSession({ ...agent, instructions: long(20_000) });
    await refused(open, "Hello.");
    await refused(open, "Hello?");
    await using again = await reopen(open, agent);
    expect(await tell(again, "Are you there?")).toBe("Answer 0.");
    expect(JSON.stringify(model.calls.at(-1)?.prompt)).toContain("Hello?");
  });
});

describe("a result that is cut again after the prompt was refused", () => {
  it("is sent, though no compaction has anything to gain", async () => {
    const read = tool({ inputSchema: z.object({}), execute: () => long(6000) });
    // The provider tells neither its window nor what it counts.
    const model = scriptedModel((options, index) => {
      if (index === 0) return calling(call("read", "c"));
      return JSON.stringify(options.prompt).length > 127_000
        ? { failure: new Error("Your input exceeds the context window of this model.") }
        : "Done.";
    });
    const compact = { when: overflow(), how: slidingWindow() };
    await using open = await openSession({ model, tools: { read }, context: { compact } });
    expect(await tell(open, `Read it. ${long(20_000)}`)).toBe("Done.");
    const types = await open.types();
    const at = types.indexOf("context.overflowed");
    expect(types.slice(at + 1, types.indexOf("step.started", at) + 1)).toEqual([
      "context.cut",
      "step.started",
    ]);
  });
});
