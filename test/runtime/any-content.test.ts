/**
 * Whatever a tool or a log of an earlier release holds: there is a next message that works, in this
 * process, in a new one, and after an export and an import; and `verify` says what no prompt can contain.
 */

import { tool, toolModelMessageSchema } from "ai";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  createRuntime,
  exportSession,
  importSession,
  openMemoryLog,
  TurnlogError,
  verifySession,
  type Agent,
  type EventLog,
} from "../../src/public/index.ts";
import {
  contentFault,
  outputFault,
  type ModelOutput,
  type NewEvent,
} from "../../src/events/index.ts";
import { promptProblems } from "../../src/testing/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { storedEvents } from "../support/replay.ts";
import { patience, runs } from "../support/runs.ts";
import { call, calling } from "../support/script.ts";

const inputSchema = z.looseObject({});
const fine: Agent["model"] = scriptedModel(() => "Fine.");

const bytes = fc.uint8Array({ maxLength: 20 });
const base64 = fc.base64String({ maxLength: 40 });
const address = fc.constantFrom(
  "https://a.invalid/x.png",
  "http://127.0.0.1:1/x",
  "data:image/png;base64,aGk=",
  "mailto:a@b",
  "no address",
  "",
);
const anyValue = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom(undefined, Number.NaN, Infinity, 10n, new Date(0), new URL("https://a.invalid")),
  fc.constantFrom("__proto__", "@blob:x", `@blob:${"0".repeat(64)}`, "\ud800", "x".repeat(5000)),
  bytes,
);
const options = fc.oneof(
  fc.constant({}),
  fc.record({
    providerOptions: fc.oneof(anyValue, fc.constant({ p: { a: 1 } }), fc.constant({ p: 5 })),
  }),
);
const text = fc.string({ maxLength: 20 });
const fileData = fc.oneof(
  fc.record({ type: fc.constant("data"), data: fc.oneof(base64, bytes, text) }),
  fc.record({
    type: fc.constant("url"),
    url: fc.oneof(address, fc.constant(new URL("https://a.invalid"))),
  }),
  fc.record({
    type: fc.constant("reference"),
    reference: fc.oneof(fc.constant({ p: "file-1" }), fc.constant({}), anyValue),
  }),
  fc.record({ type: fc.constant("text"), text }),
);
const mediaType = fc.constantFrom("image/png", "text/plain", "application/pdf", "", "odd", "image");
const file = { mediaType, filename: text };
const part = fc.oneof(
  fc.record({ type: fc.constant("text"), text }),
  fc.record({ type: fc.constant("file"), data: fileData, ...file }),
  fc.record({
    type: fc.constantFrom("file-data", "image-data"),
    data: fc.oneof(base64, text),
    ...file,
  }),
  fc.record({ type: fc.constantFrom("file-url", "image-url"), url: address, mediaType }),
  fc.record({
    type: fc.constantFrom("file-id", "image-file-id"),
    fileId: fc.oneof(text, fc.constant({ p: "f" })),
  }),
  fc.record({
    type: fc.constantFrom("file-reference", "image-file-reference"),
    providerReference: fc.oneof(fc.constant({ p: "f" }), fc.constant({})),
  }),
  fc.record({ type: fc.constant("custom") }),
  anyValue,
);
/** Each as it should be, or nearly so. */
const sound = fc.oneof(
  fc.record({ type: fc.constantFrom("text", "error-text"), value: text }),
  fc.record({ type: fc.constantFrom("json", "error-json"), value: fc.jsonValue({ maxDepth: 3 }) }),
  fc.record({ type: fc.constant("execution-denied"), reason: text }),
  fc.record({ type: fc.constant("content"), value: fc.array(part, { maxLength: 4 }) }),
);
const fields = ["type", "value", "reason", "providerOptions", "blob", "text", "data"] as const;
/** Fields put in or left out, here or in its parts. */
const output = fc
  .tuple(
    sound,
    options,
    fc.dictionary(fc.constantFrom(...fields), anyValue, { maxKeys: 1 }),
    fc.integer({ min: 0, max: 3 }),
  )
  .map(([made, more, odd, kind]): unknown => {
    if (kind === 0) return { ...made, ...more };
    if (kind === 1) return { ...made, ...odd };
    if (kind === 2) return { type: made.type };
    if (made.type !== "content" || !Array.isArray(made.value)) return { ...made, ...more };
    const [first, ...rest] = made.value as readonly unknown[];
    const changed: unknown = typeof first === "object" ? { ...first, ...odd } : first;
    return { ...made, value: [changed, ...rest] };
  });
