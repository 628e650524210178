/** What has been done to the prompt, and that each of it is undone by itself. */

import { expect, it } from "vitest";
import type { EventBody } from "../../src/events/index.ts";
import { asked, said, stateOf, stepFinished, stepStarted } from "./session-of.ts";

const call = { step: 1, callId: "a" };
const covers = { from: 1, to: 2 };
const changes: readonly EventBody[] = [
  {
    type: "context.compacted",
    data: { strategy: "s", covers, summary: "", beforeTokens: 9, afterTokens: 1 },
  },
  { type: "context.pruned", data: { calls: [call], savedTokens: 1 } },
  { type: "context.cut", data: { calls: [{ ...call, head: 1, tail: 1 }], savedTokens: 1 } },
  { type: "context.media-omitted", data: { before: 1, there: [], media: 1, savedBytes: 1 } },
];

/** The positions of what holds. */
function holding(...bodies: readonly EventBody[]): readonly number[] {
  const { compactions, prunings, cuts, omissions } = stateOf(...bodies).view;
  const kept = cuts.filter(({ undone }) => undone !== true);
  return [...compactions, ...prunings, ...kept, ...omissions]
    .map(({ position }) => position)
    .toSorted((one, other) => one - other);
}

it("each change of the prompt is undone by itself, whatever came before and after it", () => {
  const twice = [...changes, ...changes];
  const all = twice.map((_, index) => index + 1);
  expect(holding(...twice)).toEqual(all);
  for (const position of all) {
    const restored: EventBody = { type: "context.restored", data: { position } };
    expect(holding(...twice, restored)).toEqual(all.filter((one) => one !== position));
  }
});

it("another model changes the prompt only if steps have parts that are bound to the former one", () => {
  const agent = (provider: string, digest: string): EventBody => ({
    type: "session.configured",
    data: { agent: { digest, model: { provider, modelId: "m" }, tools: [] } },
  });
  const begun: readonly EventBody[] = [
    agent("turnlog", "d1"),
    ...asked("Go."),
    stepStarted(1),
    ...said("Well."),
    stepFinished(1),
  ];
  const last = begun.length + 1;
  const before = stateOf(...begun).view;
  expect(stateOf(...begun, agent("other", "d2")).view).toEqual({
    ...before,
    binding: "other",
    changed: last,
  });
  expect(stateOf(...begun, agent("turnlog", "d2")).view).toEqual(before);
  const empty = stateOf(agent("turnlog", "d1")).view;
  expect(stateOf(agent("turnlog", "d1"), agent("other", "d2")).view).toEqual({
    ...empty,
    binding: "other",
  });
});
