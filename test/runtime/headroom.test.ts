/** When the next prompt is compacted, by what earlier compactions came to. */

import { expect, it } from "vitest";
import { prepareAgent } from "../../src/agent/index.ts";
import type { ContextEstimate } from "../../src/context/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { dropOldest, tokens } from "../../src/public/index.ts";
import { compactionNow } from "../../src/runtime/prompt/headroom.ts";
import { afterOverflow } from "../../src/runtime/prompt/refused-prompt.ts";
import { initialSessionState } from "../../src/state/index.ts";

const catalogue = { limits: () => undefined, cost: () => undefined };

it("a prompt that does not fit its model is compacted anew in each turn, and one that fits only when it has grown", async () => {
  const compact = { when: tokens(500), how: dropOldest({ keepTurns: 1 }) };
  const prepared = await prepareAgent({ model: scriptedModel([]), context: { compact } });
  const state = {
    ...initialSessionState,
    compactions: { ...initialSessionState.compactions, settled: 1_000, isGuess: true },
  };
  const typeAt = (size: number, now = state): string | undefined => {
    const estimate: ContextEstimate = {
      tokens: size,
      basis: "estimated",
      breakdown: { instructions: 0, tools: 0, messages: size, media: 0 },
      room: { window: 1_100, outputBuffer: 100, free: 1_000 - size, used: size / 1_000 },
      bytes: size,
      warnings: [],
      recorded: { tokens: size, basis: "length" },
    };
    return compactionNow(now, { prepared, catalogue }, estimate)?.type;
  };
  expect(typeAt(1_000)).toBeUndefined();
  expect(typeAt(1_001)).toBe("context.compaction-started");
  // Within the turn the last attempt counts.
  const { machine } = state;
  const context = { ...machine.context, stepsInTurn: 1 };
  expect(typeAt(1_001, { ...state, machine: { ...machine, context } })).toBeUndefined();
});

it("a step whose prompt was too long ends as cancelled if its turn is being stopped, and compacts nothing", () => {
  const { machine } = initialSessionState;
  const at = (stopping: "cancelled" | undefined): unknown => {
    const context = { ...machine.context, stopping };
    return afterOverflow({ ...initialSessionState, machine: { ...machine, context } }, undefined);
  };
  expect(at(undefined)).toMatchObject({ type: "context.compaction-started" });
  expect(at("cancelled")).toMatchObject({
    type: "step.interrupted",
    data: { reason: "cancelled" },
  });
});