const anyOutput = fc.oneof({ weight: 5, arbitrary: output }, anyValue);

async function say(log: EventLog, agent: Agent, turns: number, name = "s"): Promise<string[]> {
  await using runtime = await createRuntime({ log, agent, graceMs: 1 });
  const session = await runtime.session(name);
  const ends: string[] = [];
  for (let turn = 0; turn < turns; turn++) {
    const sent = await session.send(`Go ${turn}.`);
    ends.push(
      await sent.result.then(
        ({ finishReason }) => finishReason,
        (error: unknown) => (TurnlogError.isInstance(error) ? error.message : String(error)),
      ),
    );
    expect(
      promptProblems((await session.view()).prompt.messages).filter(
        ({ rule }) => rule !== "ends-with-input",
      ),
    ).toEqual([]);
  }
  return ends;
}

const stop = (turns: number): readonly string[] => Array.from({ length: turns }, () => "stop");

/** The later turns: in a new process, and in another store. */
async function goesOn(log: EventLog, rule?: "contents"): Promise<void> {
  expect(await say(log, { model: fine }, 1)).toEqual(stop(1));
  const found = (await verifySession(log, "s")).problems.filter((problem) => problem.rule !== rule);
  expect(found).toEqual([]);
  const lines = await Array.fromAsync(exportSession(log, "s"));
  await using other = await openMemoryLog();
  await importSession(other, lines);
  expect(await say(other, { model: fine }, 1)).toEqual(stop(1));
}

describe("whatever a tool gives the model", () => {
  it(
    "there is a next message that works, and the log is sound",
    async () => {
      const perSession = 8;
      await fc.assert(
        fc.asyncProperty(
          fc.array(anyOutput, { minLength: perSession, maxLength: perSession }),
          fc.array(anyValue, { minLength: perSession, maxLength: perSession }),
          async (outputs, answers) => {
            const odd = tool({
              inputSchema,
              execute: (input) => answers[Number(input["n"])],
              toModelOutput: ({ input }) =>
                outputs[Number(Reflect.get(Object(input), "n"))] as ModelOutput,
            });
            const plain = tool({ inputSchema, execute: (input) => answers[Number(input["n"])] });
            const calls = outputs.flatMap((_, n) => [
              call("odd", `o${n}`, { n }),
              call("plain", `p${n}`, { n }),
            ]);
            const model = scriptedModel((_, index) => (index === 0 ? calling(...calls) : "Fine."));
            await using log = await openMemoryLog();
            expect(await say(log, { model, tools: { odd, plain } }, 3)).toEqual(stop(3));
            await goesOn(log);
          },
        ),
        runs(16),
      );
    },
    patience,
  );

  it("becomes an error that names the field, and the output is kept", async () => {
    // As in the README of a popular tool: `text` is missing in what the tool answers.
    const odd = tool({
      inputSchema,
      execute: (): { text?: string } => ({}),
      toModelOutput: ({ output: { text: value } }) => ({ type: "text", value }) as ModelOutput,
    });
    const model = scriptedModel((_, index) => (index === 0 ? calling(call("odd", "c")) : "Fine."));
    await using log = await openMemoryLog();
    expect(await say(log, { model, tools: { odd } }, 2)).toEqual(stop(2));
    const ended = (await storedEvents(log, "s")).find(({ type }) => type === "tool.succeeded");
    expect(ended?.data).toMatchObject({
      output: {},
      modelOutput: { type: "error-text", value: expect.stringContaining("`value`") as string },
    });
  });

  it.each(["custom", "file-data"])(
    "a %s part may have a text field of another type",
    async (type) => {
      const part = { type, data: "aGk=", mediaType: "image/png", text: {} };
      const odd = tool({
        inputSchema,
        toModelOutput: () => ({ type: "content", value: [part] }) as unknown as ModelOutput,
        execute: () => "done",
      });
      const model = scriptedModel((_, index) =>
        index === 0 ? calling(call("odd", "c")) : "Fine.",
      );
      await using log = await openMemoryLog();
      expect(await say(log, { model, tools: { odd } }, 3)).toEqual(stop(3));
      await goesOn(log);
    },
  );

  it("bytes and addresses are kept as text", async () => {
    const odd = tool({
      inputSchema,
      execute: () => "done",
      toModelOutput: () => ({
        type: "content",
        value: [
          {
            type: "file",
            mediaType: "text/plain",
            data: { type: "data", data: new TextEncoder().encode("hi") },
          },
          {
            type: "file",
            mediaType: "image/png",
            data: { type: "url", url: new URL("https://a.invalid/x") },
          },
        ],
      }),
    });
    const model = scriptedModel((_, index) => (index === 0 ? calling(call("odd", "c")) : "Fine."));
    await using log = await openMemoryLog();
    expect(await say(log, { model, tools: { odd } }, 1)).toEqual(stop(1));
    const ended = (await storedEvents(log, "s")).find(({ type }) => type === "tool.succeeded");
    expect(ended?.data).toMatchObject({
      modelOutput: {
        value: [{ data: { data: "aGk=" } }, { data: { url: "https://a.invalid/x" } }],
      },
    });
  });
});

