/** Rewinding a live session: the head moves, the log stays, and nothing of a left branch comes back. */

import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { gate, scriptedModel } from "../../src/models/index.ts";
import { allow } from "../support/answering.ts";
import { call, calling, saying } from "../support/script.ts";
import { seen } from "../support/seen.ts";
import { openSession, reopen, type OpenSession } from "../support/with-runtime.ts";

async function say({ session }: OpenSession, ...texts: readonly string[]): Promise<void> {
  for (const text of texts) await (await session.send(text, { id: text })).result;
}

const promptOf = async ({ session }: OpenSession): Promise<string> =>
  JSON.stringify((await session.view()).prompt.messages);

const pay = tool({ inputSchema: z.object({}), execute: () => "paid" });

describe("rewind", () => {
  it("brings back the prompt of a turn byte for byte, and keeps every event", async () => {
    const model = scriptedModel(["One.", "Two.", "Three.", "Another two."]);
    await using open = await openSession({ model });
    await say(open, "a");
    const before = await promptOf(open);
    await say(open, "b", "c");
    const events = await open.events();
    const rewound = await open.session.rewind({ beforeTurn: 2 });
    expect(rewound).toMatchObject({ turns: [2, 3], effects: [], branch: rewound.position });
    expect(await promptOf(open)).toBe(before);
    expect((await open.events()).slice(0, events.length)).toEqual(events);
    await say(open, "b2");
    const view = await open.session.view();
    expect(view.history.at(-1)).toMatchObject({ kind: "turn-end", turn: 4 });
    expect(await promptOf(open)).not.toContain("Three.");
  });

  it("returns to a branch by checkout, and lists branches with ids that never change", async () => {
    const model = scriptedModel(["One.", "Two.", "New two.", "Three."]);
    await using open = await openSession({ model });
    await say(open, "a", "b");
    const first = await promptOf(open);
    const { branch } = await open.session.rewind({ beforeMessage: "b" });
    await say(open, "b2");
    const second = await promptOf(open);
    await open.session.checkout(1);
    expect(await promptOf(open)).toBe(first);
    await say(open, "c");
    expect(await open.session.branches()).toMatchObject([
      { id: 1, turns: 3, active: true },
      { id: branch, parent: 1, turns: 2, active: false },
    ]);
    await open.session.checkout(branch);
    expect(await promptOf(open)).toBe(second);
    const again = await reopen(open, { model });
    expect(await promptOf(again)).toBe(second);
    await again.runtime.close();
  });

  it("is refused within a turn, and names the nearest boundaries", async () => {
    await using open = await openSession({ model: scriptedModel(["One."]) });
    await say(open, "a");
    const started = (await open.events()).find(({ type }) => type === "step.started");
    const refused = open.session.rewind({ to: started?.position ?? 0 });
    await expect(refused).rejects.toThrow(/The nearest positions: 1/);
    await expect(refused).rejects.toMatchObject({ code: "COMMAND_REFUSED" });
    await expect(open.session.rewind({ beforeTurn: 7 })).rejects.toThrow("it has no turn 7");
    await expect(open.session.checkout(3)).rejects.toThrow("Its branches: 1");
  });

  it("cancels a running turn first, and refuses a late approval of the branch that was left", async () => {
    const ran: string[] = [];
    const deploy = tool({
      inputSchema: z.object({}),
      // oxlint-disable-next-line typescript/no-deprecated
      needsApproval: true,
      execute: () => ran.push("deploy"),
    });
    const model = scriptedModel(["One.", calling(call("deploy", "1")), "Well."]);
    await using open = await openSession({ model, tools: { deploy } });
    await say(open, "a");
    await open.session.send("ship");
    await seen(open.session, "tool.approval-requested");
    const { approvals } = await open.session.atRest();
    const [asked] = approvals;
    const { turns } = await open.session.rewind({ beforeTurn: 2 });
    expect(turns).toEqual([2]);
    const late = open.session.approve(asked?.approvalId ?? "");
    await expect(late).rejects.toThrow("its branch was left by a rewind");
    expect(ran).toEqual([]);
    await say(open, "go on");
    expect(ran).toEqual([]);
  });

  it("lists the effects that remain, and tells the model of them only if asked", async () => {
    const steps = [
      calling(call("pay", "1")),
      "Paid.",
      "Sorry.",
      calling(call("pay", "1")),
      "Paid.",
    ];
    const model = scriptedModel(steps);
    await using open = await openSession({ model, tools: { pay } });
    await say(open, "pay");
    const before = await open.session.at(1);
    const { effects, usage } = await open.session.rewind({ beforeTurn: 1, tell: true });
    expect(effects).toEqual([
      { turn: 1, step: 1, callId: "1", toolName: "pay", status: "succeeded" },
    ]);
    expect(usage.inputTokens).toBeGreaterThan(0);
    expect(before.prompt.messages).toEqual([]);
    await say(open, "why");
    expect(JSON.stringify(model.calls.at(-1)?.prompt)).toContain("- pay (succeeded)");
    await open.session.rewind({ beforeTurn: 2 });
    await say(open, "pay again");
    // A payment of the new branch is another effect, though its call id is the same.
    const effectIds = (await open.events()).flatMap((event) =>
      event.type === "tool.started" ? [event.data.effectId] : [],
    );
    expect(new Set(effectIds).size).toBe(2);
  });

  it("keeps what waits waiting, and delivers nothing twice", async () => {
    const model = scriptedModel(["One.", saying("Two."), "Three."]);
    await using open = await openSession({ model });
    await say(open, "a", "b");
    await open.session.rewind({ beforeTurn: 2 });
    // An accepted id is known on every branch.
    await open.session.send("b", { id: "b" });
    expect((await open.session.view()).queue).toEqual([]);
    expect((await (await open.session.turn("b")).result).text).toBe("Two.");
    await say(open, "c");
    expect(await promptOf(open)).not.toContain("Two.");
  });
});

