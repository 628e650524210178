/** The message stream and its queue: named events, for programs without the AI SDK. */

import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { dropOldest, tokens } from "../../src/context/index.ts";
import { gate, scriptedModel } from "../../src/models/index.ts";
import { openMemoryLog } from "../../src/public/index.ts";
import { wrapLog } from "../../src/replay/index.ts";
import { call, calling, saying } from "../support/script.ts";
import { eventsUntil, readEvents, serving, type ReadEvent, type Serving } from "./serving.ts";

async function stream(open: Serving, message: string): Promise<AsyncGenerator<ReadEvent>> {
  const answer = await open.ask("/api/message-stream", { body: { sessionId: "s", message } });
  expect(answer.headers.get("content-type")).toBe("text/event-stream");
  return readEvents(answer);
}

const parsed = ({ event, data }: ReadEvent): readonly [string | undefined, unknown] => [
  event,
  JSON.parse(data),
];

describe("the message stream", () => {
  it("names thoughts, text, calls, results and the response", async () => {
    const thinking = { type: "reasoning", deltas: ["hm"] } as const;
    const model = scriptedModel([
      calling(thinking, call("add", "c1", { a: 1 }), call("fail", "c2")),
      saying("Th", "ree."),
    ]);
    const tools = {
      add: tool({ inputSchema: z.object({ a: z.number() }), execute: () => 3 }),
      fail: tool({
        inputSchema: z.object({}),
        execute: (): string => {
          throw new Error("no");
        },
      }),
    };
    await using open = await serving({ model, tools });
    const events = (await Array.fromAsync(await stream(open, "1 + 2?"))).map(parsed);
    // Results come in the order in which their tools end.
    const results = events.filter(([name]) => name === "llm:tool-result");
    results.sort(([, one], [, other]) => JSON.stringify(one).localeCompare(JSON.stringify(other)));
    expect([...events.slice(0, 3), ...results, ...events.slice(5)]).toEqual([
      ["llm:thinking", { text: "hm" }],
      ["llm:tool-call", { callId: "c1", toolName: "add", input: { a: 1 } }],
      ["llm:tool-call", { callId: "c2", toolName: "fail", input: {} }],
      ["llm:tool-result", { callId: "c1", status: "succeeded", output: 3 }],
      ["llm:tool-result", { callId: "c2", status: "failed", error: "no" }],
      ["llm:chunk", { text: "Th" }],
      ["llm:chunk", { text: "ree." }],
      [
        "llm:response",
        {
          text: "Three.",
          finishReason: "stop",
          usage: {
            inputTokens: expect.any(Number) as number,
            outputTokens: expect.any(Number) as number,
          },
        },
      ],
    ]);
  });

  it("names a result of the provider's own tool when it is whole", async () => {
    const own = { toolCallId: "c1", toolName: "draw" };
    const raw = (part: LanguageModelV4StreamPart) => ({ type: "raw-part", part }) as const;
    const model = scriptedModel([
      {
        parts: [
          raw({ type: "tool-call", ...own, input: "{}", providerExecuted: true }),
          raw({ type: "tool-result", ...own, result: "half" }),
          raw({ type: "tool-result", ...own, result: "whole" }),
        ],
        finishReason: "stop",
      },
    ]);
    const inputSchema = z.object({});
    const draw = tool({
      type: "provider",
      isProviderExecuted: true,
      id: "own.draw",
      args: {},
      inputSchema,
      outputSchema: z.string(),
    });
    const memory = await openMemoryLog();
    // The AI SDK leaves the provider's mark of a preliminary result out, and the log may have it.
    const log = wrapLog(memory, {
      append: (session, expected, events, options) =>
        memory.append(
          session,
          expected,
          events.map((event) =>
            event.type === "part.tool-result" && event.data.output === "half"
              ? { ...event, data: { ...event.data, preliminary: true } }
              : event,
          ),
          options,
        ),
    });
    await using open = await serving({ model, tools: { draw } }, {}, { log });
    const events = (await Array.fromAsync(await stream(open, "Draw."))).map(parsed);
    expect(events.filter(([name]) => name === "llm:tool-result")).toEqual([
      ["llm:tool-result", { callId: "c1", status: "succeeded", output: "whole" }],
    ]);
  });

  it("says when the context was compressed before a step, from how many tokens to how many", async () => {
    const model = scriptedModel(() => "word ".repeat(200));
    const context = { compact: { when: tokens(500), how: dropOldest({ keepTurns: 1 }) } };
    await using open = await serving({ model, context });
    const heard: (readonly [string | undefined, unknown])[] = [];
    for (const message of ["1", "2", "3"])
      heard.push(...(await Array.fromAsync(await stream(open, message))).map(parsed));
    const [, sizes] = heard.find(([name]) => name === "context:compressed") ?? [];
    const { originalTokens, compressedTokens } = z
      .object({ originalTokens: z.number(), compressedTokens: z.number() })
      .parse(sizes);
    expect(compressedTokens).toBeLessThan(originalTokens);
  });

  it("says that a message waits, which place it has, and when its turn comes", async () => {
    const waiting = gate();
    const model = scriptedModel([saying("One", waiting, "."), "Two.", "Three."]);
    await using open = await serving({ model });
    const first = await stream(open, "1");
    await eventsUntil(first, ({ event }) => event === "llm:chunk").catch(() => {});
    const second = await stream(open, "2");
    expect(parsed((await second.next()).value as ReadEvent)).toMatchObject([
      "message:queued",
      { position: 1 },
    ]);
    const queued = { body: { sessionId: "s", message: "3" } };
    expect(await open.json("/api/message-queue", queued)).toMatchObject({
      queued: true,
      position: 2,
    });
    expect(await open.json("/api/message-queue/status?sessionId=s")).toMatchObject({
      pending: 2,
      messages: [
        { position: 1, content: "2" },
        { position: 2, content: "3" },
      ],
    });
    waiting.open();
    const rest = (await Array.fromAsync(second)).map(parsed);
    expect(rest[0]?.[0]).toBe("message:dequeued");
    expect(rest.at(-1)?.[0]).toBe("llm:response");
  });

  it("queues a message that begins at once: it was the first", async () => {
    await using open = await serving({ model: scriptedModel(["Hello."]) });
    const sent = { body: { sessionId: "s", message: "Hi" } };
    expect(await open.json("/api/message-queue", sent)).toMatchObject({
      queued: true,
      position: 1,
    });
  });

  it("cancels, and says whether a part of the reply is kept", async () => {
    const waiting = gate();
    await using open = await serving({ model: scriptedModel([saying("Hel", waiting, "lo.")]) });
    const events = await stream(open, "Hi");
    await events.next();
    const cancel = { body: { sessionId: "s" } };
    expect(await open.json("/api/message-cancel", cancel)).toEqual({
      cancelled: true,
      state: "streaming",
      partialPersisted: true,
    });
    const [last] = (await Array.fromAsync(events)).slice(-1).map(parsed);
    expect(last).toMatchObject(["llm:response", { text: "Hel", finishReason: "cancelled" }]);
    expect(await open.json("/api/message-cancel", cancel)).toEqual({
      cancelled: false,
      state: "idle",
      partialPersisted: false,
    });
  });

  it("ends with an error where the turn fails", async () => {
    const failure = Object.assign(new Error("bad key"), { statusCode: 401 });
    await using open = await serving({ model: scriptedModel([{ failure }]) });
    const events = (await Array.fromAsync(await stream(open, "Hi"))).map(parsed);
    expect(events.at(-1)).toMatchObject(["llm:error", { code: "TURN_FAILED" }]);
  });
});
