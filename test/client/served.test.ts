/** The client against the real server: each method finds its route, and `useChat`'s transport a whole reply. */

import { Chat } from "@ai-sdk/react";
import { readUIMessageStream, tool, type UIMessage } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { Agent } from "../../src/public/index.ts";
import { chatTransport, createClient, type Client } from "../../src/public/client.ts";
import { gate, scriptedModel } from "../../src/public/testing.ts";
import { readUIMessages, uiMessages } from "../../src/public/ui.ts";
import { serving, type Serving } from "../server/serving.ts";
import type { ScriptedStep } from "../../src/models/index.ts";

const pay = tool({
  inputSchema: z.object({ amount: z.number() }),
  execute: ({ amount }) => `paid ${amount}`,
});
const ask = tool({ inputSchema: z.object({}), outputSchema: z.number() });
const call = (toolName: string, input: { readonly amount?: number } = {}): ScriptedStep => ({
  parts: [{ type: "tool-call", toolCallId: toolName, toolName, input }],
});

async function served(...steps: readonly ScriptedStep[]): Promise<[Serving, Client]> {
  const model = scriptedModel(steps);
  const agent: Agent = { model, tools: { pay, ask }, toolApproval: { pay: "user-approval" } };
  const place = await serving(agent, { token: "secret" });
  return [place, createClient({ baseUrl: place.server.url, token: "secret" })];
}

describe("a client", () => {
  it("reads and commands a session by the server's routes", async () => {
    const [place, client] = await served(
      "One.",
      call("pay", { amount: 3 }),
      call("ask"),
      "Two.",
      "Three.",
      "Four.",
      "Five.",
      "Six.",
    );
    await using _ = place;
    const session = await client.createSession("s");
    const resting = async (): Promise<void> => {
      await (await place.runtime.session("s")).atRest();
    };
    expect(await session.send("First", { id: "a" })).toMatchObject({ messageId: "a" });
    await resting();
    await session.send("Pay", { id: "b" });
    await resting();
    const [waiting] = await client.approvals();
    const [approval] = waiting?.approvals ?? [];
    expect(await client.approve(approval?.approvalId ?? "", { reason: "fine" })).toMatchObject({
      status: "recorded",
    });
    await resting();
    const { approvals, outputRequests } = await session.approvals();
    expect(approvals).toMatchObject([{ answer: { approved: true, reason: "fine" } }]);
    await client.answerCall(outputRequests[0]?.requestId ?? "", { output: 7 });
    await resting();

    const { position } = await session.view();
    expect((await session.prompt()).messages.length).toBeGreaterThan(4);
    expect((await session.view(3)).position).toBe(3);
    expect((await session.diff(5, position)).after).toBe(position);
    expect((await session.context()).tokens).toBeGreaterThan(0);
    expect(await session.preview()).toHaveProperty("outcome");
    expect(await session.queue()).toEqual([]);
    expect((await session.messages()).messages.map(({ id }) => id)).toEqual([
      "a",
      "reply-1",
      "b",
      "reply-2",
    ]);
    expect(await session.messages({ limit: 1, before: "b" })).toMatchObject({
      messages: [{ id: "reply-1" }],
      more: true,
      position,
    });
    expect(await session.branches()).toHaveLength(1);
    expect(await session.cancel()).toMatchObject({ was: "idle" });
    expect((await session.rewind({ beforeMessage: "b" })).position).toBe(position + 1);
    expect((await session.checkout(1)).position).toBe(position + 2);
    await session.send("Third", { id: "c", basedOn: { messageId: "b" } });
    await resting();
    const fork = await session.fork({ id: "f", position });
    expect(fork.id).toBe("f");
    const rerun = await session.rerun({ id: "r" });
    expect(rerun.session.id).toBe("r");
    await (await place.runtime.session("r")).atRest();

    const again = await session.regenerate({ messageId: "c", idempotencyKey: "k" });
    expect(again).toMatchObject({ messageId: "c", replaced: { turns: [3] } });
    await resting();
    expect(await session.subAgents()).toMatchObject({ subAgents: [] });
    await session.setMetadata({ tenant: "acme" });
    const { sessions: found } = await client.sessions({ where: { tenant: "acme" } });
    expect(found).toMatchObject([{ session: "s", metadata: { tenant: "acme" } }]);
    const made = await client.createSession("m", { metadata: { tenant: "bolt" } });
    expect((await made.view()).summary.metadata).toEqual({ tenant: "bolt" });
    expect(await made.close("done")).toBe(undefined);
    expect((await made.view()).summary.status).toBe("closed");
    await made.delete();

    const { sessions, next } = await client.sessions({ limit: 2 });
    const rest = await client.sessions({ limit: 2, ...(next !== undefined && { after: next }) });
    expect([...sessions, ...rest.sessions].map((one) => one.session).toSorted()).toEqual([
      "f",
      "r",
      "s",
    ]);
    const file = await new Response(await session.export()).text();
    expect(file.split("\n").length).toBeGreaterThan(position);
    const path = `/api/sessions/${session.id}/blobs/${"0".repeat(64)}`;
    await expect(client.blob(path)).rejects.toMatchObject({ code: "BLOB_MISSING" });
    await session.delete({ forks: "copy" });
    await expect(session.view()).rejects.toMatchObject({ code: "SESSION_DELETED", session: "s" });
    await expect(client.session("none").view()).rejects.toMatchObject({
      code: "SESSION_NOT_FOUND",
    });
  });

  it("follows events, past and live, and moves and withdraws what waits", async () => {
    const paused = gate();
    const [place, client] = await served(
      { parts: [{ type: "text", deltas: ["One.", paused] }] },
      "Two.",
    );
    await using _ = place;
    const session = client.session("s");
    await session.send("First", { id: "a" });
    await session.send("Aside", { id: "b" });
    await session.send("Gone", { id: "c" });
    await session.reschedule("b", "steer");
    await session.reschedule("b", "follow-up");
    await session.withdraw("c");
    expect((await session.queue()).map(({ id }) => id)).toEqual(["b"]);
    const positions: number[] = [];
    for await (const { type, position } of session.events()) {
      positions.push(position);
      if (type === "message.withdrawn") paused.open();
      if (type === "turn.ended" && position > 20) break;
    }
    expect(positions).toEqual(positions.map((_, index) => index + 1));
  });

  it("without the token is refused", async () => {
    const [place] = await served();
    await using _ = place;
    const client = createClient({ baseUrl: place.server.url });
    await expect(client.sessions()).rejects.toMatchObject({ code: "UNAUTHORIZED" });
  });
});

