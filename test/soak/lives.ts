/**
 * Lives of sessions as a service has them: people follow, leave and come back, approve after a while, write for
 * later, and requests are given up. Run by the test of what is kept, and for long by `heap-child.ts`.
 */

import { setTimeout as wait } from "node:timers/promises";
import type { LanguageModelV4, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { tool } from "ai";
import { z } from "zod";
import {
  agentTool,
  createRuntime,
  uiStream,
  type EventLog,
  type Runtime,
  type RuntimeOptions,
  type Session,
} from "../../src/public/index.ts";
import { createClient, type Client } from "../../src/public/client.ts";
import { serveNode, type NodeServer } from "../../src/public/server.ts";

const WORDS = 40;

/** Calls a tool if the person's newest words name one, and answers at length. */
function model(): LanguageModelV4 {
  return {
    specificationVersion: "v4",
    provider: "turnlog",
    modelId: "life",
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error("It is streamed.")),
    doStream: async ({ prompt }) => {
      const last = prompt.at(-1);
      const said = last?.role === "user" ? JSON.stringify(last.content) : "";
      const toolName = ["guarded", "helper"].find((name) => said.includes(name));
      const input = JSON.stringify(toolName === "helper" ? { task: "Look." } : {});
      const parts: LanguageModelV4StreamPart[] = [
        { type: "stream-start", warnings: [] },
        { type: "text-start", id: "0" },
        ...Array.from({ length: WORDS }, (_, index) => ({
          type: "text-delta" as const,
          id: "0",
          delta: `word ${index} `,
        })),
        { type: "text-end", id: "0" },
        ...(toolName === undefined
          ? []
          : [{ type: "tool-call" as const, toolCallId: "call", toolName, input }]),
        {
          type: "finish",
          finishReason:
            toolName === undefined
              ? { unified: "stop", raw: "stop" }
              : { unified: "tool-calls", raw: "tool-calls" },
          usage: {
            inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
            outputTokens: { total: WORDS, text: WORDS, reasoning: 0 },
          },
        },
      ];
      return { stream: ReadableStream.from(parts) };
    },
  };
}

export interface World extends AsyncDisposable {
  readonly runtime: Runtime;
  readonly server: NodeServer;
  /** Turns that have ended. */
  readonly turns: number;
  /** One more turn of a session, of the next kind in order, with all that continues beside it. */
  turn(session: string, kind: number): Promise<void>;
  /** A session with a turn of each kind. */
  life(session: string): Promise<void>;
  /** Resolves when no session is live. */
  allPassive(): Promise<void>;
}

const kinds = 6;

/** A runtime with a server, a client and a consumer, and signals that live as long as it does. */
export async function world(log: EventLog): Promise<World> {
  let live = (): number => 0;
  const meter: NonNullable<RuntimeOptions["meter"]> = {
    createCounter: () => ({ add: () => {} }),
    createHistogram: () => ({ record: () => {} }),
    createObservableGauge: (name) => ({
      addCallback: (look) => {
        if (name !== "turnlog.sessions.live") return;
        live = () => {
          let now = 0;
          look({ observe: (value) => void (now = value) });
          return now;
        };
      },
    }),
  };
  const helper = { model: model(), instructions: "Help." };
  const runtime = await createRuntime({
    log,
    graceMs: 20,
    idleAfterMs: 10,
    meter,
    limits: { session: { tokens: 1e9 } },
    agent: {
      model: model(),
      tools: {
        guarded: tool({ inputSchema: z.object({}), execute: () => "done" }),
        helper: agentTool({ agent: helper, description: "Helps." }),
      },
      toolApproval: { guarded: "user-approval" },
    },
  });
  const server = await serveNode(runtime, { port: 0 });
  const { token } = server;
  const client = createClient({ baseUrl: server.url, ...(token === undefined ? {} : { token }) });
  // The program's own, as one that ends with the process.
  const { signal } = new AbortController();
  const consumer = await runtime.consume("all", () => {}, { signal });
  let turns = 0;

  async function turn(id: string, kind: number): Promise<void> {
    const session = await runtime.session(id);
    const followed = follow(session, signal);
    await acts[kind % kinds]?.({ session, client, signal });
    turns++;
    await followed;
  }

  return {
    runtime,
    server,
    get turns() {
      return turns;
    },
    turn,
    async life(id) {
      for (let kind = 0; kind < kinds; kind++) await turn(id, kind);
    },
    async allPassive() {
      while (live() > 0) await wait(5);
    },
    async [Symbol.asyncDispose]() {
      await consumer.stop();
      await server.close("the test is over", 200);
      await runtime.close();
    },
  };
}

interface Act {
  readonly session: Session;
  readonly client: Client;
  readonly signal: AbortSignal;
}

const acts: readonly ((act: Act) => Promise<void>)[] = [
  async ({ session }) => {
    await (
      await session.send("Hello")
    ).result;
  },
  // An approval that is answered once the session has been passive.
  async ({ session }) => {
    const turn = await session.send("guarded");
    const { approvals } = await session.atRest();
    for (const { approvalId } of approvals) await session.approve(approvalId);
    await turn.result;
  },
  async ({ session }) => {
    await (
      await session.send("helper")
    ).result;
  },
  // A page that reads a reply, and another that leaves in the middle.
  async ({ session }) => {
    const turn = await session.send("Hello");
    const left = uiStream(session, { untilRest: false }).getReader();
    await left.read();
    await left.cancel();
    for await (const _ of uiStream(session, { messageId: turn.messageId })) void _;
    await turn.result;
  },
  // Requests of the client that go on until they are given up.
  async ({ session, client, signal }) => {
    const there = client.session(session.id);
    await there.send("Hello");
    const leaving = new AbortController();
    await there.view();
    for await (const { type } of there.events({ signal: leaving.signal }))
      if (type === "turn.started") leaving.abort();
    for await (const { type } of there.events({ signal })) if (type === "turn.ended") break;
  },
  // A message for later, and somebody who stops waiting.
  async ({ session }) => {
    const turn = await session.send("Later", { notBefore: new Date(Date.now() + 30) });
    const impatient = new AbortController();
    const waited = session.atRest({ signal: impatient.signal }).catch(() => {});
    impatient.abort();
    await waited;
    await turn.result;
  },
];

/** Follows with a signal that outlives it, and leaves at the end of a turn; another never begins to read. */
async function follow(session: Session, signal: AbortSignal): Promise<void> {
  const { position } = await session.view();
  const unread = session.events({ from: position + 1, signal });
  await unread[Symbol.asyncIterator]().return?.();
  for await (const { type } of session.events({ from: position + 1, signal }))
    if (type === "turn.ended") break;
}
