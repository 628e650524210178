/**
 * Whatever was said, whatever tools brought and however small the window is: the next short message is
 * answered, by the same process or by the next one, and what could not be sent can be had back.
 */

import { tool } from "ai";
import fc from "fast-check";
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
  threshold,
  tokens,
  TurnlogError,
  type Agent,
  type CompactionStrategy,
  type CompactionWhen,
} from "../../src/public/index.ts";
import type { CompactionChoice } from "../../src/agent/index.ts";
import { billingModel, type BillingModel } from "../support/billing-model.ts";
import { patience, runs } from "../support/runs.ts";
import { call, calling } from "../support/script.ts";
import { summariser } from "../support/summarisers.ts";
import { openSession, reopen, type OpenSession } from "../support/with-runtime.ts";

const words = "ship sails harbour wind north cargo ledger captain rope anchor signal lantern".split(
  " ",
);

/** A text of about so many tokens. */
function tale(size: number): string {
  return Array.from({ length: Math.ceil(size / 1.1) }, (_, at) => words[(at * at) % 12]).join(" ");
}

interface Said {
  readonly kind: "message" | "file" | "tool" | "long-call" | "together" | "steered";
  /** Of the window. */
  readonly size: number;
  /** Whether another process opens the session before it is said. */
  readonly reopened: boolean;
}

interface World {
  readonly window: number;
  /** What is known of the window: by the agent's limits, by the provider's errors, or not at all. */
  readonly known: "told" | "by-errors" | "never";
  /** Of the window, the instructions. */
  readonly instructions: number;
  readonly cut: boolean;
  readonly compact: () => CompactionChoice;
  readonly said: readonly Said[];
}

const hows: readonly (() => CompactionStrategy)[] = [
  () => dropOldest({ keepTurns: 1 }),
  () => dropOldest({ keepTurns: 5 }),
  () => slidingWindow(),
  () => slidingWindow({ tokens: 3000 }),
  () => byImportance(),
  () => byImportance({ keep: 4000 }),
  () => dropMiddle(),
  () => dropMiddle({ headTokens: 2000, tailTokens: 2000 }),
  () => checkpoint(),
  () => checkpoint({ keepMessages: 20 }),
  () => summarize({ model: summariser("honest") }),
  () => summarize({ model: summariser("empty") }),
  () => ({ name: "keeps-everything", plan: () => undefined }),
];
const whens: readonly (() => CompactionWhen)[] = [
  () => overflow(),
  () => threshold(0.5),
  () => tokens(2500),
  () => manual(),
];

const said: fc.Arbitrary<Said> = fc.record({
  kind: fc.constantFrom("message", "message", "file", "tool", "long-call", "together", "steered"),
  size: fc.constantFrom(0.01, 0.1, 0.3, 0.6, 0.9, 1.2, 4),
  reopened: fc.boolean(),
});

const world: fc.Arbitrary<World> = fc.record({
  window: fc.constantFrom(2000, 4000, 16_000, 64_000),
  known: fc.constantFrom("told", "told", "by-errors", "never"),
  instructions: fc.constantFrom(0, 0.02, 0.25),
  cut: fc.boolean(),
  compact: fc
    .tuple(fc.constantFrom(...whens), fc.constantFrom(...hows))
    .map(([when, how]) => () => ({ when: when(), how: how() })),
  said: fc.array(said, { minLength: 1, maxLength: 5 }),
});

const inputSchema = z.object({ size: z.number(), text: z.string().optional() });

/** Answers; where it is asked to, it calls a tool first, once. */
function worker({ window, known }: World): BillingModel {
  return billingModel(
    ({ prompt }) => {
      const last = prompt.at(-1);
      const text = last?.role === "user" ? JSON.stringify(last.content) : "";
      const asked = /CALL (\w+) (\d+)/.exec(text);
      if (asked === null) return "Done.";
      const [, kind, size] = asked;
      const input = {
        size: Number(size),
        ...(kind === "long" ? { text: tale(Number(size)) } : {}),
      };
      return calling(call(kind === "steered" ? "steer" : "read", "c", input));
    },
    { window, isSilent: known === "never" },
  );
}

function agentOf(world: World, model: BillingModel, steer: (size: number) => Promise<void>): Agent {
  const { window, known, cut, compact } = world;
  const read = tool({
    inputSchema,
    execute: ({ size, text }) => (text === undefined ? tale(size) : "Written."),
  });
  const steering = tool({
    inputSchema,
    execute: async ({ size }) => {
      await steer(size);
      return "Told.";
    },
  });
  return {
    model,
    instructions: tale(world.instructions * window),
    tools: { read, steer: steering },
    context: {
      compact: compact(),
      ...(cut ? {} : { cut: false }),
      ...(known === "told"
        ? { limits: { billing: { contextWindow: window, maxOutputTokens: window / 8 } } }
        : {}),
    },
  };
}

/** How a turn ended: with an answer, or with the failure that says why. */
async function outcome(result: Promise<{ readonly finishReason: string }>): Promise<string> {
  try {
    return (await result).finishReason;
  } catch (error) {
    if (!TurnlogError.isInstance(error)) throw error;
    expect(error.code).toBe("TURN_FAILED");
    expect(error.message).toContain("shorter");
    return "too long";
  }
}

async function say(open: OpenSession, { kind, size }: Said, window: number): Promise<void> {
  const length = Math.ceil(size * window);
  const { session } = open;
  switch (kind) {
    case "message":
      await outcome((await session.send(`Look: ${tale(length)}`)).result);
      return;
    case "file": {
      const data = Buffer.from(tale(length)).toString("base64");
      const file = { type: "file", mediaType: "text/plain", filename: "a.txt", data } as const;
      await outcome((await session.send([file, { type: "text", text: "Read it." }])).result);
      return;
    }
    case "tool":
      await outcome((await session.send(`CALL read ${length}`)).result);
      return;
    case "long-call":
      await outcome((await session.send(`CALL long ${length}`)).result);
      return;
    case "together": {
      const turns = await Promise.all(
        ["First", "Then"].map((word) => session.send(`${word}: ${tale(length / 2)}`)),
      );
      await session.idle();
      await session.resume();
      await Promise.all(turns.map(({ result }) => outcome(result)));
      return;
    }
    case "steered":
      await outcome((await session.send(`CALL steered ${length}`)).result);
      await session.idle();
      await session.resume();
      await session.idle();
  }
}

async function live(world: World): Promise<void> {
  const model = worker(world);
  const held: { open?: OpenSession } = {};
  const agent = (): Agent =>
    agentOf(world, model, async (size) => {
      await held.open?.session.send(`By the way: ${tale(size)}`, { delivery: "steer" });
    });
  held.open = await openSession(agent());
  const { log } = held.open;
  for (const [index, one] of world.said.entries()) {
    if (one.reopened) held.open = await reopen(held.open, agent());
    await say(held.open, one, world.window);
    if (index % 2 === 0 && one.reopened) held.open = await reopen(held.open, agent());
    const next = await held.open.session.send("Go on.");
    const answered = await outcome(next.result);
    expect(answered).toBe("stop");
    expect(model.calls.at(-1)?.prompt.at(-1)).toMatchObject({ role: "user" });
  }
  await held.open[Symbol.asyncDispose]();
  await log.close();
}

describe("a session with any strategy, in any window", () => {
  it(
    "answers the next short message, whatever was said before",
    async () => {
      await fc.assert(fc.asyncProperty(world, live), runs(12));
    },
    patience,
  );
});
