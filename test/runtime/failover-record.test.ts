/** What the record of a failover means later: in another process, in a fork, in a replay, on a page. */

import { expect, it } from "vitest";
import { replay } from "../../src/replay/index.ts";
import { gate } from "../../src/models/index.ts";
import { contextView } from "../../src/projections/index.ts";
import { manual, summarize, tokens, type Agent } from "../../src/public/index.ts";
import { uiMessages, readUIMessages } from "../../src/ui/index.ts";
import { ask } from "../support/asking.ts";
import { summaryOf } from "../support/summarisers.ts";
import { modelOf, refusal } from "../support/failing-models.ts";
import { call, calling } from "../support/script.ts";
import { openSession, reopen, type OpenSession } from "../support/with-runtime.ts";
import { echo } from "./tools.ts";

const look = calling(call("echo", "1", { value: 1 }));
const toolApproval = { echo: "user-approval" } as const;

const agentOf = (first: Agent["model"], ...fallback: readonly Agent["model"][]): Agent => ({
  model: first,
  fallback,
  tools: { echo },
  toolApproval,
});

/** A turn that the second model has, and that waits for an approval. */
async function waiting(): Promise<OpenSession> {
  const [first, second] = [modelOf("one", [{ failure: refusal(401) }]), modelOf("two", [look])];
  const open = await openSession(agentOf(first, second));
  const turn = await open.session.send("Go.");
  expect(await turn.untilRest()).toMatchObject({ kind: "waiting" });
  return open;
}

async function models(open: OpenSession, session = "s"): Promise<readonly string[]> {
  return (await Array.fromAsync(open.log.read(session))).flatMap((event) =>
    event.type === "step.started" ? [event.data.model.provider] : [],
  );
}

async function approved(open: OpenSession): Promise<void> {
  const { approvals } = await open.session.view();
  for (const { approvalId } of approvals) await open.session.approve(approvalId);
  await open.session.idle();
}

it("the next process continues with the model that the log names", async () => {
  const first = modelOf("one", ["Never."]);
  await using open = await reopen(await waiting(), agentOf(first, modelOf("two", ["Done."])));
  expect((await open.session.context()).model.provider).toBe("two");
  await approved(open);
  expect(await models(open)).toEqual(["one", "two", "two"]);
  expect(first.calls).toHaveLength(0);
});

it("a process whose agent has that model no longer continues with its own, and says so", async () => {
  const first = modelOf("one", ["Done."]);
  await using open = await reopen(await waiting(), agentOf(first, modelOf("three", [])));
  await approved(open);
  expect(await models(open)).toEqual(["one", "two", "one"]);
  const last = (await open.events()).findLast(({ type }) => type === "step.failed-over");
  expect(last?.data).toMatchObject({ step: 2, why: "not-in-agent", to: { provider: "one" } });
});

it("a fork in the middle of the turn continues with it too", async () => {
  const [first, second] = [
    modelOf("one", () => ({ failure: refusal(401) })),
    modelOf("two", [look, "Done.", "Done."]),
  ];
  await using open = await openSession(agentOf(first, second));
  await (await open.session.send("Go.")).untilRest();
  const fork = await open.session.fork({ id: "f" });
  const { approvals } = await fork.view();
  for (const { approvalId } of approvals) await fork.approve(approvalId);
  await fork.idle();
  expect(await models(open, "f")).toEqual(["one", "two", "two"]);
  expect(first.calls).toHaveLength(1);
  await approved(open);
});

it.each([401, 503])(
  "a replay repeats the moves of the record, whatever the agent has (%i)",
  async (status) => {
    const [first, second] = [
      modelOf("one", () => ({ failure: refusal(status) })),
      modelOf("two", ["Here.", look, "Done.", "Here.", "Here."]),
    ];
    const agent = agentOf(first, second);
    await using open = await openSession({ ...agent, toolApproval: {} });
    for (const message of ["One.", "Two.", "Three.", "Four."]) await ask(open.session, message);
    const events = await open.events();
    const whys = events.flatMap((event) =>
      event.type === "step.failed-over" ? [event.data.why] : [],
    );
    expect(whys.at(-1)).toBe("circuit-open");
    const alone: Agent = { model: first, tools: { echo } };
    for (const played of [{ ...agent, toolApproval: {} }, alone])
      expect((await replay(events, played)).difference).toBeUndefined();
  },
);

