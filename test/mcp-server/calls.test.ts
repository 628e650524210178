/** A call of an agent's tool: its turn, its session, and what happens to both when a client cancels, leaves or calls again. */

import { describe, expect, it } from "vitest";
import { mcpServer } from "../../src/public/protocols.ts";
import { createRuntime, type Agent, type Runtime } from "../../src/public/index.ts";
import { gate, scriptedModel } from "../../src/public/testing.ts";
import { eventually } from "../support/eventually.ts";
import { call, connected, revisions, type Revision } from "./connected.ts";
import type { McpServerOptions } from "../../src/mcp-server/index.ts";

interface Served extends AsyncDisposable {
  readonly runtime: Runtime;
  readonly client: () => ReturnType<typeof connected>;
}

async function served(
  agent: Agent,
  revision?: Revision,
  options?: McpServerOptions,
): Promise<Served> {
  const runtime = await createRuntime({ memory: true, agent });
  const mcp = mcpServer(runtime, options);
  return {
    runtime,
    client: async () => await connected(mcp, revision === undefined ? {} : { revision }),
    [Symbol.asyncDispose]: async () => {
      await mcp.close();
      await runtime.close();
    },
  };
}

async function turnsOf(runtime: Runtime, id: string): Promise<readonly string[]> {
  const { history } = await (await runtime.session(id, { createIfMissing: false })).view();
  return history.flatMap((item) => (item.kind === "turn-end" ? [item.reason] : []));
}

describe.each(revisions)("revision %s", (revision) => {
  it("continues with the conversation of the session that a result names", async () => {
    const model = scriptedModel(["Hello.", "Hello again."]);
    await using one = await served({ model }, revision);
    const client = await one.client();
    const first = await call(client, { message: "Hi" });
    expect(first).toMatchObject({ status: "stop", reply: "Hello.", isError: false });
    expect(first.text).toBe(`Hello.\nSession: ${first.session} (stop)`);
    const second = await call(client, { message: "Hi", session: first.session });
    expect(second).toMatchObject({ session: first.session, reply: "Hello again." });
    expect(model.calls).toHaveLength(2);
  });

  it("reports its session first, then steps and text", async () => {
    await using one = await served({ model: scriptedModel(["a".repeat(250)]) }, revision);
    const reports: (string | undefined)[] = [];
    const onprogress = ({ message }: { message?: string | undefined }): unknown =>
      reports.push(message);
    const { session } = await call(await one.client(), { message: "Hi" }, { onprogress });
    expect(reports).toEqual([`Session ${session}`, "Step 1", "a".repeat(200)]);
  });

  it("joins the turn that runs, of the same message and of none: nothing is asked twice", async () => {
    const held = gate();
    const model = scriptedModel([{ parts: [{ type: "text", deltas: ["One ", held, "word."] }] }]);
    await using one = await served({ model }, revision);
    const [client, other] = [await one.client(), await one.client()];
    let session = "";
    const onprogress = ({ message = "" }: { message?: string | undefined }): void => {
      session ||= message.replace("Session ", "");
    };
    const first = call(client, { message: "Hi" }, { onprogress });
    await held.reached;
    const again = [call(other, { message: "Hi", session }), call(other, { session })];
    await eventually(async () => {
      const { queue } = await (await one.runtime.session(session)).view();
      expect(queue).toEqual([]);
    });
    held.open();
    for (const result of await Promise.all([first, ...again]))
      expect(result).toMatchObject({ session, reply: "One word." });
    expect(await turnsOf(one.runtime, session)).toEqual(["stop"]);
    expect(await call(other, { session })).toMatchObject({ reply: "One word." });
    expect(model.calls).toHaveLength(1);
  });

  it("waits for the turn that runs with another message", async () => {
    const held = gate();
    const model = scriptedModel([
      "Ready.",
      { parts: [{ type: "text", deltas: [held, "First."] }] },
      "Second.",
    ]);
    await using one = await served({ model }, revision);
    const client = await one.client();
    const { session } = await call(client, { message: "Hi" });
    const first = call(client, { message: "One", session });
    await held.reached;
    const second = call(client, { message: "Two", session });
    await eventually(async () =>
      expect((await (await one.runtime.session(session)).view()).queue).toHaveLength(1),
    );
    held.open();
    expect([await first, await second].map(({ reply }) => reply)).toEqual(["First.", "Second."]);
  });

  it("cancels the turn with the call, and withdraws a message that still waits", async () => {
    const held = gate();
    const model = scriptedModel(["Ready.", { parts: [{ type: "text", deltas: ["One ", held] }] }]);
    await using one = await served({ model }, revision);
    const client = await one.client();
    const { session } = await call(client, { message: "Hi" });
    const [running, waiting] = [new AbortController(), new AbortController()];
    const first = call(client, { message: "One", session }, { signal: running.signal });
    await held.reached;
    const second = call(client, { message: "Two", session }, { signal: waiting.signal });
    const live = await one.runtime.session(session);
    await eventually(async () => expect((await live.view()).queue).toHaveLength(1));
    waiting.abort();
    await expect(second).rejects.toThrow("aborted");
    await eventually(async () => expect((await live.view()).queue).toEqual([]));
    expect(await turnsOf(one.runtime, session)).toEqual(["stop"]);
    running.abort();
    await expect(first).rejects.toThrow("aborted");
    await eventually(async () =>
      expect(await turnsOf(one.runtime, session)).toEqual(["stop", "cancelled"]),
    );
    // What is over is not cancelled.
    running.abort();
    expect(await call(client, { session })).toMatchObject({ status: "cancelled", reply: "One " });
  });

  it("continues with the next call when the one before is cancelled", async () => {
    const held = gate();
    const model = scriptedModel(["Ready.", { parts: [{ type: "text", deltas: [held] }] }, "Two."]);
    await using one = await served({ model }, revision);
    const client = await one.client();
    const { session } = await call(client, { message: "Hi" });
    const left = new AbortController();
    const first = call(client, { message: "One", session }, { signal: left.signal });
    await held.reached;
    const second = call(client, { message: "Two", session });
    const live = await one.runtime.session(session);
    await eventually(async () => expect((await live.view()).queue).toHaveLength(1));
    left.abort();
    await expect(first).rejects.toThrow("aborted");
    expect(await second).toMatchObject({ status: "stop", reply: "Two." });
  });

  it("leaves the turn alone when the connection is lost: the next client has its reply", async () => {
    const held = gate();
    const model = scriptedModel(["Ready.", { parts: [{ type: "text", deltas: [held, "Done."] }] }]);
    await using one = await served({ model }, revision);
    const client = await one.client();
    const { session } = await call(client, { message: "Hi" });
    const lost = call(client, { message: "Go", session });
    await held.reached;
    await client.close();
    await expect(lost).rejects.toThrow("Connection closed");
    const other = await one.client();
    // Whatever the lost call does is asked of the server before this.
    for (let asked = 0; asked < 5; asked++) await other.listResources();
    const again = call(other, { message: "Go", session });
    held.open();
    expect(await again).toMatchObject({ status: "stop", reply: "Done." });
    expect(model.calls).toHaveLength(2);
  });
});

