/** Whatever a model says, and in whatever form: the log can be read again, and the session continues. */

import type { LanguageModelV3, LanguageModelV4 } from "@ai-sdk/provider";
import { tool } from "ai";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { metadata } from "../../src/runtime/model/recorded-parts.ts";
import { z } from "zod";
import { createRuntime, openMemoryLog, viewSession, type Agent } from "../../src/public/index.ts";
import { createCodec, TurnlogError, type SessionEvent } from "../../src/events/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { storedEvents } from "../support/replay.ts";
import { impatientTimer } from "../support/impatient-timer.ts";
import { patience, runs } from "../support/runs.ts";
import { openSession } from "../support/with-runtime.ts";

const sources = ["language-model-call", "stream-text"] as const;

/** A model that streams these things on its first call, and speaks as it should after. */
function wildModel(parts: readonly unknown[], version: "v3" | "v4"): Agent["model"] {
  const usual = scriptedModel(() => "Fine.");
  let calls = 0;
  const model = {
    ...usual,
    specificationVersion: version,
    doStream: async (options: Parameters<LanguageModelV4["doStream"]>[0]) => {
      calls += 1;
      if (calls > 1) return await usual.doStream(options);
      return { stream: ReadableStream.from(parts) };
    },
  };
  // What it streams is of no type: that is what is tried here.
  return model as unknown as LanguageModelV3 | LanguageModelV4;
}

const usage = {
  inputTokens: { total: 3, noCache: 3, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 2, text: 2, reasoning: 0 },
};
const finish = (finishReason: unknown): object => ({ type: "finish", finishReason, usage });
const start = { type: "stream-start", warnings: [] };

/** Each part as it should be. */
const sound: readonly Readonly<Record<string, unknown>>[] = [
  start,
  { type: "response-metadata", id: "r", modelId: "m", timestamp: new Date(0) },
  { type: "text-start", id: "t" },
  { type: "text-delta", id: "t", delta: "so" },
  { type: "text-end", id: "t", providerMetadata: { p: { a: 1 } } },
  { type: "reasoning-start", id: "r" },
  { type: "reasoning-delta", id: "r", delta: "why" },
  { type: "reasoning-end", id: "r" },
  { type: "tool-input-start", id: "c", toolName: "echo" },
  { type: "tool-input-delta", id: "c", delta: "{}" },
  { type: "tool-input-end", id: "c" },
  { type: "tool-call", toolCallId: "c", toolName: "echo", input: "{}" },
  { type: "tool-call", toolCallId: "p", toolName: "search", input: "{}", providerExecuted: true },
  { type: "tool-result", toolCallId: "p", toolName: "search", result: { hits: 1 } },
  { type: "tool-approval-request", approvalId: "a", toolCallId: "p" },
  { type: "source", sourceType: "url", id: "s", url: "https://a.invalid" },
  { type: "file", mediaType: "image/png", data: { type: "data", data: "aGk=" } },
  { type: "reasoning-file", mediaType: "image/png", data: { type: "data", data: "aGk=" } },
  { type: "custom", kind: "p.note" },
  { type: "raw", rawValue: { a: 1 } },
  { type: "error", error: { message: "no" } },
  { ...finish({ unified: "stop", raw: "stop" }) },
];

const anything = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom(undefined, Number.NaN, Infinity, -1, 1e308, 10n, new Date(Number.NaN)),
  fc.constantFrom("__proto__", "constructor", "tool-calls", "interrupted"),
);

/** A part of which some fields may be anything, also its type. */
const wildPart = fc
  .tuple(
    fc.constantFrom(...sound),
    fc.dictionary(
      fc.constantFrom(...new Set(sound.flatMap((part) => Object.keys(part))), "warnings"),
      anything,
      { maxKeys: 2 },
    ),
    fc.boolean(),
  )
  .map(([part, others, isSound]) => (isSound ? part : { ...part, ...others }));

const wildParts = fc.array(fc.oneof({ weight: 9, arbitrary: wildPart }, anything), {
  maxLength: 12,
});

const echo = tool({ inputSchema: z.looseObject({}), execute: () => "echo" });

/** Read as another process reads: from its row. */
function asRead(event: SessionEvent): SessionEvent {
  const codec = createCodec();
  const key = { session: "s", position: event.position };
  return codec.decode(codec.encode(event, key), key);
}

describe.each(sources)("by way of %s", (stepSource) => {
  it.each(["v3", "v4"] as const)(
    "whatever a model of %s says can be read again, and the session continues",
    async (version) => {
      await fc.assert(
        fc.asyncProperty(wildParts, fc.boolean(), async (parts, ends) => {
          const said = [start, ...parts, ...(ends ? [finish({ unified: "stop" })] : [])];
          const log = await openMemoryLog();
          const agent = { model: wildModel(said, version), tools: { echo }, maxRetries: 0 };
          const runtime = await createRuntime({ log, agent, stepSource, graceMs: 1 });
          const session = await runtime.session("s");
          const told = async (text: string): Promise<string> => {
            const turn = await session.send(text);
            return await turn.result.then(
              ({ finishReason }) => finishReason,
              (error: unknown) =>
                TurnlogError.isInstance(error) && error.code !== "TURN_FAILED"
                  ? error.code
                  : String(error),
            );
          };
          const outcomes = [await told("Go."), await told("And now?")];
          await runtime.close();
          const events = await storedEvents(log, "s");
          expect(events.map(asRead)).toEqual(events);
          await viewSession(log, "s");
          await log.close();
          expect(outcomes[0]).not.toBe("SESSION_FAILED");
          expect(outcomes[1]).toBe("stop");
        }),
        runs(30, 60),
      );
    },
    patience,
  );

  it("an unknown reason to finish is no answer: the model is asked again, and its word is kept", async () => {
    const model = wildModel([start, finish({ unified: "bored", raw: undefined })], "v4");
    await using open = await openSession({ model }, { stepSource, timer: impatientTimer });
    const turn = await open.session.send("Go.");
    expect(await turn.result).toMatchObject({ finishReason: "stop", text: "Fine." });
    const again = (await open.events()).find((event) => event.type === "step.retrying");
    expect(again?.data).toMatchObject({ kind: "server", error: { rawFinishReason: "bored" } });
  });
});

// `streamText` refuses such a part by itself, and the turn fails of it.
it("a part of an unknown type is kept as it came, and the turn continues", async () => {
  const part = { type: "smell", of: ["roses"] };
  const said = [
    start,
    { type: "text-start", id: "t" },
    { type: "text-delta", id: "t", delta: "Here" },
    part,
    { type: "text-end", id: "t" },
    finish({ unified: "stop", raw: "stop" }),
  ];
  await using open = await openSession({ model: wildModel(said, "v4") });
  const turn = await open.session.send("Go.");
  expect(await turn.result).toMatchObject({ finishReason: "stop", text: "Here" });
  const raw = (await open.events()).filter((event) => event.type === "part.raw");
  expect(raw.map(({ data }) => data)).toEqual([{ rawValue: part }]);
});

it("metadata that are no object of a provider are left out: they would make every later prompt invalid", () => {
  const own = { openai: { itemId: "1" } };
  expect(metadata({ ...own, odd: "text", list: [1], none: null })).toEqual(own);
  expect(metadata(null)).toBeUndefined();
});
