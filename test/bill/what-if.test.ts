/** A computed bill is the one of the same session that was really run so. */

import { expect, it, vi } from "vitest";
import { sessionBill } from "../../src/bill/index.ts";
import { modelCatalogue, type WhatIf } from "../../src/context/index.ts";
import type { SessionEvent } from "../../src/events/index.ts";
import { seededRandom } from "../support/random.ts";
import { all, lot, patience, times } from "../support/runs.ts";
import { plantedSession, type Plan } from "./planted-session.ts";

vi.setConfig({ testTimeout: patience });

const known = { catalogue: await modelCatalogue() };
const WITHIN = 0.01;

/** How far the computed bill of a session is off the one that really came. */
function off(
  events: readonly SessionEvent[],
  whatIf: WhatIf,
  real: readonly SessionEvent[],
): number {
  const computed = sessionBill(events, { known, whatIf }).whatIf;
  const { dollars } = sessionBill(real, { known }).cost.total;
  expect(computed?.computed).toBe(true);
  expect(dollars).toBeGreaterThan(0);
  return Math.abs((computed?.dollars ?? 0) / dollars - 1);
}

function planOf(provider: Plan["provider"], seed: number): Omit<Plan, "what"> {
  const random = seededRandom(`${provider} ${seed} ${lot}`);
  const results = () =>
    Array.from({ length: 1 + random.below(3) }, () => 2100 + random.below(2000));
  const turns = Array.from({ length: 3 + random.below(3) }, results);
  return { provider, turns, at: 2 + random.below(turns.length - 2) };
}

it.each(["anthropic", "openai", "google", "deepseek"] as const)(
  "without its compaction or its prunings, billed by the rules of %s",
  async (provider) => {
    for (let seed = 0; seed < (all ? times(6) : 1); seed++) {
      const plan = planOf(provider, seed);
      const real = await plantedSession({ ...plan, what: "none" });
      for (const what of ["compaction", "pruning"] as const) {
        const events = await plantedSession({ ...plan, what });
        const without = events.flatMap(({ type, position }) =>
          type === "context.compacted" || type === "context.pruned" ? [position] : [],
        );
        expect(off(events, { without }, real)).toBeLessThan(WITHIN);
      }
    }
  },
);

it("with caching off, and on", async () => {
  const plan = { ...planOf("anthropic", 0), what: "none" } as const;
  const [cached, uncached] = [
    await plantedSession(plan),
    await plantedSession({ ...plan, promptCache: "off" }),
  ];
  expect(off(cached, { caching: false }, uncached)).toBeLessThan(WITHIN);
  expect(off(uncached, { caching: true }, cached)).toBeLessThan(WITHIN);
});

it("with another model's prices, and the same tokens", async () => {
  const events = await plantedSession({ ...planOf("openai", 0), what: "none" });
  const model = { provider: "openai", modelId: "gpt-5-nano" };
  const { calls, whatIf } = sessionBill(events, { known, whatIf: { model } });
  const dollars = calls.map(
    ({ usage, time }) => known.catalogue.cost(model, usage, time) ?? Number.NaN,
  );
  expect(whatIf?.dollars).toBeCloseTo(
    dollars.reduce((one, other) => one + other, 0),
    12,
  );
});
