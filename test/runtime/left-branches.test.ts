/** What a left branch must not do to the active one, and what is still there to read: the pitfalls of going back. */

import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { waitFor } from "xstate";
import { z } from "zod";
import { mirrorSession } from "../../src/public/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { readUIMessages, uiMessages } from "../../src/ui/index.ts";
import { call, calling } from "../support/script.ts";
import { openSession, reopen, type OpenSession } from "../support/with-runtime.ts";
import { callIdentity } from "../../src/public/index.ts";

async function say({ session }: OpenSession, ...ids: readonly string[]): Promise<void> {
  for (const id of ids) await (await session.send(id, { id })).result;
}

const promptOf = async ({ session }: OpenSession): Promise<string> =>
  JSON.stringify((await session.view()).prompt.messages);

describe("a left branch", () => {
  it("does not use up the idempotency key of a payment that the new branch makes", async () => {
    const paid = new Set<string>();
    const pay = tool({
      inputSchema: z.object({ to: z.string() }),
      // As a payment service does: the same key again pays nothing.
      execute: (_, options) => {
        const { effectId } = callIdentity(options);
        if (paid.has(effectId)) return "paid before";
        paid.add(effectId);
        return "paid";
      },
    });
    const payment = calling(call("pay", "1", { to: "Ann" }));
    const model = scriptedModel([payment, "Done.", payment, "Done again.", payment, "Edited."]);
    const toolPolicies = { pay: { idempotent: true } };
    await using open = await openSession({ model, tools: { pay }, toolPolicies });
    await say(open, "a");
    await (
      await open.session.regenerate()
    ).result;
    await (
      await open.session.send("b", { replaces: "a" })
    ).result;
    expect(paid.size).toBe(3);
    expect(JSON.stringify(await open.session.view())).not.toContain("paid before");
  });

  it("is not entered between a call and its result, and a call that runs ends before it is left", async () => {
    const begun = Promise.withResolvers<void>();
    const finish = Promise.withResolvers<string>();
    const slow = tool({
      inputSchema: z.object({}),
      execute: async () => {
        begun.resolve();
        return await finish.promise;
      },
    });
    const model = scriptedModel([calling(call("slow", "1")), "Other."]);
    await using open = await openSession({ model, tools: { slow } });
    await open.session.send("a", { id: "a" });
    await begun.promise;
    const { effects } = await open.session.rewind({ beforeTurn: 1 });
    expect(effects).toMatchObject([{ toolName: "slow", status: "unknown" }]);
    const { position } = await open.session.view();
    // It answers on a branch that nobody is on any more.
    finish.resolve("late news");
    await say(open, "b");
    expect(await promptOf(open)).not.toContain("late news");
    const events = await open.events();
    expect(events.findIndex(({ type }) => type === "tool.unknown")).toBeLessThan(position);
    const called = events.find(({ type }) => type === "part.tool-call")?.position ?? 0;
    await expect(open.session.rewind({ to: called })).rejects.toMatchObject({
      code: "COMMAND_REFUSED",
    });
  });

  it("takes no late output of a client", async () => {
    const ask = tool({ inputSchema: z.object({}), outputSchema: z.string() });
    const model = scriptedModel([calling(call("ask", "1")), "Other."]);
    await using open = await openSession({ model, tools: { ask } });
    await open.session.send("a");
    const [request] = (await open.session.atRest()).outputRequests;
    await open.session.rewind({ beforeTurn: 1 });
    const waiting = (await open.session.view()).outputRequests.filter(
      ({ status }) => status === "waiting",
    );
    expect(waiting).toEqual([]);
    const late = open.session.answerCall(request?.requestId ?? "", { output: "late" });
    await expect(late).rejects.toMatchObject({ code: "COMMAND_REFUSED" });
    await say(open, "b");
    expect(await promptOf(open)).not.toContain("late");
  });

  it('counts among the replies to a message wherever it is counted from: "2 of 3" is no matter of a page', async () => {
    const model = scriptedModel(["One.", "Two.", "Three.", "Then."]);
    await using open = await openSession({ model });
    await say(open, "a");
    await (
      await open.session.regenerate()
    ).result;
    await (
      await open.session.regenerate()
    ).result;
    const second = (await open.session.branches())[1]?.id ?? 0;
    await open.session.checkout(second);
    await say(open, "b");
    const { initial, fold } = uiMessages({ session: "s" });
    const { messages, headId } = readUIMessages((await open.events()).reduce(fold, initial));
    const replies = messages.filter(({ parentId }) => parentId === "a");
    const shown = replies.findIndex(({ message }) =>
      messages.some(({ message: { id }, parentId }) => id === "b" && parentId === message.id),
    );
    expect(`${shown + 1} of ${replies.length}`).toBe("2 of 3");
    expect(messages.at(-1)?.message.id).toBe(headId);
    expect((await open.session.branches()).length).toBe(3);
  });

  it("is read at its positions as it was: at, diff, context, preview", async () => {
    const model = scriptedModel(["One.", "Left.", "Kept."]);
    await using open = await openSession({ model });
    await say(open, "a", "b");
    const { session } = open;
    const { position: left } = await session.view();
    const [view, figures] = [await session.at(left), await session.context({ position: left })];
    await session.rewind({ beforeTurn: 2 });
    await say(open, "c");
    await using again = await reopen(open, { model });
    const there = again.session;
    expect(await there.at(left)).toEqual(view);
    const { cost: _, spending: __, ...then } = figures;
    expect(await there.context({ position: left })).toMatchObject(then);
    expect(JSON.stringify((await there.preview({ position: left })).prompt)).toContain("Left.");
    const { position: now } = await there.view();
    const changes = JSON.stringify(await there.diff(left, now));
    expect(changes).toContain("Kept.");
    expect(changes).toContain("Left.");
  });
});