describe("the transport", () => {
  it("gives the AI SDK's reader the message that the log says, with an approval between", async () => {
    const [place, client] = await served(call("pay", { amount: 3 }), "Paid.");
    await using _ = place;
    const transport = chatTransport(client);
    const asked: UIMessage = { id: "a", role: "user", parts: [{ type: "text", text: "Pay" }] };
    const request = { trigger: "submit-message", chatId: "s", abortSignal: undefined } as const;
    const first = await transport.sendMessages({
      ...request,
      messageId: undefined,
      messages: [asked],
    });
    const [waiting] = (await Array.fromAsync(readUIMessageStream({ stream: first }))).slice(-1);
    const approved: UIMessage = {
      ...(waiting ?? asked),
      parts: (waiting?.parts ?? []).map((part) =>
        "state" in part && part.state === "approval-requested"
          ? { ...part, state: "approval-responded", approval: { ...part.approval, approved: true } }
          : part,
      ),
    };
    const second = await transport.sendMessages({
      ...request,
      messageId: approved.id,
      messages: [asked, approved],
    });
    const stream = readUIMessageStream({ message: structuredClone(approved), stream: second });
    const [last] = (await Array.fromAsync(stream)).slice(-1);
    const { initial, fold } = uiMessages({ session: "s" });
    let state = initial;
    for await (const event of place.runtime.log.read("s")) state = fold(state, event);
    const logged = readUIMessages(state).messages.at(-1)?.message;
    expect(JSON.parse(JSON.stringify(last))).toEqual(JSON.parse(JSON.stringify(logged)));
    const again = await transport.reconnectToStream({ chatId: "s" });
    expect((await Array.fromAsync(again ?? [])).at(-1)).toMatchObject({ type: "finish" });
    expect(await transport.reconnectToStream({ chatId: "new" })).toBeNull();
  });
});

it("an edit by a cut list, as assistant-ui makes it, replaces the first message that was cut", async () => {
  const [place, client] = await served("One.", "Two.", "Three.", "Four.", "Five.", "Six.");
  await using _ = place;
  const transport = chatTransport(client, { cutIsEdit: true });
  const said = (messages: readonly UIMessage[]): readonly string[] =>
    messages.flatMap(({ parts }) => parts.map((part) => (part.type === "text" ? part.text : "")));
  const expectBoth = async ({ messages }: Chat<UIMessage>, ...texts: readonly string[]) => {
    const session = await client.session("s").messages();
    for (const shown of [messages, session.messages])
      expect(said(shown).filter((text) => text !== "")).toEqual(texts);
  };
  const chat = new Chat({ id: "s", transport });
  const cut = async (of: Chat<UIMessage>, count: number, text: string) => {
    of.messages = of.messages.slice(0, count);
    await of.sendMessage({ text });
  };
  await chat.sendMessage({ text: "a" });
  await chat.sendMessage({ text: "b" });
  await cut(chat, 2, "c");
  await expectBoth(chat, "a", "One.", "c", "Three.");
  chat.messages = chat.messages.slice(0, 3);
  await chat.regenerate();
  await expectBoth(chat, "a", "One.", "c", "Four.");

  const { messages } = await client.session("s").messages();
  const ofOther = createClient({ baseUrl: place.server.url, token: "secret" });
  const other = chatTransport(ofOther, { cutIsEdit: true });
  const loaded = new Chat<UIMessage>({ id: "s", messages, transport: other });
  await loaded.resumeStream();
  await cut(loaded, 0, "d");
  await expectBoth(loaded, "d", "Five.");
  // The first page does not show that.
  await cut(chat, 0, "e");
  expect(chat.error).toMatchObject({ code: "STALE" });
});
