/** Undoing what the model is no longer shown, and looking at what it would not be shown. */

import fc from "fast-check";
import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  byImportance,
  checkpoint,
  dropMiddle,
  dropOldest,
  slidingWindow,
  summarize,
  type CompactionStrategy,
} from "../../src/public/index.ts";
import { gate, scriptedModel } from "../../src/models/index.ts";
import { promptProblems } from "../../src/testing/index.ts";
import { billingModel } from "../support/billing-model.ts";
import { call, calling, saying } from "../support/script.ts";
import { summariser } from "../support/summarisers.ts";
import { openSession, type OpenSession } from "../support/with-runtime.ts";
import { runs } from "../support/runs.ts";

const write = tool({
  inputSchema: z.object({ path: z.string(), count: z.number() }),
  execute: ({ path, count }) => `${path}: ${"a line of text. ".repeat(count)}`,
});

function worker() {
  return billingModel((_, index) =>
    index % 2 === 0
      ? calling(call("write", `${index}`, { path: `${index}.md`, count: 200 }))
      : `Answer ${index}.`,
  );
}

async function talk(open: OpenSession, turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn++) {
    await (
      await open.session.send("Go on with the work.")
    ).result;
  }
}

function long(name: string): string {
  return `Answer ${name}: ${"and so it goes on and on. ".repeat(60)}`;
}

const ways: readonly [string, CompactionStrategy][] = [
  ["summarize", summarize({ model: summariser("honest"), keepTokens: 1000 })],
  ["sliding window", slidingWindow({ tokens: 2000 })],
  ["drop oldest", dropOldest({ keepTurns: 1 })],
  ["drop middle", dropMiddle({ headTokens: 500, tailTokens: 1000 })],
  ["by importance", byImportance({ keep: 1500 })],
  ["checkpoint", checkpoint({ keepMessages: 2 })],
];

async function prompt({ session }: OpenSession): Promise<string> {
  return JSON.stringify((await session.view()).prompt.messages);
}

describe("undoing", () => {
  it.each(ways)(
    "a compaction by %s brings the earlier prompt back byte for byte",
    async (_, how) => {
      await using open = await openSession({ model: worker(), tools: { write } });
      await talk(open, 5);
      const before = await prompt(open);
      const event = await open.session.compact(how);
      expect(event.type).toBe("context.compacted");
      expect((await prompt(open)).length).toBeLessThan(0.9 * before.length);
      await open.session.restore(event.position);
      expect(await prompt(open)).toBe(before);
      await expect(open.session.restore(event.position)).rejects.toMatchObject({
        code: "COMMAND_REFUSED",
      });
    },
  );

  it("the newest of several brings back what the one before it had left, in any order", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom(...ways.map(([, how]) => how)), { minLength: 2, maxLength: 4 }),
        async (hows) => {
          await using open = await openSession({ model: worker(), tools: { write } });
          const prompts: { readonly position: number; readonly before: string }[] = [];
          for (const how of hows) {
            await talk(open, 3);
            const before = await prompt(open);
            const event = await open.session.compact(how);
            if (event.type === "context.compacted")
              prompts.push({ position: event.position, before });
          }
          for (const { position, before } of prompts.toReversed()) {
            await open.session.restore(position);
            const now = (await open.session.view()).prompt.messages;
            // New messages come behind those from before.
            expect(JSON.stringify(now).startsWith(before.slice(0, -1))).toBe(true);
            expect(promptProblems(now).filter(({ rule }) => rule !== "ends-with-input")).toEqual(
              [],
            );
          }
        },
      ),
      runs(4, 8),
    );
  });

  it("is refused where there is nothing to undo", async () => {
    await using open = await openSession({ model: worker(), tools: { write } });
    await talk(open, 1);
    for (const position of [1, 3, 9999]) {
      await expect(open.session.restore(position)).rejects.toMatchObject({
        code: "COMMAND_REFUSED",
      });
    }
  });

  it("is refused while a turn runs, also of what can be undone, and changes nothing", async () => {
    const hold = gate();
    const model = scriptedModel([..."12345".split("").map(long), saying("Wait ", hold)]);
    await using open = await openSession({ model });
    await talk(open, 5);
    const compacted = await open.session.compact(slidingWindow({ tokens: 300 }));
    const before = await prompt(open);
    const turn = await open.session.send("Go on.");
    await hold.reached;
    for (const position of [compacted.position, undefined]) {
      const refused = open.session.restore(position);
      await expect(refused).rejects.toMatchObject({ code: "COMMAND_REFUSED" });
      await expect(refused).rejects.toThrow("it is running a turn");
    }
    hold.open();
    await turn.result;
    expect(await open.types()).not.toContain("context.restored");
    await open.session.restore(compacted.position);
    expect((await prompt(open)).length).toBeGreaterThan(2 * before.length);
  });
});

describe("a preview", () => {
  it.each(ways)(
    "of %s shows at any position what it would leave, and writes nothing",
    async (_, how) => {
      await using open = await openSession({ model: worker(), tools: { write } });
      await talk(open, 5);
      const events = await open.events();
      const before = await prompt(open);
      const preview = await open.session.preview({ compact: how });
      expect(preview.outcome).toBe("compacted");
      expect(preview.afterTokens).toBeLessThanOrEqual(0.9 * preview.beforeTokens);
      const early = await open.session.preview({ compact: how, position: 4 });
      expect(early).toMatchObject({ outcome: "nothing-to-gain", position: 4 });
      expect(await open.events()).toEqual(events);
      expect(await prompt(open)).toBe(before);
      if (how.writer !== undefined) return;
      const event = await open.session.compact(how);
      expect(event.data).toMatchObject({ ...preview.plan, afterTokens: preview.afterTokens });
      expect(await prompt(open)).toBe(JSON.stringify(preview.prompt));
    },
  );
});
