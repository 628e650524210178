/**
 * Going back where messages were queued: what is named is undone, and nothing else. The page, the history and the
 * prompt are compared by the laws that each session is held against when it closes.
 */

import { describe, expect, it } from "vitest";
import {
  gate,
  scriptedModel,
  type ScriptedModel,
  type ScriptedStep,
} from "../../src/models/index.ts";
import { readUIMessages, uiMessages } from "../../src/ui/index.ts";
import { openSession, reopen, type OpenSession } from "../support/with-runtime.ts";

/** The text of each message of the next prompt. */
async function prompted({ session }: OpenSession): Promise<readonly string[]> {
  return (await session.view()).prompt.messages.map(textOf);
}

/** The text of each message of the last request. */
function asked(model: ScriptedModel): readonly string[] {
  return (model.calls.at(-1)?.prompt ?? []).map(textOf);
}

function textOf({ content }: { readonly content: unknown }): string {
  if (typeof content === "string") return content;
  return Array.isArray(content) ? content.map((part: { text?: string }) => part.text).join() : "";
}

async function shown(open: OpenSession): Promise<readonly string[]> {
  const { initial, fold } = uiMessages({ session: "s" });
  const { headId, messages } = readUIMessages((await open.events()).reduce(fold, initial));
  const ids: string[] = [];
  for (let id = headId; id !== undefined;) {
    ids.unshift(id);
    id = messages.find(({ message }) => message.id === id)?.parentId;
  }
  return ids;
}

/** A reply that stops at a gate after its first delta. */
function halting(held: ReturnType<typeof gate>, first: string, rest: string): ScriptedStep {
  return { parts: [{ type: "text", deltas: [first, held, rest] }] };
}

/** Sends a message, the others once its reply has begun, and lets that end. */
async function talk(
  open: OpenSession,
  held: ReturnType<typeof gate>,
  ...[first, ...queued]: readonly [string, ...string[]]
): Promise<void> {
  const turns = [await open.session.send(first, { id: first })];
  await held.reached;
  for (const id of queued) turns.push(await open.session.send(id, { id }));
  held.open();
  for (const turn of turns) await turn.result;
}

describe("a turn that began from the queue", () => {
  it("is undone alone: the turn before it stays", async () => {
    const held = gate();
    await using open = await openSession({
      model: scriptedModel([halting(held, "Ro", "me."), "Pasta."]),
    });
    await talk(open, held, "where", "what");
    const { turns } = await open.session.rewind({ beforeTurn: 2 });
    expect(turns).toEqual([2]);
    expect(await prompted(open)).toEqual(["where", "Rome."]);
    expect(await shown(open)).toEqual(["where", "reply-1"]);
    expect((await open.session.view()).queue).toEqual([]);
  });

  it("is undone by each of its messages, with those that it answered together", async () => {
    const held = gate();
    await using open = await openSession({
      model: scriptedModel([halting(held, "Ro", "me."), "Both."]),
    });
    await talk(open, held, "where", "what", "when");
    const { turns } = await open.session.rewind({ beforeMessage: "when" });
    expect(turns).toEqual([2]);
    expect(await prompted(open)).toEqual(["where", "Rome."]);
  });

  it("is regenerated and edited alone", async () => {
    const held = gate();
    const model = scriptedModel([halting(held, "Ro", "me."), "Pasta.", "Pizza.", "Wine."]);
    await using open = await openSession({ model });
    await talk(open, held, "where", "what");
    const again = await open.session.regenerate({ messageId: "what" });
    expect((await again.replaced)?.turns).toEqual([2]);
    await again.result;
    expect(asked(model)).toEqual(["where", "Rome.", "what"]);
    const edited = await open.session.send("drink", { id: "drink", replaces: "what" });
    expect((await edited.replaced)?.turns).toEqual([3]);
    await edited.result;
    expect(asked(model)).toEqual(["where", "Rome.", "drink"]);
    expect(await shown(open)).toEqual(["where", "reply-1", "drink", "reply-4"]);
  });

  it("is returned to by a checkout, byte for byte, also by another process", async () => {
    const held = gate();
    const model = scriptedModel([halting(held, "Ro", "me."), "Pasta.", "Other."]);
    await using open = await openSession({ model });
    await talk(open, held, "where", "what");
    const before = await prompted(open);
    await open.session.rewind({ beforeTurn: 2 });
    await (
      await open.session.send("else")
    ).result;
    const again = await reopen(open, { model });
    await again.session.checkout(1);
    expect(await prompted(again)).toEqual(before);
    expect(await shown(again)).toEqual(["where", "reply-1", "what", "reply-2"]);
    await again.runtime.close();
  });

  it("is undone while it runs, and a message that waits behind it keeps waiting", async () => {
    const held = gate();
    const model = scriptedModel(["Rome.", halting(held, "Pas", "ta."), "Later."]);
    await using open = await openSession({ model });
    await (
      await open.session.send("where", { id: "where" })
    ).result;
    await open.session.send("what", { id: "what" });
    await held.reached;
    await open.session.send("when", { id: "when", delivery: "steer" });
    await open.session.rewind({ beforeMessage: "what" });
    expect(await prompted(open)).toEqual(["where", "Rome."]);
    expect((await open.session.view()).queue).toMatchObject([{ id: "when" }]);
    await open.session.resume();
    await (
      await open.session.turn("when")
    ).result;
    expect(asked(model)).toEqual(["where", "Rome.", "when"]);
  });
});