describe("an edit", () => {
  it("replaces a message: its former text and reply are off the prompt and on their branch", async () => {
    const model = scriptedModel(["One.", "Two.", "Other."]);
    await using open = await openSession({ model });
    await say(open, "a", "b");
    const turn = await open.session.send("b, better", { id: "b2", replaces: "b" });
    expect((await turn.result).text).toBe("Other.");
    const prompt = await promptOf(open);
    expect(prompt).toContain("b, better");
    expect(prompt).not.toContain("Two.");
    // A client that never got the answer sends it again.
    const again = await open.session.send("b, better", { id: "b2", replaces: "b" });
    expect((await again.result).text).toBe("Other.");
    expect((await open.session.branches()).length).toBe(2);
    await expect(open.session.send("x", { replaces: "b" })).rejects.toThrow(
      "message b is not on the active branch",
    );
  });

  it("runs the other messages of the turn again", async () => {
    const stop = gate();
    const model = scriptedModel([saying(stop, "One."), "Both.", "New."]);
    await using open = await openSession({ model });
    const first = await open.session.send("a", { id: "a" });
    await open.session.send("b", { id: "b" });
    await open.session.send("c", { id: "c" });
    stop.open();
    await first.result;
    await (
      await open.session.turn("c")
    ).result;
    await (
      await open.session.send("c2", { id: "c2", replaces: "c" })
    ).result;
    const texts = JSON.stringify(model.calls.at(-1)?.prompt.filter(({ role }) => role === "user"));
    expect(texts).toContain('"b"');
    expect(texts).toContain('"c2"');
    expect(texts).not.toContain('"c"');
  });
});

describe("regenerate", () => {
  it("gives another reply to the same message, without the former one in its prompt", async () => {
    const model = scriptedModel(["One.", "Two.", "Two again."]);
    await using open = await openSession({ model });
    await say(open, "a", "b");
    const prompt = JSON.stringify(model.calls.at(-1)?.prompt);
    const turn = await open.session.regenerate({ messageId: "b" });
    expect((await turn.result).text).toBe("Two again.");
    expect(JSON.stringify(model.calls.at(-1)?.prompt)).toBe(prompt);
    const types: string[] = [];
    for await (const { type } of turn) types.push(type);
    expect(types.slice(0, 2)).toEqual(["turn.started", "message.delivered"]);
    await open.session.checkout(1);
    expect(await promptOf(open)).toContain("Two.");
  });

  it("pays once for the same key, and joins a regeneration that runs", async () => {
    const stop = gate();
    const model = scriptedModel(["One.", saying(stop, "Again."), "Third."]);
    await using open = await openSession({ model });
    await say(open, "a");
    const first = await open.session.regenerate({ idempotencyKey: "k" });
    const joined = await open.session.regenerate();
    stop.open();
    expect((await first.result).text).toBe("Again.");
    expect((await joined.result).text).toBe("Again.");
    expect((await (await open.session.regenerate({ idempotencyKey: "k" })).result).text).toBe(
      "Again.",
    );
    expect(model.calls.length).toBe(2);
    expect((await (await open.session.regenerate()).result).text).toBe("Third.");
  });
});

