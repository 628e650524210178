/** Where calls of an agent's tool meet other clients, deletion and odd values. */

import { tool } from "ai";
import { expect, it, vi } from "vitest";
import { z } from "zod";
import { mcpServer } from "../../src/public/protocols.ts";
import { createRuntime } from "../../src/public/index.ts";
import { gate, scriptedModel } from "../../src/public/testing.ts";
import { eventually } from "../support/eventually.ts";
import { call, connected, revisions } from "./connected.ts";

vi.setConfig({ testTimeout: 15_000 });

it.each(revisions)(
  "%s: who only waits for a turn of others does not cancel it",
  async (revision) => {
    const held = gate();
    const model = scriptedModel([{ parts: [{ type: "text", deltas: ["One ", held, "word."] }] }]);
    await using runtime = await createRuntime({ memory: true, agent: { model } });
    const mcp = mcpServer(runtime);
    const session = await runtime.session("s");
    const turn = await session.send("Hi");
    await held.reached;
    const client = await connected(mcp, { revision });
    const left = new AbortController();
    const told: string[] = [];
    const onprogress = ({ message = "" }: { message?: string | undefined }): unknown =>
      told.push(message);
    const waiting = call(client, { session: "s" }, { signal: left.signal, onprogress });
    waiting.catch(() => {});
    await eventually(() => expect(told).toContain("Step 1"));
    left.abort();
    await expect(waiting).rejects.toThrow(/abort/i);
    for (let asked = 0; asked < 5; asked++) await client.listResources();
    held.open();
    expect(await turn.result).toMatchObject({ finishReason: "stop" });
    await mcp.close();
  },
);

it.each(["..", ".", "../sessions", "%2e%2e", "a/../b", "__proto__", "\u0000", "x".repeat(5000)])(
  "a session %j that is not there is refused, and nothing is made",
  async (name) => {
    await using runtime = await createRuntime({
      memory: true,
      agent: { model: scriptedModel([]) },
    });
    const mcp = mcpServer(runtime);
    const client = await connected(mcp);
    for (const input of [{ session: name }, { session: name, message: "Hi" }]) {
      const result = await call(client, input);
      expect(result.isError).toBe(true);
      expect(result.text).toMatch(/SESSION_NOT_FOUND|INVALID_INPUT/);
    }
    const uri = `turnlog://sessions/${encodeURIComponent(name)}`;
    await expect(client.readResource({ uri })).rejects.toMatchObject({ code: -32_602 });
    expect((await client.listResources()).resources).toEqual([]);
    await mcp.close();
  },
);

it("shows the messages that came in the middle of a turn in the resource", async () => {
  const held = gate();
  const noop = { type: "tool-call", toolCallId: "a", toolName: "noop", input: {} } as const;
  const model = scriptedModel([
    { parts: [{ type: "text", deltas: ["One.", held] }, noop] },
    "Two.",
  ]);
  const tools = { noop: tool({ inputSchema: z.object({}), execute: () => "done" }) };
  await using runtime = await createRuntime({ memory: true, agent: { model, tools } });
  const mcp = mcpServer(runtime);
  const session = await runtime.session("s");
  const turn = await session.send("Hi");
  await held.reached;
  await session.send("Hurry up", { delivery: "steer" });
  held.open();
  await turn.result;
  const client = await connected(mcp);
  const { contents } = await client.readResource({ uri: "turnlog://sessions/s" });
  expect(JSON.stringify(contents)).toContain("Hurry up");
  await mcp.close();
});

it("lets a client send its own headers with every request", async () => {
  await using runtime = await createRuntime({
    memory: true,
    agent: { model: scriptedModel(() => "Hello.") },
  });
  const mcp = mcpServer(runtime);
  const ask = async (message: string): Promise<string> => {
    const response = await mcp.fetch(
      new Request("http://localhost/mcp", {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          "idempotency-key": "always-the-same",
        },
        body: JSON.stringify({
          jsonrpc: "2.0",
          id: 1,
          method: "tools/call",
          params: { name: "agent", arguments: { message } },
        }),
      }),
    );
    return await response.text();
  };
  const sessionIn = (text: string): string | undefined => /Session: (\S+)/.exec(text)?.[1];
  const [first, second] = [await ask("One"), await ask("Two")];
  expect(first).toContain("Hello.");
  expect(second).toContain("Hello.");
  expect(sessionIn(second)).not.toBe(sessionIn(first));
  await mcp.close();
});

it("ends a call whose session is deleted meanwhile", async () => {
  const held = gate();
  const model = scriptedModel([{ parts: [{ type: "text", deltas: ["One ", held, "word."] }] }]);
  await using runtime = await createRuntime({ memory: true, agent: { model } });
  const mcp = mcpServer(runtime);
  const client = await connected(mcp);
  await runtime.session("s");
  const asked = call(client, { message: "Hi", session: "s" }).catch((error: unknown) => error);
  await held.reached;
  await runtime.delete("s", { cancel: true });
  expect(await asked).toMatchObject({ isError: true });
  await mcp.close();
});
