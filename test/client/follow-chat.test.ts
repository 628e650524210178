/** What a page that follows shows of other tabs, by the AI SDK's client and a real server. */

import { once } from "node:events";
import { setImmediate } from "node:timers/promises";
import { expect, it, onTestFinished, vi } from "vitest";
import { tool } from "ai";
import { z } from "zod";
import { gate, scriptedModel } from "../../src/models/index.ts";
import { chatTransport, createClient } from "../../src/public/client.ts";
import { createRuntime, type Agent } from "../../src/public/index.ts";
import { createServer } from "../../src/public/server.ts";
import { PlainChat } from "../server/plain-chat.ts";
import { eventually } from "../support/eventually.ts";
import { call, calling, saying } from "../support/script.ts";
import { problem } from "./scripted-server.ts";

/** Two tabs of one chat; the second one follows. */
async function tabs(agent: Agent) {
  const runtime = await createRuntime({ memory: true, agent });
  const server = createServer(runtime, { token: "secret" });
  const paths: string[] = [];
  const client = createClient({
    baseUrl: "http://localhost",
    token: "secret",
    fetch: (request) => {
      paths.push(new URL(request.url).pathname);
      return server.fetch(request);
    },
  });
  await client.createSession("c");
  const tab = (): PlainChat => new PlainChat({ id: "c", transport: chatTransport(client) });
  const [first, second] = [tab(), tab()];
  const leave = client.followChat(second);
  return {
    runtime,
    first,
    second,
    paths,
    async [Symbol.asyncDispose]() {
      leave();
      await runtime.close();
    },
  };
}

const textOf = ({ messages }: PlainChat): unknown =>
  messages.map(({ parts }) => parts.map((part) => ("text" in part ? part.text : "")).join(""));

it("a tab shows a message and its reply while another tab gets them, and sends on that basis", async () => {
  const more = gate();
  const model = scriptedModel([saying("Hel", more, "lo."), "Fine."]);
  await using open = await tabs({ model });
  const { first, second } = open;
  void first.sendMessage({ text: "Hi" });
  await eventually(() => expect(textOf(second)).toEqual(["Hi", "Hel"]));
  more.open();
  await eventually(() => {
    expect(textOf(second)).toEqual(["Hi", "Hello."]);
    expect(second.status).toBe("ready");
  });
  await second.sendMessage({ text: "How are you?" });
  expect([second.status, second.error]).toEqual(["ready", undefined]);
  expect(textOf(second)).toEqual(["Hi", "Hello.", "How are you?", "Fine."]);
});

it.each(["edits", "regenerates"] as const)(
  "a tab %s what it has loaded of another tab",
  async (act) => {
    await using open = await tabs({ model: scriptedModel(["A.", "B.", "C."]) });
    const { first, second } = open;
    await second.sendMessage({ text: "one" });
    await first.resumeStream();
    await first.sendMessage({ text: "two" });
    await eventually(() => {
      expect(textOf(second)).toEqual(["one", "A.", "two", "B."]);
      expect(second.status).toBe("ready");
    });
    const messageId = second.messages[2]?.id ?? "";
    if (act === "edits") await second.sendMessage({ text: "three", messageId });
    else await second.regenerate();
    expect(second.error).toBe(undefined);
    const asked = act === "edits" ? "three" : "two";
    expect(textOf(second)).toEqual(["one", "A.", asked, "C."]);
  },
);

it("a tab shows what another program queues into the turn of its own message", async () => {
  const more = gate();
  await using open = await tabs({ model: scriptedModel([saying("A", more, "."), "B."]) });
  const { runtime, second } = open;
  void second.sendMessage({ text: "one" });
  await eventually(() => expect(textOf(second)).toEqual(["one", "A"]));
  void second.sendMessage({ text: "two" });
  const session = await runtime.session("c");
  await eventually(async () => expect((await session.view()).queue).toHaveLength(1));
  await session.send("three");
  more.open();
  await eventually(() => {
    expect(textOf(second)).toEqual(["one", "A.", "two", "three", "B."]);
  });
});

it("a tab follows whatever the metadata of users' messages say about positions", async () => {
  await using open = await tabs({ model: scriptedModel(["A.", "B."]) });
  const { first, second } = open;
  await second.sendMessage({ text: "one", metadata: { position: 1e9, endPosition: 1e9 } });
  await first.resumeStream();
  await first.sendMessage({ text: "two" });
  await eventually(() => expect(textOf(second)).toEqual(["one", "A.", "two", "B."]));
});

it("a tab shows what another program withdraws, and leaves an answer that is not sent yet", async () => {
  const pay = tool({ inputSchema: z.object({}), execute: () => "paid" });
  const model = scriptedModel([calling(call("pay", "1"), call("pay", "2")), "Done."]);
  await using open = await tabs({ model, tools: { pay }, toolApproval: { pay: "user-approval" } });
  const { runtime, second } = open;
  await second.sendMessage({ text: "pay twice" });
  const { approvals } = await (await runtime.session("c")).view();
  await second.addToolApprovalResponse({ id: approvals[0]?.approvalId ?? "", approved: true });
  const session = await runtime.session("c");
  await session.setMetadata({ title: "Money" });
  await eventually(() => {
    expect(open.paths.filter((path) => path === "/api/chat/c/messages").length).toBeGreaterThan(0);
  });
  expect(JSON.stringify(second.messages)).toContain("approval-responded");
  await session.rewind({ beforeTurn: 1 });
  await eventually(() => expect(second.messages).toEqual([]));
});

it("a page that leaves does so quietly, and one that the server refuses is told why", async () => {
  const told = vi.spyOn(console, "error").mockImplementation(() => {});
  onTestFinished(() => told.mockRestore());
  const follow = (fetch: (request: Request) => Promise<Response>): (() => void) => {
    const client = createClient({ baseUrl: "http://localhost", fetch });
    return client.followChat(new PlainChat({ id: "c", transport: chatTransport(client) }));
  };
  const leave = follow(async ({ signal }) => {
    await once(signal, "abort");
    throw signal.reason;
  });
  await setImmediate();
  leave();
  await setImmediate();
  expect(told).not.toHaveBeenCalled();
  follow(async (request) => await problem(403, "FORBIDDEN")(request));
  await eventually(() => {
    expect(told.mock.calls).toMatchObject([[{ code: "FORBIDDEN" }]]);
  });
});