it("gives a reply that is JSON as data", async () => {
  await using one = await served({ model: scriptedModel(['{"open":2}', "{no json"]) });
  const client = await one.client();
  expect(await call(client, { message: "Count" })).toMatchObject({ output: { open: 2 } });
  expect((await call(client, { message: "Count" })).output).toBeUndefined();
});

it("gives a failure as an error, with its session", async () => {
  const model = scriptedModel([{ failure: new Error("no such model") }]);
  await using one = await served({ model, maxRetries: 0 });
  const result = await call(await one.client(), { message: "Hi" });
  expect(result).toMatchObject({ isError: true, status: "failed" });
  expect(result.text).toContain("no such model");
  expect(await turnsOf(one.runtime, result.session)).toEqual(["failed"]);
});

it("says that a person has to allow more spending, also to a user", async () => {
  const agent = { model: scriptedModel(["Hello.", "Hello again."]) };
  const limits = { session: { tokens: 10, hold: true } } as const;
  await using runtime = await createRuntime({ memory: true, agent, limits });
  const mcp = mcpServer(runtime, { authorize: () => ({ actor: "ann" }) });
  const client = await connected(mcp);
  const { session } = await call(client, { message: "Hi" });
  const waiting = await call(client, { message: "Hi", session });
  expect(waiting).toMatchObject({ status: "waiting", waitsFor: ["a person who lets it continue"] });
  await (await runtime.session(session)).allow({ tokens: 1000 });
  expect(await call(client, { session })).toMatchObject({ reply: "Hello again." });
  await mcp.close();
});

it("offers each agent that is named, and begins its sessions with it", async () => {
  const agents = {
    clerk: { model: scriptedModel(["Two orders.", "Three."]) },
    cook: { model: scriptedModel(["Soup."]) },
    secret: { model: scriptedModel([]) },
  };
  await using runtime = await createRuntime({ memory: true, agents });
  const mcp = mcpServer(runtime, { agents: { clerk: "Knows orders.", cook: "Cooks." } });
  const client = await connected(mcp);
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(["clerk", "cook"]);
  const { session } = await call(client, { message: "Hi" }, { tool: "clerk" });
  expect(await call(client, { message: "Hi" }, { tool: "cook" })).toMatchObject({ reply: "Soup." });
  const wrong = await call(client, { message: "Hi", session }, { tool: "cook" });
  expect(wrong.isError).toBe(true);
  expect(await turnsOf(runtime, session)).toEqual(["stop"]);
  await mcp.close();
});

it("refuses a name that is no text", async () => {
  await using runtime = await createRuntime({ memory: true, agent: { model: scriptedModel([]) } });
  // @ts-expect-error: a name is a text
  expect(() => mcpServer(runtime, { name: 3 })).toThrow("`options.name`");
});
