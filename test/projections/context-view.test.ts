/** What has been done to the prompt, and that each of it is undone by itself. */

import { describe, expect, it } from "vitest";
import type { EventBody } from "../../src/events/index.ts";
import { withBinding } from "../../src/projections/context-view.ts";
import { asked, said, spent, stateOf, stepFinished, stepStarted, turnEnded } from "./session-of.ts";

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

it("a change says all that its event said, and when earlier token figures end to hold", () => {
  const begun = stateOf(...asked("Go.")).view;
  const last = asked("Go.").length;
  const [compacted, pruned, cut, omitted] = changes;
  const viewAfter = (...bodies: readonly (EventBody | undefined)[]): object =>
    stateOf(...asked("Go."), ...bodies.filter((one) => one !== undefined)).view;
  const position = last + 1;
  expect(viewAfter(compacted)).toStrictEqual({
    ...begun,
    compactions: [{ position, ...covers, summary: "" }],
    changed: position,
  });
  expect(viewAfter(pruned)).toStrictEqual({ ...begun, prunings: [{ position, calls: [call] }] });
  const calls = [{ ...call, head: 1, tail: 1 }];
  expect(viewAfter(cut)).toStrictEqual({ ...begun, cuts: [{ position, calls }] });
  expect(
    viewAfter({ type: "context.cut", data: { calls, reader: "read_on", savedTokens: 1 } }),
  ).toStrictEqual({ ...begun, cuts: [{ position, calls, reader: "read_on" }] });
  expect(viewAfter(omitted)).toStrictEqual({
    ...begun,
    omissions: [{ position, omitted: { before: 1, there: [] } }],
  });
  const thinned = { drop: "reasoning", spans: [{ from: 1, to: 2 }] } as const;
  expect(viewAfter({ type: "session.thinned", data: thinned })).toStrictEqual(begun);
  expect(viewAfter({ type: "session.thinned", data: { ...thinned, shown: true } })).toStrictEqual({
    ...begun,
    changed: position,
  });
  const restored: EventBody = { type: "context.restored", data: { position } };
  expect(viewAfter(cut, restored)).toStrictEqual({
    ...begun,
    cuts: [{ position, calls, undone: true }],
    changed: position + 1,
  });
  expect(viewAfter(pruned, restored)).toStrictEqual({ ...begun, changed: position + 1 });
});

it("the bindings of all models that ran a step are known, each once", () => {
  const of = (provider: string, step: number): EventBody => {
    const started = stepStarted(step);
    if (started.type !== "step.started") throw new Error("No step.");
    return { ...started, data: { ...started.data, model: { provider, modelId: "m" } } };
  };
  const { bindings } = stateOf(of("a", 1), of("b", 2), of("a", 3)).view;
  expect(bindings).toEqual(["a", "b"]);
});