describe("commands in the same moment", () => {
  it("regenerate twice: one turn for one key, and no rewind within a turn without", async () => {
    const model = scriptedModel((_, index) => `Reply ${index}.`);
    await using open = await openSession({ model });
    const { session } = open;
    await say(open, "a");
    const same = { idempotencyKey: "k" };
    const [one, two] = await Promise.all([session.regenerate(same), session.regenerate(same)]);
    expect(await one.result).toEqual(await two.result);
    expect((await session.branches()).length).toBe(2);
    const others = await Promise.all(
      ["x", "y"].map((idempotencyKey) => session.regenerate({ idempotencyKey })),
    );
    for (const { result } of others) await result;
    const { turn } = await (await session.regenerate({ idempotencyKey: "z" })).result;
    expect(turn).toBe(5);
  });

  it("rewind twice from one head: the later one is stale", async () => {
    const model = scriptedModel(["One.", "Two.", "Three."]);
    await using open = await openSession({ model });
    await say(open, "a", "b", "c");
    const ask = { basedOn: { turn: 3 } };
    const answers = await Promise.allSettled([
      open.session.rewind({ beforeTurn: 3, ...ask }),
      open.session.rewind({ beforeTurn: 2, ...ask }),
    ]);
    expect(answers).toMatchObject([{ status: "fulfilled" }, { reason: { code: "STALE" } }]);
    expect((await open.session.branches()).length).toBe(2);
  });

  it("edit and send: each message is sent once, wherever it comes", async () => {
    const model = scriptedModel((_, index) => `Reply ${index}.`);
    await using open = await openSession({ model });
    const { session } = open;
    await say(open, "a");
    const turns = await Promise.all([
      session.send("b", { id: "b", replaces: "a" }),
      session.send("c", { id: "c" }),
      session.send("b", { id: "b", replaces: "a" }),
    ]);
    for (const { result } of turns) expect((await result).finishReason).toMatch(/stop|cancelled/);
    await session.idle();
    const queued = (await open.events()).flatMap((event) =>
      event.type === "message.queued" ? [event.data.id] : [],
    );
    expect(queued.toSorted()).toEqual(["a", "b", "c"]);
  });
});

describe("a rewound session", () => {
  it("is mirrored as it is, and obeys the mirror", async () => {
    const model = scriptedModel(["One.", "Two.", "Again."]);
    await using open = await openSession({ model });
    await say(open, "a", "b");
    const { session } = open;
    const stop = new AbortController();
    const errors: unknown[] = [];
    const actor = mirrorSession(session, {
      signal: stop.signal,
      onError: (error) => errors.push(error),
    });
    actor.send({ type: "rewind", args: [{ beforeTurn: 2 }] });
    await expect.poll(async () => (await session.branches()).length).toBe(2);
    actor.send({ type: "checkout", args: [1] });
    await expect.poll(async () => (await session.branches())[0]?.active).toBe(true);
    actor.send({ type: "regenerate", args: [{ idempotencyKey: "k" }] });
    await waitFor(actor, ({ context }) => context.turn === 3);
    await (
      await session.regenerate({ idempotencyKey: "k" })
    ).result;
    const { state } = await session.view();
    const mirrored = await waitFor(actor, (snapshot) => snapshot.matches({ idle: "waiting" }));
    expect(mirrored.context).toEqual(state.context);
    actor.send({ type: "checkout", args: [99] });
    await expect.poll(() => errors).toMatchObject([{ code: "COMMAND_REFUSED" }]);
    const ended = new Promise<void>((complete) => actor.subscribe({ complete }));
    stop.abort();
    await ended;
  });
});