/** What the schemas of an earlier release let a tool's answer be: its kind is right, and nothing else is known. */
const oldOutput = output.filter((value): value is object => {
  try {
    const json = JSON.parse(JSON.stringify(value)) as { readonly type?: unknown };
    const kinds = ["text", "json", "execution-denied", "error-text", "error-json", "content"];
    return kinds.includes(String(json.type));
  } catch {
    return false;
  }
});
const oldMetadata = fc.constantFrom<unknown>(
  undefined,
  {},
  { p: 5 },
  { p: null, q: { a: 1 } },
  { p: [1] },
);

describe("whatever the log of an earlier release holds", () => {
  /** A session with calls whose answers, failures and marks are these. */
  function oldEvents(outputs: readonly unknown[], metadata: unknown): readonly NewEvent[] {
    const made: { type: string; data: object }[] = [];
    const usage = { basis: "measured", inputTokens: 1, outputTokens: 1 };
    const agent = {
      digest: "d",
      model: { provider: "turnlog", modelId: "scripted" },
      tools: ["odd"],
    };
    const content = [{ type: "text", text: "Go.", providerOptions: metadata }];
    made.push({ type: "session.created", data: { agent } });
    made.push({ type: "message.queued", data: { id: "m", content, delivery: "follow-up" } });
    made.push({ type: "turn.started", data: { turn: 1, maxSteps: 9 } });
    made.push({ type: "message.delivered", data: { ids: ["m"], turn: 1, boundary: "turn" } });
    const estimate = { tokens: 1, basis: "length" };
    made.push({
      type: "step.started",
      data: { turn: 1, step: 1, attempt: 1, model: agent.model, promptDigest: "x", estimate },
    });
    made.push({ type: "part.text-start", data: { id: "0", providerMetadata: metadata } });
    made.push({ type: "part.text-delta", data: { id: "0", text: "So." } });
    made.push({ type: "part.text-end", data: { id: "0", providerMetadata: metadata } });
    for (const n of outputs.keys()) {
      const input = { n };
      made.push({
        type: "part.tool-call",
        data: { toolCallId: `c${n}`, toolName: "odd", input, providerMetadata: metadata },
      });
    }
    const end = { step: 1, finishReason: "tool-calls", usage, response: {} };
    made.push({ type: "step.finished", data: end });
    for (const [n, modelOutput] of outputs.entries()) {
      const key = { step: 1, callId: `c${n}` };
      const effectId = `s/1/c${n}`;
      made.push({ type: "tool.started", data: { ...key, toolName: "odd", attempt: 1, effectId } });
      made.push(
        n % 3 === 0
          ? {
              type: "tool.failed",
              data: { ...key, error: { name: "E", message: "no" }, modelOutput },
            }
          : { type: "tool.succeeded", data: { ...key, output: "done", modelOutput } },
      );
    }
    made.push({ type: "turn.ended", data: { turn: 1, reason: "stop" } });
    const json = JSON.parse(JSON.stringify(made.map((body) => ({ time: 1, ...body })))) as unknown;
    return json as readonly NewEvent[];
  }

  it(
    "is read, gone on with, exported and imported; `verify` names each event that no prompt can contain",
    async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(oldOutput, { minLength: 8, maxLength: 8 }),
          oldMetadata,
          async (outputs, metadata) => {
            await using log = await openMemoryLog();
            const events = oldEvents(outputs, metadata);
            await log.append("s", "none", events, { origin: "recorded" });
            // The prompt of the only step was never made.
            const before = (await verifySession(log, "s")).problems;
            const faulty = (await storedEvents(log, "s")).filter((event) => contentFault(event));
            expect(
              before.filter(({ rule }) => rule === "contents").map(({ position }) => position),
            ).toEqual(faulty.map(({ position }) => position));
            expect(await say(log, { model: fine }, 3)).toEqual(stop(3));
            const after = (await verifySession(log, "s")).problems;
            const own = after.filter(({ position }) => position > events.length);
            expect(own).toEqual([]);
            const lines = await Array.fromAsync(exportSession(log, "s"));
            await using other = await openMemoryLog();
            await importSession(other, lines, { verify: false });
            expect(await say(other, { model: fine }, 2)).toEqual(stop(2));
          },
        ),
        runs(16),
      );
    },
    patience,
  );

  it("an address is one whatever other fields its part has", async () => {
    await using log = await openMemoryLog();
    const address = { url: "http://127.0.0.1:1/x.png", mediaType: "image/png" };
    const value = [
      { type: "file-url", ...address, data: {} },
      { type: "image-url", ...address, data: "aGk=" },
      { type: "file-data", ...address, data: "aGk=" },
    ];
    const events = oldEvents([{ type: "content", value }], undefined);
    await log.append("s", "none", events, { origin: "recorded" });
    expect(await say(log, { model: fine }, 2)).toEqual(stop(2));
  });

  it("values of 3,000 levels are read and gone on with", async () => {
    await using log = await openMemoryLog();
    const deep: unknown = JSON.parse(`${"[".repeat(3000)}${"]".repeat(3000)}`);
    const events = oldEvents(
      [
        { type: "json", value: deep },
        { type: "json", value: deep },
      ],
      undefined,
    );
    await log.append("s", "none", events, { origin: "recorded" });
    expect(await say(log, { model: fine }, 2)).toEqual(stop(2));
  });
});