describe("a step that was prepared", () => {
  const agent = { digest: "d1", model: { provider: "turnlog", modelId: "m" }, tools: [] };
  const begun: readonly EventBody[] = [
    { type: "session.configured", data: { agent } },
    ...asked("Go."),
  ];
  const before = stateOf(...begun).view;
  const position = begun.length + 1;
  const prepared = (more: object = {}): EventBody => ({
    type: "step.prepared",
    data: { turn: 1, step: 1, ...more },
  });
  const error = { name: "Error", message: "" };
  const ends: readonly EventBody[] = [
    stepFinished(1),
    { type: "step.failed", data: { step: 1, error, usage: spent } },
    { type: "step.interrupted", data: { step: 1, reason: "cancelled", usage: spent } },
  ];

  it("has what was said about it and nothing else", () => {
    expect(stateOf(...begun, prepared()).view).toStrictEqual({ ...before, prepared: { step: 1 } });
    const model = { provider: "other", modelId: "m" };
    const overrides = { model, settings: { temperature: 0 } };
    expect(stateOf(...begun, prepared({ overrides })).view).toStrictEqual({
      ...before,
      binding: "other",
      prepared: { step: 1, overrides, ownBinding: "turnlog" },
    });
    const warmer = { settings: { temperature: 1 } };
    expect(stateOf(...begun, prepared({ overrides: warmer })).view).toStrictEqual({
      ...before,
      prepared: { step: 1, overrides: warmer },
    });
    expect(stateOf(...begun, prepared({ agentDigest: "d2" })).view).toStrictEqual({
      ...before,
      changed: position,
      prepared: { step: 1, agentDigest: "d2" },
    });
    expect(stateOf(...begun, prepared({ instructions: "Be brief." })).view).toStrictEqual({
      ...before,
      instructions: "Be brief.",
      prepared: { step: 1 },
    });
    const added = [{ after: { place: [0, 0] as const }, message: { role: "user", content: "A" } }];
    expect(stateOf(...begun, prepared({ messages: { added } })).view).toMatchObject({
      changed: position,
      edit: { added: [{ position, index: 0 }] },
    });
    const unknown = stateOf(...asked("Go."), prepared({ overrides: { model } })).view;
    expect(unknown.prepared).toStrictEqual({ step: 1, overrides: { model } });
  });

  it("has its model and its agent until it ends, however it ends", () => {
    const model = { provider: "other", modelId: "m" };
    for (const end of ends) {
      const ofModel = stateOf(...begun, prepared({ overrides: { model } }), end).view;
      expect(ofModel).toStrictEqual(before);
      const ofAgent = stateOf(...begun, prepared({ agentDigest: "d2" }), end).view;
      expect(ofAgent).toStrictEqual({ ...before, changed: position + 1 });
      expect(stateOf(...begun, prepared(), end).view).toStrictEqual(before);
      const ofBoth = [
        prepared({ by: "prepareCall", overrides: { model } }),
        prepared({ overrides: { model: { provider: "third", modelId: "m" } } }),
      ];
      expect(stateOf(...begun, ...ofBoth).view).toMatchObject({ binding: "third" });
      expect(stateOf(...begun, ...ofBoth, end).view).toStrictEqual(before);
      expect(stateOf(...begun, ...ofBoth, prepared()).view).toStrictEqual({
        ...before,
        prepared: { step: 1 },
      });
      expect(stateOf(...begun, end).view).toStrictEqual(before);
    }
  });

  it("has its instructions until the turn ends", () => {
    const instructions = prepared({ instructions: "Be brief." });
    const kept = stateOf(...begun, instructions, stepFinished(1)).view;
    expect(kept).toStrictEqual({ ...before, instructions: "Be brief." });
    const ended = stateOf(...begun, instructions, stepFinished(1), turnEnded()).view;
    expect(ended).toStrictEqual({ ...before, changed: position + 2 });
    const cut = stateOf(...begun, instructions, turnEnded()).view;
    expect(cut).toStrictEqual({ ...before, changed: position + 1 });
    expect(stateOf(...begun, prepared(), turnEnded()).view).toStrictEqual(before);
    expect(stateOf(...begun, turnEnded()).view).toStrictEqual(before);
  });
});

it("an agent of the same model changes nothing, whatever models ran steps before", () => {
  const configured = (provider: string): EventBody => ({
    type: "session.configured",
    data: { agent: { digest: "d", model: { provider, modelId: "m" }, tools: [] } },
  });
  const both = [configured("other"), stepStarted(1), stepFinished(1), configured("third")];
  const { view } = stateOf(...both);
  expect(stateOf(...both, configured("third")).view).toStrictEqual(view);
  expect(withBinding(view, 9, undefined)).toBe(view);
  expect(withBinding(view, 9, "third")).toBe(view);
});

it("an agent without another model changes nothing, and a fork without an agent keeps its model", () => {
  const agent = { digest: "d1", model: { provider: "turnlog", modelId: "m" }, tools: [] };
  const created: EventBody = { type: "session.created", data: { agent } };
  const from = { session: "s", position: 1 };
  const { view } = stateOf(created);
  expect(view.binding).toBe("turnlog");
  expect(stateOf(created, { type: "session.forked", data: { from } }).view).toStrictEqual(view);
  const other = { ...agent, model: { provider: "other", modelId: "m" } };
  const forked: EventBody = { type: "session.forked", data: { from, agent: other } };
  expect(stateOf(created, forked).view.binding).toBe("other");
  // The steps of the fork are shown without what only the first model accepts.
  expect(stateOf(created, stepStarted(1), forked).view.changed).toBe(3);
  expect(stateOf(created, forked, stepStarted(1), created).view.changed).toBe(4);
});
