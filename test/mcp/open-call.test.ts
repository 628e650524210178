/** One request of a call, which its server may interrupt with questions to a person. */

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { ElicitRequestParams, ElicitResult } from "@modelcontextprotocol/client";
import { describe, expect, it, onTestFinished } from "vitest";
import { asking, type AnsweredQuestion, type AskedPerson } from "../../src/agent/index.ts";
import { connect, type McpCall, type McpConnection } from "../../src/mcp/mcp-connection.ts";
import { DEFAULT_CALL_TIMEOUT_MS, DEFAULT_START_TIMEOUT_MS } from "../../src/mcp/mcp-options.ts";
import { equipAgent } from "../../src/mcp/offered-tools.ts";
import { OpenCall } from "../../src/mcp/open-call.ts";
import { scriptedModel } from "../../src/models/index.ts";

const result = { kind: "result", result: { content: [] } } as const;
const form = (message: string, properties: object = { day: { type: "string" } }) =>
  ({
    mode: "form",
    message,
    requestedSchema: { type: "object", properties },
  }) as ElicitRequestParams;
const nobody = { session: "s", onProgress: () => {} };
const attempt = (...answered: readonly AnsweredQuestion[]) => ({
  ...nobody,
  ask: asking(answered).ask,
});

/** A call of a server that does this with the person. */
function opened(serve: (ask: McpCall["onQuestion"]) => Promise<unknown>): OpenCall {
  const connection = {
    call: async ({ onQuestion }: McpCall) => {
      await serve(onQuestion);
      return result;
    },
  } as unknown as McpConnection;
  return new OpenCall("own", connection, "book", {}, attempt());
}

/** The question with which an attempt ends. */
async function questionOf(open: OpenCall, ...answered: readonly AnsweredQuestion[]) {
  const ended = await open.answer(attempt(...answered)).catch((by: unknown) => by);
  return (ended as AskedPerson).question;
}

describe("a call whose server asks a person", () => {
  it("is asked all questions, also two at once, and each gets its answer once", async () => {
    const said: ElicitResult[] = [];
    const open = opened(async (ask) => {
      said.push(...(await Promise.all([ask(form("A")), ask(form("B"))])), await ask(form("A")));
    });
    const answers: AnsweredQuestion[] = [];
    for (const day of ["Mon", "Tue", "Wed"]) {
      const question = await questionOf(open, ...answers);
      answers.push({ question, answer: { content: { day } } });
    }
    expect(answers.map(({ question }) => "message" in question && question.message)).toEqual([
      "A",
      "B",
      "A",
    ]);
    expect(await open.answer(attempt(...answers))).toBe(result);
    expect(said.map(({ content }) => content)).toEqual([
      { day: "Mon" },
      { day: "Tue" },
      { day: "Wed" },
    ]);
  });

  it("gets plain values only, and a form without patterns and other fields", async () => {
    const said: ElicitResult[] = [];
    const properties = { day: { type: "string", pattern: "^(a+)+$" } };
    const open = opened(async (ask) => said.push(await ask(form("A", properties))));
    const question = await questionOf(open);
    expect(question).toMatchObject({
      schema: { properties: { day: { type: "string" } }, additionalProperties: false },
    });
    expect(JSON.stringify(question)).not.toContain("pattern");
    const answer = { content: { day: "Mon", more: { a: 1 } } };
    expect(await open.answer(attempt({ question, answer }))).toBe(result);
    expect(said).toEqual([{ action: "accept", content: { day: "Mon" } }]);
  });

  it.each<[string, ElicitRequestParams]>([
    [
      "an address that is no web address",
      { mode: "url", message: "Go.", url: "javascript:alert(1)", elicitationId: "1" },
    ],
    ["a question that is too long", form("x".repeat(70_000))],
  ])("is told that nobody answers %s", async (_, question) => {
    const said: ElicitResult[] = [];
    const open = opened(async (ask) => said.push(await ask(question)));
    expect(await open.answer()).toBe(result);
    expect(said).toEqual([{ action: "cancel" }]);
  });

  it("is told so when nobody will answer any more", async () => {
    const said: ElicitResult[] = [];
    const open = opened(async (ask) => said.push(await ask(form("A"))));
    await questionOf(open);
    open.giveUp();
    expect(await open.answer()).toBe(result);
    expect(said).toEqual([{ action: "cancel" }]);
  });
});

it("a call of a fork has the effect of its origin, and is a request of its own", async () => {
  const say = { name: "own__say", server: "own", tool: "say", inputSchema: { type: "object" } };
  const ids: unknown[] = [];
  const { agent } = await equipAgent(
    { model: scriptedModel([]) },
    { tools: [say], missing: [] },
    async (_, __, running) => ids.push(running?.id),
  );
  for (const session of ["origin", "fork", "fork"]) {
    const options = { toolCallId: "1", messages: [], turnlog: { session, effectId: "origin/1/1" } };
    await agent.tools?.["own__say"]?.execute?.({}, { ...options, context: {} });
  }
  expect(ids[0]).not.toBe(ids[1]);
  expect(ids[1]).toBe(ids[2]);
});

it("a start that is no longer needed ends at once, whatever its server does", async () => {
  const server = createServer(() => {}).listen(0, "127.0.0.1");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const closing = new AbortController();
  const started = connect({
    server: { url: `http://127.0.0.1:${port}` },
    account: undefined,
    login: undefined,
    timeoutMs: 4000,
    signal: closing.signal,
    onEnd: () => {},
    onToolsChanged: () => {},
  });
  closing.abort(new Error("It is closed."));
  await expect(started).rejects.toThrow("It is closed.");
});

it("a start and a call are waited for as long as the options say", () => {
  expect([DEFAULT_START_TIMEOUT_MS, DEFAULT_CALL_TIMEOUT_MS]).toEqual([30_000, 60_000]);
});
