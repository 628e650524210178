/** The rules by which cached prompts are billed, and what sessions cost by them. */

import type { JSONSchema7 } from "@ai-sdk/provider";
import { jsonSchema, tool } from "ai";
import { describe, expect, it, vi } from "vitest";
import { scriptedModel } from "../../src/models/index.ts";
import { overflow, summarize } from "../../src/public/index.ts";
import { driveSession } from "../corpus/driven-session.ts";
import {
  recordedSessions,
  sessionsAbsent,
  sessionsPresent,
  type RecordedSession,
} from "../corpus/session-corpus.ts";
import { long, patience, someOfEach } from "../support/runs.ts";
import { call, calling } from "../support/script.ts";
import { summariser } from "../support/summarisers.ts";
import { openSession } from "../support/with-runtime.ts";
import { billedClient } from "./billed-client.ts";
import { CacheLedger, total, type CachingProvider, type RequestBill } from "./billing.ts";

vi.setConfig({ testTimeout: patience });

const MINUTE = 60_000;
const mark = { cache_control: { type: "ephemeral" } };

/** About 500 tokens. */
const words = (name: string, more: object = {}) => ({
  type: "text",
  text: `${name} ${"word ".repeat(400)}`,
  ...more,
});
const asked = (...content: readonly object[]) => ({
  model: "claude-sonnet-4-5",
  messages: [{ role: "user", content }],
});
const shares = ({ input, cacheRead, cacheWrite }: RequestBill) =>
  [cacheRead / input, cacheWrite / input].map((share) => Math.round(100 * share));

describe("Anthropic's bill", () => {
  const five = ["a", "b", "c", "d"].map((name) => words(name));
  const marked = asked(...five, words("e", mark));

  it("has a write at 1.25 for what is marked, and a read at 0.1 for five minutes after its last use", () => {
    const ledger = new CacheLedger("anthropic");
    const first = ledger.post(marked, 0);
    expect(shares(first)).toEqual([0, 100]);
    expect(first.cost).toBe(1.25 * first.input);
    for (const time of [5, 10]) {
      const again = ledger.post(marked, time * MINUTE);
      expect(shares(again)).toEqual([100, 0]);
      expect(again.cost).toBeCloseTo(0.1 * again.input);
    }
    expect(shares(ledger.post(marked, 15 * MINUTE + 1))).toEqual([0, 100]);
  });

  it("has a write at 2 for an hour", () => {
    const ledger = new CacheLedger("anthropic");
    const hour = { cache_control: { type: "ephemeral", ttl: "1h" } };
    const body = asked(...five, words("e", hour));
    const { cost, input } = ledger.post(body, 0);
    expect(cost).toBe(2 * input);
    expect(shares(ledger.post(body, 60 * MINUTE))).toEqual([100, 0]);
  });

  it("has neither without a mark, nor for less than the model's minimum", () => {
    const ledger = new CacheLedger("anthropic");
    for (const body of [
      asked(...five),
      asked(words("a", mark)),
      { ...marked, model: "claude-opus-4-5" },
    ]) {
      ledger.post(body, 0);
      const { cost, input, readable } = ledger.post(body, 1);
      expect(cost).toBe(input);
      expect(readable).toBe(body.messages[0]?.content.length === 4 ? input : 0);
    }
  });

  it("reads the longest marked prefix within 20 blocks, and none for another beginning", () => {
    const grown = (count: number) =>
      asked(
        ...five,
        words("e"),
        ...Array.from({ length: count }, (_, place) => ({ type: "text", text: `${place}` })),
        words("z", mark),
      );
    const readAfter = (body: object): number => {
      const ledger = new CacheLedger("anthropic");
      ledger.post(marked, 0);
      return ledger.post(body, 1).cacheRead;
    };
    expect(readAfter(grown(18))).toBeGreaterThan(2000);
    expect(readAfter(grown(19))).toBe(0);
    expect(readAfter(asked(words("other"), ...five, words("e", mark)))).toBe(0);
  });

  it("refuses a fifth mark", () => {
    const body = asked(...["a", "b", "c", "d", "e"].map((name) => words(name, mark)));
    expect(() => new CacheLedger("anthropic").post(body, 0)).toThrow("A maximum of 4 blocks");
  });
});