it("the rules of a tool's answer are those of the AI SDK, and what its conversion asks for besides", () => {
  const bySdk = (value: unknown): boolean => {
    const result = { type: "tool-result", toolCallId: "c", toolName: "t", output: revived(value) };
    return toolModelMessageSchema.safeParse({ role: "tool", content: [result] }).success;
  };
  let agreed = 0;
  fc.assert(
    fc.property(oldOutput, (value) => {
      const json: unknown = JSON.parse(JSON.stringify(value));
      const isOurs = outputFault(json) === undefined;
      // Ours are narrower only for addresses that are none, and for names of files that are none.
      const isNarrower = /no address|"url":""|"fileId":""|eference":\{\}|"blob"/.test(
        JSON.stringify(json),
      );
      expect(isOurs || isNarrower ? isOurs && !bySdk(json) : bySdk(json)).toBe(false);
      agreed += 1;
    }),
    runs(2000),
  );
  expect(agreed).toBeGreaterThan(1000);
});

/** As the SDK has an address. */
function revived(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(revived);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, inner]): [string, unknown] => [
    key,
    revived(inner),
  ]);
  const made = Object.fromEntries(entries);
  if (made["type"] === "url" && typeof made["url"] === "string" && URL.canParse(made["url"]))
    return { ...made, url: new URL(made["url"]) };
  return made;
}