describe("messages that wait", () => {
  it("are answered after an edited message, not with it", async () => {
    const held = gate();
    const model = scriptedModel([halting(held, "Ro", "me."), "Oslo.", "Fish."]);
    await using open = await openSession({ model });
    await open.session.send("where", { id: "where" });
    await held.reached;
    await open.session.send("what", { id: "what", delivery: "steer" });
    await open.session.cancel();
    const edited = await open.session.send("cold", { id: "cold", replaces: "where" });
    expect((await edited.result).text).toBe("Oslo.");
    await (
      await open.session.turn("what")
    ).result;
    expect(model.calls.slice(1).map(({ prompt }) => prompt.map(textOf))).toEqual([
      ["cold"],
      ["cold", "Oslo.", "what"],
    ]);
  });

  it("are answered after a regenerated message, not with it", async () => {
    const held = gate();
    const model = scriptedModel([halting(held, "Ro", "me."), "Oslo.", "Fish."]);
    await using open = await openSession({ model });
    await open.session.send("where", { id: "where" });
    await held.reached;
    await open.session.send("what", { id: "what" });
    await (
      await open.session.regenerate()
    ).result;
    await (
      await open.session.turn("what")
    ).result;
    expect(model.calls.slice(1).map(({ prompt }) => prompt.map(textOf))).toEqual([
      ["where"],
      ["where", "Oslo.", "what"],
    ]);
  });
});

describe("a message that runs again", () => {
  it("keeps its place in the queue's record, and its turn is the new one", async () => {
    await using open = await openSession({ model: scriptedModel(["One.", "Two."]) });
    const first = await open.session.send("a", { id: "a" });
    await first.result;
    const again = await open.session.regenerate();
    expect(again.queuePosition).toBe(first.queuePosition);
    expect((await again.result).text).toBe("Two.");
    const events = await Array.fromAsync(again);
    expect(events.at(-1)).toMatchObject({ type: "turn.ended", data: { turn: 2 } });
    expect((await open.session.turn("a")).queuePosition).toBe(first.queuePosition);
  });

  it("follows the messages that remain when another one of its turn is edited", async () => {
    const held = gate();
    const model = scriptedModel([halting(held, "Ro", "me."), "Both.", "New.", "Newer."]);
    await using open = await openSession({ model });
    await talk(open, held, "where", "what", "when");
    const edited = await open.session.send("which", { id: "which", replaces: "what" });
    await edited.result;
    expect(asked(model)).toEqual(["where", "Rome.", "when", "which"]);
    expect(await shown(open)).toEqual(["where", "reply-1", "when", "which", "reply-3"]);
    await open.session.checkout(1);
    expect(await shown(open)).toEqual(["where", "reply-1", "what", "when", "reply-2"]);
  });
});