describe("the bill of a provider that caches by itself", () => {
  const conversation = (count: number, more: object = {}) => ({
    model: "gpt-5",
    input: Array.from({ length: count }, (_, place) => ({
      role: "user",
      content: [words(`${place}`)],
    })),
    ...more,
  });

  it("reads a prefix in the provider's units, from its minimum on", () => {
    const ledger = new CacheLedger("openai");
    ledger.post(conversation(1), 0);
    expect(ledger.post(conversation(2), 1).cacheRead).toBe(0);
    ledger.post(conversation(3), 2);
    const { cacheRead, input, cost } = ledger.post(conversation(4), 3);
    expect(cacheRead).toBeGreaterThan(1024);
    expect(cacheRead % 128).toBe(0);
    expect(cost).toBeCloseTo(input - 0.9 * cacheRead);
    const deepseek = new CacheLedger("deepseek");
    deepseek.post(conversation(1), 0);
    expect(deepseek.post(conversation(2), 1).cacheRead % 64).toBe(0);
  });

  it("reads nothing with another key", () => {
    const ledger = new CacheLedger("openai");
    ledger.post(conversation(4, { prompt_cache_key: "a" }), 0);
    const { cacheRead, readable } = ledger.post(conversation(5, { prompt_cache_key: "b" }), 1);
    expect(cacheRead).toBe(0);
    expect(readable).toBeGreaterThan(1024);
  });
});

/** A step each 20 seconds. */
function pacedClient(provider: CachingProvider) {
  let now = Date.UTC(2026, 0);
  const clock = (): number => now;
  return { clock, ...billedClient(provider, () => (now += MINUTE / 3)) };
}

async function billsOf(
  session: RecordedSession,
  provider: CachingProvider,
): Promise<readonly RequestBill[]> {
  const window = 200_000;
  const { model, bills, clock } = pacedClient(provider);
  const how = summarize({ model: summariser("honest", window) });
  const { strange } = await driveSession(session, { window, when: overflow(), how, model, clock });
  expect(strange).toEqual([]);
  return bills;
}

/** What is read of what could be, and what is paid of what it would cost uncached. */
const READ = 0.95;
const PAID = 0.2;
const MANY_STEPS = 50;

/** The longer ones take their time. */
const MOST_MESSAGES = 130;

/** One of each file, with Claude; one with the others, which cache by themselves. */
function sample(provider: CachingProvider): readonly RecordedSession[] {
  const all = recordedSessions();
  if (long) return all;
  const short = all
    .filter(({ messages }) => messages.length <= MOST_MESSAGES)
    .toSorted((one, other) => other.messages.length - one.messages.length);
  const taken = someOfEach(short, ({ file }) => file);
  return provider === "anthropic" ? taken : taken.slice(0, 1);
}

describe.each(["anthropic", "openai", "google", "deepseek"] as const)(
  "recorded sessions sent through the client of %s",
  (provider) => {
    it("read what an earlier request posted, and long ones cost a fifth at most, writes included", async ({
      skip,
    }) => {
      skip(!sessionsPresent, sessionsAbsent);
      const dear: unknown[] = [];
      let steps = 0;
      for (const session of sample(provider)) {
        const { requests, input, cost, read, readable } = total(await billsOf(session, provider));
        const isDear = requests >= MANY_STEPS && cost > PAID * input;
        if (isDear || read < READ * readable)
          dear.push({ session: session.id, requests, input, cost, read, readable });
        steps = Math.max(steps, requests);
      }
      expect(dear).toEqual([]);
      expect(steps).toBeGreaterThanOrEqual(MANY_STEPS);
    });
  },
);

it("a step of many parallel calls does not lose the prompt before it", async () => {
  const { model, bills, clock } = pacedClient("anthropic");
  const schema: JSONSchema7 = { type: "object" };
  const read = tool({ inputSchema: jsonSchema(schema), execute: () => "word ".repeat(400) });
  const many = Array.from({ length: 30 }, (_, place) => call("read", `c${place}`, {}));
  const script = scriptedModel([calling(call("read", "one", {})), calling(...many), "Done."]);
  const instructions = "word ".repeat(2000);
  await using open = await openSession(
    { model: model(script), tools: { read }, instructions },
    { clock },
  );
  await (
    await open.session.send("Read.")
  ).result;
  expect(bills).toHaveLength(3);
  expect(bills[2]?.readable).toBe(bills[1]?.input);
  expect(bills[2]?.cacheRead).toBe(bills[1]?.input);
});
