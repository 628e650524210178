/** A client that comes back gets its run from the start, then live: at any event, on any node, and after a kill. */

import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { tool } from "ai";
import { afterAll, expect, it, vi } from "vitest";
import { z } from "zod";
import { gate, scriptedModel } from "../../src/models/index.ts";
import { createRuntime, type Agent } from "../../src/public/index.ts";
import { openPostgresLog } from "../../src/public/postgres.ts";
import { createServer } from "../../src/public/server.ts";
import { cleanEnvironment } from "../cli/command-line.ts";
import { bundled } from "../support/bundled.ts";
import { eventually } from "../support/eventually.ts";
import { startPglite } from "../support/postgres-server.ts";
import { all, patience } from "../support/runs.ts";
import { call, calling } from "../support/script.ts";
import { pageOf, posted, user, type Served } from "./pages.ts";

vi.setConfig({ testTimeout: patience });

const database = await startPglite();
afterAll(() => database[Symbol.asyncDispose]());
let schemas = 0;

interface Nodes extends AsyncDisposable {
  readonly one: Served;
  readonly other: Served;
}

/** Two processes, as far as a log can tell. */
async function twoNodes(agent: Agent): Promise<Nodes> {
  const schema = `a${schemas++}`;
  const { connectionString, connections } = database;
  const open = async () => {
    const log = await openPostgresLog({ connectionString, connections, schema });
    const runtime = await createRuntime({ log, agent });
    const { fetch } = createServer(runtime, { token: "secret" });
    const close = async (): Promise<void> => {
      await runtime.close();
      await log.close();
    };
    return { served: { fetch, token: "secret" }, close };
  };
  const [one, other] = [await open(), await open()];
  const all = async (): Promise<void> => {
    await other.close();
    await one.close();
  };
  return { one: one.served, other: other.served, [Symbol.asyncDispose]: all };
}

it("at every event, on the same node and on another", async () => {
  const down = Object.assign(new Error("Overloaded"), { statusCode: 529, isRetryable: true });
  const agent: Agent = {
    model: scriptedModel([
      {
        parts: [
          { type: "reasoning", deltas: ["So ", "so."] },
          { type: "text", deltas: ["Let me ", "look."] },
          call("look", "c", { at: 1 }),
        ],
      },
      {
        parts: [
          { type: "reasoning", deltas: ["Oh."] },
          { type: "text", deltas: ["It is"] },
          { type: "error", error: down },
        ],
      },
      { parts: [{ type: "text", deltas: ["It was ", "dark."] }] },
    ]),
    tools: { look: tool({ inputSchema: z.object({ at: z.int() }), execute: () => "dark" }) },
    maxRetries: 1,
  };
  await using nodes = await twoNodes(agent);
  const answer = await posted(nodes.one, { messages: [user("Look.")] });
  const events = (await answer.text()).split("\n\n").filter((event) => event !== "");
  expect(events.length).toBeGreaterThan(25);
  const whole = pageOf(nodes.one);
  await whole.connectAgent();
  expect(whole.said).toEqual([
    "Look.",
    "So so.",
    "Let me look.",
    undefined,
    "dark",
    "It was dark.",
  ]);
  for (let count = 0; count <= events.length; count += all ? 1 : 3) {
    const cut = `${events.slice(0, count).join("\n\n")}\n\n`;
    const page = pageOf(count % 2 === 0 ? nodes.one : nodes.other);
    const { fetch } = page;
    const headers = { "content-type": "text/event-stream" };
    page.fetch = () => Promise.resolve(new Response(cut, { headers }));
    page.addMessage({ id: "Look.", role: "user", content: "Look." });
    await page.runAgent();
    page.fetch = fetch;
    await page.connectAgent();
    expect({ count, ...page.has }).toEqual({ count, ...whole.has });
  }
});

it("in the middle of a word, while another node runs the turn, and answers there", async () => {
  const paused = gate();
  const agent: Agent = {
    model: scriptedModel([
      calling({ type: "text", deltas: ["Pa", paused, "y?"] }, call("pay", "p")),
      "Paid.",
    ]),
    tools: { pay: tool({ inputSchema: z.object({}), execute: () => "paid" }) },
    toolApproval: { pay: "user-approval" },
  };
  await using nodes = await twoNodes(agent);
  const [page, elsewhere] = [pageOf(nodes.one), pageOf(nodes.other)];
  const running = page.say("Pay.");
  await eventually(() => {
    expect(page.said).toContain("Pa");
  });
  const followed = elsewhere.connectAgent();
  await eventually(() => {
    expect(elsewhere.said).toContain("Pa");
  });
  paused.open();
  await Promise.all([running, followed]);
  expect(elsewhere.has).toEqual(page.has);
  const [asked] = elsewhere.pendingInterrupts;
  const interruptId = asked?.id ?? "";
  await elsewhere.runAgent({
    resume: [{ interruptId, status: "resolved", payload: { approved: true } }],
  });
  expect(elsewhere.said).toEqual(["Pay.", "Pay?", undefined, "paid", "Paid."]);
});

/** A lost connection ends the stream: the client rejects where nobody can catch it. */
async function fetchUntilLost(url: string, init: RequestInit): Promise<Response> {
  const { body, headers } = await fetch(url, init);
  const reader: ReadableStreamDefaultReader<Uint8Array> | undefined = body?.getReader();
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const next = await reader?.read().catch(() => undefined);
      if (next?.done === false) controller.enqueue(next.value);
      else controller.close();
    },
  });
  return new Response(stream, { headers });
}

const running = new Set<ChildProcess>();
const root = await mkdtemp(join(tmpdir(), "turnlog-ag-ui-"));
afterAll(async () => {
  for (const child of running) child.kill("SIGKILL");
  await rm(root, { recursive: true, force: true });
});

it("after its server was killed in the middle of a word: nothing is lost, and nothing comes twice", async () => {
  const program = await bundled(new URL("server-child.ts", import.meta.url), join(root, "child"));
  const start = async (port: string): Promise<{ child: ChildProcess; url: string }> => {
    const args = [join(root, "store"), port];
    const child = fork(program, args, { env: cleanEnvironment({}) });
    running.add(child);
    const [url] = z.tuple([z.string()]).parse((await once(child, "message")).slice(0, 1));
    return { child, url };
  };
  const { child, url } = await start("0");
  const page = pageOf({ url, token: "secret" });
  page.fetch = fetchUntilLost;
  const counting = page.say("Count.");
  await eventually(() => {
    expect(page.said.at(-1)).toBe("w0 w1 w2 w3 w4 w5 w6 w");
  });
  child.kill("SIGKILL");
  await once(child, "exit");
  await counting;
  expect(page.types.at(-1)).toBe("TEXT_MESSAGE_CONTENT");
  await start(new URL(url).port);
  await page.connectAgent();
  const texts = page.messages.map(({ role, content }) => (role === "assistant" ? content : ""));
  expect(texts.join("")).toBe(Array.from({ length: 20 }, (_, index) => `w${index} `).join(""));
  expect(page.types.at(-1)).toBe("RUN_FINISHED");
  const fresh = pageOf({ url, token: "secret" });
  await fresh.connectAgent();
  expect(fresh.has).toEqual(page.has);
});