describe("basedOn", () => {
  it("refuses a command of a caller who has not seen the last turn, and gives the new head", async () => {
    const model = scriptedModel(["One.", "Two.", "Three."]);
    await using open = await openSession({ model });
    await say(open, "a", "b");
    const stale = open.session.rewind({ beforeTurn: 1, basedOn: { turn: 1 } });
    await expect(stale).rejects.toMatchObject({
      code: "STALE",
      details: { head: { branch: 1, turn: 2, messageId: "b" } },
    });
    await expect(open.session.send("c", { basedOn: { messageId: "a" } })).rejects.toMatchObject({
      code: "STALE",
    });
    await open.session.rewind({ beforeTurn: 2, basedOn: { messageId: "b" } });
    await expect(open.session.regenerate({ basedOn: { turn: 2 } })).rejects.toMatchObject({
      code: "STALE",
    });
    await (
      await open.session.send("c", { basedOn: { turn: 1 } })
    ).result;
  });
});

it("a command that is refused cancels no turn, a quicker tab's neither", async () => {
  const held = gate();
  const slow = { parts: [{ type: "text", deltas: ["One", held, "."] }] } as const;
  const model = scriptedModel([slow, "Two.", "Edited.", "Again."]);
  await using open = await openSession({ model });
  const { session } = open;
  const first = await session.send("a", { id: "a" });
  await held.reached;
  const second = await session.send("b", { id: "b" });
  await expect(session.send("b2", { id: "b2", replaces: "b" })).rejects.toMatchObject({
    code: "COMMAND_REFUSED",
  });
  await expect(session.rewind({ to: 10_000 })).rejects.toMatchObject({ code: "COMMAND_REFUSED" });
  held.open();
  await Promise.all([first.result, second.result]);

  const edits = ["x", "y"].map((text) =>
    session.send(text, { id: "b~2", replaces: "b", basedOn: { turn: 2 } }),
  );
  const [edited, conflict] = await Promise.allSettled(edits);
  expect(conflict).toMatchObject({ reason: { code: "MESSAGE_CONFLICT" } });
  expect(edited).toMatchObject({ status: "fulfilled" });
  await session.idle();
  const again = ["k1", "k2"].map((idempotencyKey) =>
    session.regenerate({ messageId: "b~2", idempotencyKey, basedOn: { turn: 3 } }),
  );
  const [, stale] = await Promise.allSettled(again);
  expect(stale).toMatchObject({ reason: { code: "STALE" } });
  await session.idle();
  const ends = (await open.events()).filter(({ type }) => type === "turn.ended");
  expect(ends.map(({ data }) => data)).toMatchObject([1, 2, 3, 4].map(() => ({ reason: "stop" })));
});

it("approvals given for good hold on every branch", async () => {
  const ran: string[] = [];
  const deploy = tool({
    inputSchema: z.object({}),
    // oxlint-disable-next-line typescript/no-deprecated
    needsApproval: true,
    execute: () => ran.push("deploy"),
  });
  const model = scriptedModel([
    calling(call("deploy", "1")),
    "A.",
    calling(call("deploy", "1")),
    "B.",
  ]);
  await using open = await openSession({ model, tools: { deploy } });
  await open.session.send("ship");
  await seen(open.session, "tool.approval-requested");
  await allow(open.session, "1", { always: true });
  await open.session.idle();
  await open.session.rewind({ beforeTurn: 1 });
  await say(open, "ship again");
  expect(ran).toEqual(["deploy", "deploy"]);
});
