/** What a bill sums to: the session's own tokens and dollars, whatever happened to it. */

import * as fc from "fast-check";
import { expect, it, vi } from "vitest";
import { sessionBill } from "../../src/bill/index.ts";
import { modelCatalogue, type KnownLimits } from "../../src/context/index.ts";
import type { SessionEvent } from "../../src/events/index.ts";
import { foldSession, initialSessionState } from "../../src/state/index.ts";
import { Choices } from "../laws/choices.ts";
import { ImaginedSession } from "../laws/imagined-session.ts";
import { ask } from "../support/asking.ts";
import { billingModel } from "../support/billing-model.ts";
import { storedEvents } from "../support/replay.ts";
import { patience, runs } from "../support/runs.ts";
import { openSession } from "../support/with-runtime.ts";
import { billProblems } from "./bill-problems.ts";
import { plantedSession } from "./planted-session.ts";

vi.setConfig({ testTimeout: patience });

/** Dearer from so many tokens on, as some models are. */
const TIER = 1000;
const tiered: KnownLimits = {
  catalogue: {
    limits: () => undefined,
    cost: (_, { inputTokens, outputTokens, cacheReadTokens = 0, cacheWriteTokens = 0 }) => {
      const plain = inputTokens - cacheReadTokens - cacheWriteTokens;
      const price = plain * 4 + cacheReadTokens + cacheWriteTokens * 5 + outputTokens * 20;
      return inputTokens > TIER ? 2 * price : price;
    },
  },
};

function problemsOf(events: readonly SessionEvent[], known: KnownLimits): readonly string[] {
  const state = events.reduce(
    (before, event) => foldSession(before, event).state,
    initialSessionState,
  );
  return billProblems(sessionBill(events, { known }), state.usage);
}

it("of a log that the runtime may record: each token and each dollar is in one part", () => {
  const imagined = fc
    .array(fc.nat({ max: 2 ** 16 }), { maxLength: 600, size: "max" })
    .map((numbers) => new ImaginedSession(new Choices(numbers)).live());
  fc.assert(
    fc.property(imagined, (events) => {
      expect(problemsOf(events, tiered)).toEqual([]);
    }),
    runs(30),
  );
});

it("of a fork: what it paid itself; what it shares is labelled", async () => {
  await using open = await openSession({ model: billingModel(["One.", "Two.", "Three."]) });
  await ask(open.session, "One?");
  const fork = await open.session.fork({ id: "f" });
  await ask(fork, "Two?");
  const events = await storedEvents(open.log, "f");
  expect(problemsOf(events, tiered)).toEqual([]);
  const { calls, cost } = sessionBill(events, { known: tiered });
  expect(calls.map(({ turn }) => turn)).toEqual([2]);
  const source = sessionBill(await open.events(), { known: tiered });
  expect(cost.inherited).toEqual(source.cost.total);
});

it("a result costs what it was carried for, until it was compacted", async () => {
  const turns = [[2500, 2000], [2500], [2500], [2500]];
  const events = await plantedSession({ provider: "anthropic", what: "compaction", turns, at: 2 });
  const known = { catalogue: await modelCatalogue() };
  const { parts, calls } = sessionBill(events, { known });
  const compacted = events.find(({ type }) => type === "context.compacted")?.position ?? 0;
  const [first, second] = ["0.0", "0.1"].map((callId) =>
    parts.filter((part) => part.kind === "result" && part.callId === callId),
  );
  // The calls of the first turn were made in its first two steps.
  const before = calls.filter(({ position }) => position < compacted);
  expect(first).toMatchObject([{ step: 1, toolName: "look", calls: before.length - 1 }]);
  expect(second).toMatchObject([{ step: 2, toolName: "look", calls: before.length - 2 }]);
  for (const [part, size] of [
    [first?.[0], 2500],
    [second?.[0], 2000],
  ] as const) {
    const each = (part?.tokens ?? 0) / (part?.calls ?? 0);
    expect(each).toBeGreaterThan(size);
    expect(each).toBeLessThan(size * 1.05);
    // Written once, then read at a tenth.
    const dollars = (size * (3.75 + ((part?.calls ?? 0) - 1) * 0.3)) / 1_000_000;
    expect(part?.dollars).toBeGreaterThan(dollars);
    expect(part?.dollars).toBeLessThan(dollars * 1.05);
  }
});
