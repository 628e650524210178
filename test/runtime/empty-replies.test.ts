/** What answers with success and is no model: real clients of providers against a server of our own. */

import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import type { LanguageModel } from "ai";
import { expect, it } from "vitest";
import { createRuntime, openMemoryLog } from "../../src/public/index.ts";
import { emptyReplyKind } from "../../src/runtime/model/provider-failure.ts";
import type { Timer } from "../../src/shared/index.ts";
import type { SessionEvent } from "../../src/events/index.ts";
import { replay } from "../../src/replay/index.ts";
import { logProblems } from "../support/log-problems.ts";

interface Server extends AsyncDisposable {
  readonly url: string;
  readonly asked: () => number;
}

async function serverOf(answer: (response: ServerResponse, call: number) => void): Promise<Server> {
  let calls = 0;
  const server = createServer((request, response) => {
    request.resume();
    answer(response, ++calls);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    asked: () => calls,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** Back-offs are over at once; no other limit is reached. */
const retriesAtOnce: Timer = (_, due, { kind }) => {
  if (kind === "retry") queueMicrotask(due);
  return { [Symbol.dispose]: () => {} };
};

const apiKey = "key";
const clients: Readonly<Record<string, (baseURL: string) => LanguageModel>> = {
  "openai.chat": (baseURL) => createOpenAI({ baseURL, apiKey }).chat("m"),
  "openai.responses": (baseURL) => createOpenAI({ baseURL, apiKey }).responses("m"),
  anthropic: (baseURL) => createAnthropic({ baseURL, apiKey })("m"),
  google: (baseURL) => createGoogleGenerativeAI({ baseURL, apiKey })("m"),
};
const ways = ["language-model-call", "stream-text"] as const;
const cases = Object.entries(clients).flatMap(([name, client]) =>
  ways.map((way) => ({ name, client, way })),
);

/** One message, and the events that came of it. */
async function asked(
  model: LanguageModel,
  stepSource: (typeof ways)[number],
): Promise<{ readonly outcome: unknown; readonly events: readonly SessionEvent[] }> {
  await using log = await openMemoryLog();
  const agent = { model, maxRetries: 1 };
  await using runtime = await createRuntime({
    log,
    agent,
    stepSource,
    testing: { timer: retriesAtOnce },
  });
  const session = await runtime.session("s");
  const turn = await session.send("Hi.");
  const outcome = await turn.result.catch((error: unknown) => error);
  const events = await Array.fromAsync(log.read("s"));
  expect(await logProblems(log)).toEqual([]);
  expect(await replay(events, agent)).toEqual({
    events: events.length,
    parts: expect.anything() as unknown,
  });
  return { outcome, events };
}

it.each(cases)(
  "a page with a login instead of a stream fails the turn at once, and says so ($name, $way)",
  async ({ client, way }) => {
    await using server = await serverOf((response) => {
      response.writeHead(200, { "content-type": "text/html; charset=utf-8" });
      response.end("<!doctype html><title>Please log in</title>");
    });
    const { outcome, events } = await asked(client(server.url), way);
    expect(outcome).toMatchObject({ code: "TURN_FAILED" });
    expect(String(outcome)).toMatch(/answered with text\/html.*base URL.*proxy/s);
    expect(server.asked()).toBe(1);
    expect(events.findLast(({ type }) => type === "step.failed")).toMatchObject({
      data: { kind: "not-a-model", error: { contentType: "text/html; charset=utf-8" } },
    });
  },
);

it.each(cases)(
  "a stream that ends without a word is tried again, and then fails the turn ($name, $way)",
  async ({ client, way }) => {
    await using server = await serverOf((response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end();
    });
    const { outcome, events } = await asked(client(server.url), way);
    expect(outcome).toMatchObject({ code: "TURN_FAILED" });
    expect(server.asked()).toBe(2);
    expect(events.flatMap(({ type, data }) => ("kind" in data ? [[type, data.kind]] : []))).toEqual(
      [
        ["step.retrying", "network"],
        ["step.failed", "network"],
      ],
    );
  },
);

it.each([
  ["application/json", "server"],
  ["application/problem+json; charset=utf-8", "server"],
  ["text/html", "not-a-model"],
  ["application/xhtml+xml", "not-a-model"],
  ["image/png", "not-a-model"],
  ["text/event-stream", "network"],
  ["application/octet-stream", "network"],
  [undefined, "network"],
])("nothing but %s is a failure of the kind %s", (contentType, kind) => {
  expect(emptyReplyKind(contentType)).toBe(kind);
});