it.each([
  { name: "asked for", when: manual() },
  { name: "within a turn", when: tokens(300) },
  { name: "by a model of its own", when: tokens(300), own: "own" },
])(
  "a summary $name whose model is down is the next model's, and a replay repeats it",
  async ({ when, own }) => {
    let isDown = false;
    const story = "A long story. ".repeat(100);
    const model = (name: string) =>
      modelOf(name, () => {
        if (isDown && name !== "two") return { failure: refusal(503) };
        return isDown ? summaryOf(["a story"]) : story;
      });
    const how = summarize({ keepTokens: 50, ...(own && { model: model(own) }) });
    const compact = { when, how };
    const agent: Agent = { model: model("one"), fallback: [model("two")], context: { compact } };
    await using open = await openSession(agent);
    await ask(open.session, "One.");
    if (when.name === "manual") await ask(open.session, "Two.");
    isDown = true;
    if (when.name === "manual") await open.session.compact();
    else await ask(open.session, "Three.");
    const events = await open.events();
    const summaries = events.flatMap(({ type, data }) =>
      type === "context.summary-rejected" || type === "context.compacted"
        ? [[type, data.rung, data.model?.provider]]
        : [],
    );
    expect(summaries).toEqual([
      ["context.summary-rejected", "whole", own ?? "one"],
      ["context.compacted", "whole", "two"],
    ]);
    expect((await replay(events, agent)).difference).toBeUndefined();
  },
);

it("a page has both parts of a reply that the second model finished, and none twice", async () => {
  const pause = gate();
  const first = modelOf("one", [
    calling({ type: "text", deltas: ["One, ", pause] }, { type: "break", error: refusal(500) }),
  ]);
  await using open = await openSession({
    model: first,
    fallback: [modelOf("two", ["two."])],
    continueOn: "partial",
    maxRetries: 0,
  });
  const turn = await open.session.send("Count.");
  pause.open();
  await turn.result;
  const { initial, fold } = uiMessages({ session: "s" });
  const events = await open.events();
  const { messages } = readUIMessages(events.reduce(fold, initial));
  const parts = messages.at(-1)?.message.parts ?? [];
  expect(parts.flatMap((part) => (part.type === "text" ? [part.text] : []))).toEqual([
    "One, ",
    "two.",
  ]);
  expect(messages.at(-1)?.message.metadata).toMatchObject({ model: "two:m" });
});

it("the view knows which model stands in for which until the turn ends", () => {
  const [one, two, three] = ["one", "two", "three"].map((provider) => ({ provider, modelId: "m" }));
  if (one === undefined || two === undefined || three === undefined) throw new Error("Three.");
  const agent = { digest: "d", model: one, tools: [] };
  const bodies = [
    { type: "session.created", data: { agent } },
    { type: "step.failed-over", data: { step: 1, attempt: 1, from: one, to: two, why: "server" } },
    { type: "step.failed-over", data: { step: 2, from: two, to: three, why: "circuit-open" } },
    { type: "turn.ended", data: { turn: 1, reason: "stop" } },
  ] as const;
  const bindings: unknown[] = [];
  let view = contextView.initial;
  for (const [index, body] of bodies.entries()) {
    view = contextView.fold(view, { position: index + 1, time: 0, ...body });
    bindings.push([view.binding, view.failover?.moves.length]);
  }
  expect(bindings).toEqual([
    ["one", undefined],
    ["two", 1],
    ["three", 2],
    ["one", undefined],
  ]);
});
