/** Generated sessions whose prompts are broken in one way: the bill names what broke them, and nothing else. */

import { expect, it, vi } from "vitest";
import { sessionBill } from "../../src/bill/index.ts";
import { modelCatalogue } from "../../src/context/index.ts";
import { renumbered } from "../../src/events/index.ts";
import { seededRandom } from "../support/random.ts";
import { all, lot, patience, sampled, times } from "../support/runs.ts";
import { breaks, plantedSession, type Plan } from "./planted-session.ts";

vi.setConfig({ testTimeout: patience });

const providers = ["anthropic", "openai", "google", "deepseek"] as const;

/** Sessions of each break with each provider: 512 in all tests. */
const SESSIONS = all ? times(16) : 1;

function planOf(what: Plan["what"], provider: Plan["provider"], seed: number): Plan {
  const random = seededRandom(`${what} ${provider} ${seed} ${lot}`);
  // What is pruned has a result behind it that stays.
  const least = what === "pruning" ? 2100 : 1000;
  const results = () =>
    Array.from({ length: 1 + random.below(3) }, () => least + random.below(2000));
  const turns = Array.from({ length: 3 + random.below(3) }, results);
  return { provider, what, turns, at: 2 + random.below(turns.length - 2) };
}

it("a prompt without the reasoning of an ended turn", async () => {
  const known = { catalogue: await modelCatalogue() };
  const events = await plantedSession({ ...planOf("reasoning", "deepseek", 0), at: 2 });
  const { misses } = sessionBill(events, { known });
  expect(new Set(misses.map(({ cause }) => cause))).toEqual(new Set(["reasoning"]));
  for (const { changedAt } of misses) expect(events[changedAt - 1]?.type).toBe("turn.ended");
});

it.each([
  ["settings", "settings"],
  ["none", "unexplained"],
] as const)("a provider that read nothing: %s changed", async (what, cause) => {
  const known = { catalogue: await modelCatalogue() };
  const plan = { ...planOf(what, "openai", 0), at: 2 };
  const events = await plantedSession(plan);
  const starts = events.flatMap((event) => (event.type === "step.started" ? [event.data] : []));
  const lost = starts.find(({ turn }) => turn === 3)?.step;
  const unread = events.map((event) =>
    event.type === "step.finished" && event.data.step === lost
      ? { ...event, data: { ...event.data, usage: { ...event.data.usage, cacheReadTokens: 0 } } }
      : event,
  );
  expect(sessionBill(events, { known }).misses).toEqual([]);
  expect(sessionBill(unread, { known }).misses).toMatchObject([{ cause }]);
});

// In `npm test` by some of the providers each.
it.each([
  ["definition", "tools", { kind: "tool", toolName: "find" }, ["session.configured"], 0],
  ["tools", "tools", { kind: "tool", toolName: "find" }, ["step.prepared"], 1],
  ["instructions", "instructions", { kind: "instructions" }, ["step.prepared"], 2],
] as const)(
  "the first text that differs, and what lies behind it: %s",
  async (what, cause, first, by, place) => {
    const known = { catalogue: await modelCatalogue() };
    for (const provider of sampled(providers, 1, place)) {
      const plan = { ...planOf(what, provider, 0), at: 2 };
      const events = await plantedSession(plan);
      const { misses, parts } = sessionBill(events, { known });
      expect(misses[0]).toMatchObject({ cause, first });
      expect(by).toContain(events[(misses[0]?.changedAt ?? 0) - 1]?.type);
      // Of those that the first call had, each has 1,200 or 1,500 tokens; one tool is built in.
      const { position: start = 0 } = events.find(({ type }) => type === "step.started") ?? {};
      const sizes = parts.flatMap(({ kind, toolName, position, tokens, calls }) => {
        if (position > start || toolName === "read_tool_output") return [];
        if (kind === "tool") return [tokens / calls / 1200];
        return kind === "instructions" ? [tokens / calls / 1500] : [];
      });
      expect(sizes).toHaveLength(3);
      for (const size of sizes) expect(Math.abs(size - 1)).toBeLessThan(0.15);
    }
  },
);

it("a log of an earlier release has one part; no cause is made up where its texts begin", async () => {
  const known = { catalogue: await modelCatalogue() };
  const events = await plantedSession({ ...planOf("expired", "openai", 0), at: 2 });
  const texts = events.filter(({ type }) => type === "prompt.text");
  const old = events.filter((event) => !texts.includes(event));
  const bill = sessionBill(renumbered(old), { known });
  expect(bill.misses).toMatchObject([{ cause: "expired" }]);
  const kinds = bill.parts.map(({ kind }) => kind);
  expect(kinds.filter((kind) => ["standing", "tool", "instructions"].includes(kind))).toEqual([
    "standing",
  ]);
  const third = old.findIndex(({ type, data }) => type === "step.started" && data.turn === 3);
  const both = renumbered([...old.slice(0, third), ...texts, ...old.slice(third)]);
  expect(sessionBill(both, { known }).misses).toEqual([]);
});

it.each(breaks.map((what, place) => [what, place] as const))(
  "a prompt that is broken by: %s",
  async (what, place) => {
    const known = { catalogue: await modelCatalogue() };
    const wrong: unknown[] = [];
    let broken = 0;
    for (const provider of sampled(providers, 1, place))
      for (let seed = 0; seed < SESSIONS; seed++) {
        const plan = planOf(what, provider, seed);
        const events = await plantedSession(plan);
        const { misses } = sessionBill(events, { known });
        const causes = [...new Set(misses.map(({ cause }) => cause))];
        const isAtEvent = misses.every(({ position, changedAt, cause }) =>
          cause === "expired" ? changedAt === position : changedAt < position,
        );
        // The planner decides whether a pruning pays.
        const isBroken =
          what !== "none" &&
          (what !== "pruning" || events.some(({ type }) => type === "context.pruned"));
        broken += isBroken ? 1 : 0;
        if (causes.join() !== (isBroken ? what : "") || !isAtEvent) wrong.push({ ...plan, misses });
      }
    expect(wrong).toEqual([]);
    expect(broken > 0).toBe(what !== "none");
  },
);
