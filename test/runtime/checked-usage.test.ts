/** Figures of a provider that cannot be: they are kept, said to be estimates, and decide nothing. */

import { openai } from "@ai-sdk/openai";
import type { LanguageModelV4Usage } from "@ai-sdk/provider";
import { jsonSchema, Output, tool } from "ai";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  createRuntime,
  openMemoryLog,
  summarize,
  threshold,
  tokens,
  type Agent,
} from "../../src/public/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { replay } from "../../src/replay/index.ts";
import { counter, tale } from "../support/counting-agent.ts";
import { runs } from "../support/runs.ts";
import { call } from "../support/script.ts";
import { openSession } from "../support/with-runtime.ts";
import { echo } from "./tools.ts";
import type { UserInput } from "../../src/media/index.ts";

function billed(input: number, output = 3): LanguageModelV4Usage {
  return {
    inputTokens: { total: input, noCache: 100, cacheRead: input - 100, cacheWrite: 0 },
    outputTokens: { total: output, text: output, reasoning: 0 },
  };
}

function talker(usage: LanguageModelV4Usage, agent: Partial<Agent> = {}): Agent {
  const prices = { input: 1, output: 1, cacheRead: 1 };
  return {
    model: scriptedModel(() => ({ parts: [{ type: "text", deltas: ["ok"] }], usage })),
    ...agent,
    context: {
      limits: { scripted: { contextWindow: 128_000, maxOutputTokens: 4000, prices } },
      ...agent.context,
    },
  };
}

/** The usage of the only step of a session with one message. */
async function usageOf(agent: Agent, content: UserInput = "Hello.") {
  await using open = await openSession(agent);
  await (
    await open.session.send(content)
  ).result;
  const end = (await open.events()).find(({ type }) => type === "step.finished");
  return end?.type === "step.finished" ? end.data.usage : undefined;
}

const IMPOSSIBLE = 10_000_100;

describe("a bill of more tokens than the request has bytes", () => {
  it("gives the results of steps no figures: an estimate is not passed off as the provider's", async () => {
    const seen: unknown[] = [];
    const model = scriptedModel([
      { parts: [call("echo", "1", { value: 1 })], usage: billed(IMPOSSIBLE) },
      { parts: [call("echo", "2", { value: 2 })], usage: billed(100) },
      "Done.",
    ]);
    const prepareStep: Agent["prepareStep"] = ({ steps }) => {
      seen.push(steps.at(-1)?.usage);
      return undefined;
    };
    await using open = await openSession({ model, tools: { echo }, prepareStep });
    await (
      await open.session.send("Go.")
    ).result;
    const figures = { inputTokens: 100, outputTokens: 3, totalTokens: 103 };
    const none = { inputTokens: undefined, outputTokens: undefined, totalTokens: undefined };
    expect(seen).toMatchObject([undefined, none, figures]);
  });

  it("is an estimate, with the provider's figures beside it", async () => {
    const usage = await usageOf(talker(billed(IMPOSSIBLE)));
    expect(usage).toMatchObject({
      basis: "estimated",
      outputTokens: 3,
      reported: {
        inputTokens: IMPOSSIBLE,
        noCacheTokens: 100,
        cacheReadTokens: IMPOSSIBLE - 100,
        outputTokens: 3,
      },
    });
    expect(usage?.inputTokens).toBeLessThan(50);
    expect(usage).not.toHaveProperty("cacheReadTokens");
  });

  it("moves no threshold, no limit of spending and no price", async () => {
    const log = await openMemoryLog();
    const compact = { when: threshold(0.5), how: summarize() };
    const agent = talker(billed(IMPOSSIBLE), { context: { compact } });
    await using runtime = await createRuntime({
      log,
      agent: { ...agent, context: { ...talker(billed(0)).context, compact } },
      limits: { session: { tokens: 10_000, dollars: 1 } },
    });
    const session = await runtime.session("s");
    for (let fact = 0; fact < 8; fact++) {
      const { finishReason } = await (await session.send(`The code word is W${fact}.`)).result;
      expect(finishReason).toBe("stop");
    }
    const { tokens: size, cost, spending } = await session.context();
    expect(size).toBeLessThan(500);
    expect(cost.total).toMatchObject({ basis: "estimated", unpriced: 0 });
    expect(cost.total.dollars).toBeLessThan(0.01);
    expect(spending.total.inputTokens).toBeLessThan(4000);
    const prompt = JSON.stringify((await session.view()).prompt.messages);
    expect(prompt.match(/W\d/g)).toHaveLength(8);
  });

  it("is doubted also where bills grow from step to step, so that our estimate follows them", async () => {
    let bill = 2000;
    const model = scriptedModel(() => ({
      parts: [{ type: "text", deltas: ["ok"] }],
      usage: billed((bill *= 2)),
    }));
    await using open = await openSession({ ...talker(billed(0)), model });
    for (let turn = 0; turn < 5; turn++) await (await open.session.send("Hello.")).result;
    const bases = (await open.events()).flatMap(({ type, data }) =>
      type === "step.finished" ? [data.usage.basis] : [],
    );
    expect(bases).toEqual(["measured", "estimated", "estimated", "estimated", "estimated"]);
  });

  it("of a summary moves none either", async () => {
    const agent = talker(billed(40), {
      // The request for a summary has no tools.
      tools: { search: openai.tools.webSearch() },
      context: {
        compact: {
          when: tokens(200),
          how: summarize({
            model: scriptedModel(() => ({
              parts: [{ type: "text", deltas: ["## Goal\nTales."] }],
              usage: billed(IMPOSSIBLE),
            })),
          }),
        },
      },
    });
    await using open = await openSession(agent);
    for (let turn = 0; turn < 4; turn++) await (await open.session.send(tale)).result;
    const made = (await open.events()).flatMap(({ type, data }) =>
      type.startsWith("context.") && "usage" in data ? [data.usage] : [],
    );
    expect(made.length).toBeGreaterThan(0);
    for (const usage of made)
      expect(usage).toMatchObject({ basis: "estimated", reported: { inputTokens: IMPOSSIBLE } });
    expect((await open.session.context()).spending.total.inputTokens).toBeLessThan(20_000);
  });

  it("is refused as a count of the prompt", async () => {
    const clerk = counter(() => IMPOSSIBLE);
    const agent = talker(billed(0), {
      context: { counter: clerk, compact: { when: tokens(200), how: summarize() } },
    });
    await using open = await openSession(agent);
    for (let turn = 0; turn < 3; turn++) await (await open.session.send(tale)).result;
    const types = (await open.events()).map(({ type }) => type);
    expect(types).toContain("context.count-failed");
    expect(types).not.toContain("context.counted");
  });

  it("is doubted also where the figures contradict each other", async () => {
    const usage = await usageOf(
      talker({
        inputTokens: {
          total: 100,
          noCache: 100 - IMPOSSIBLE,
          cacheRead: IMPOSSIBLE,
          cacheWrite: 0,
        },
        outputTokens: { total: 3, text: 3, reasoning: 0 },
      }),
    );
    expect(usage).toMatchObject({ reported: { noCacheTokens: 100 - IMPOSSIBLE } });
    expect(usage?.inputTokens).toBeLessThan(50);
  });
});

describe("output of more tokens than any model writes", () => {
  it("is an estimate beside the input as it was billed", async () => {
    const usage = await usageOf(talker(billed(120, IMPOSSIBLE)));
    expect(usage).toMatchObject({
      basis: "estimated",
      inputTokens: 120,
      cacheReadTokens: 20,
      reported: { outputTokens: IMPOSSIBLE },
    });
    expect(usage?.outputTokens).toBeLessThan(10);
    expect(usage).not.toHaveProperty("textTokens");
  });
});

describe("a large bill of a small request is believed", () => {
  const pixel =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  const file = (mediaType: string, data = pixel): UserInput => [
    { type: "text", text: "What is it?" },
    { type: "file", mediaType, data },
  ];

  it.for<readonly [string, number, Partial<Agent>, UserInput?]>([
    ["that a hidden instruction explains", 4000, {}],
    ["with a picture", 48_169, {}, file("image/png")],
    [
      "with a long text file",
      200_000,
      {},
      file("text/plain", Buffer.from("§ ".repeat(80_000)).toString("base64")),
    ],
    ["with a PDF", 300_000, {}, file("application/pdf", "JVBERi0xLjQK")],
    ["with a tool that the provider runs", 90_000, { tools: { search: openai.tools.webSearch() } }],
    [
      "with content that the provider has",
      900_000,
      { providerOptions: { google: { cachedContent: "cachedContents/1" } } },
    ],
    [
      "that continues a stored response",
      60_000,
      { providerOptions: { openai: { previousResponseId: "resp_1" } } },
    ],
  ])("%s", async ([, input, agent, content]) => {
    expect(await usageOf(talker(billed(input), agent), content)).toMatchObject({
      basis: "measured",
      inputTokens: input,
    });
  });

  it.for([
    { type: "file-url", url: "https://files.example/a" },
    { type: "file-id", fileId: "file-1" },
    { type: "file-reference", providerReference: { openai: "file-1" } },
    { type: "image-url", url: "https://files.example/a" },
    { type: "image-file-id", fileId: "file-1" },
    {
      type: "file",
      mediaType: "text/plain",
      data: { type: "url", url: new URL("https://files.example/a") },
    },
    {
      type: "file",
      mediaType: "text/plain",
      data: { type: "reference", reference: { openai: "file-1" } },
    },
  ] as const)("with a result that refers to a file: $type", async (part) => {
    const agent: Agent = {
      model: scriptedModel([
        { parts: [{ type: "tool-call", toolCallId: "c", toolName: "look", input: {} }] },
        { parts: [{ type: "text", deltas: ["ok"] }], usage: billed(40_000) },
      ]),
      tools: {
        look: tool({
          inputSchema: jsonSchema({ type: "object" }),
          execute: () => "",
          toModelOutput: () => ({ type: "content", value: [part] }),
        }),
      },
    };
    await using open = await openSession(agent);
    await (
      await open.session.send("Look.")
    ).result;
    const ends = (await open.events()).filter(({ type }) => type === "step.finished");
    expect(ends.at(-1)?.data).toMatchObject({ usage: { basis: "measured", inputTokens: 40_000 } });
  });

  it.for(["openai/gpt-4o:online", "groq/compound-mini", "sonar-pro", "o4-mini-deep-research"])(
    "of %s, which searches by itself",
    async (modelId) => {
      const model = scriptedModel(() => ({
        parts: [{ type: "text", deltas: ["ok"] }],
        usage: billed(30_000),
      }));

      expect(await usageOf({ model: { ...model, modelId } })).toMatchObject({
        basis: "measured",
      });
    },
  );

  it("with hidden reasoning that is billed again", async () => {
    const bills = [
      [100, 30_000],
      [30_120, 20_000],
      [50_140, 10],
    ] as const;
    let step = 0;
    const model = scriptedModel(() => {
      const [input, output] = bills[step++] ?? [0, 0];
      const usage = billed(input, output);
      return step < bills.length
        ? {
            parts: [{ type: "tool-call", toolCallId: `c${step}`, toolName: "look", input: {} }],
            usage,
          }
        : { parts: [{ type: "text", deltas: ["ok"] }], usage };
    });
    const look = tool({ inputSchema: jsonSchema({ type: "object" }), execute: () => "" });
    await using open = await openSession({ model, tools: { look } });
    await (
      await open.session.send("Look.")
    ).result;
    const ends = (await open.events()).filter(({ type }) => type === "step.finished");
    expect(ends.at(-1)?.data).toMatchObject({ usage: { basis: "measured", inputTokens: 50_140 } });
  });

  it("with the schema of an output", async () => {
    const properties = Object.fromEntries(
      Array.from({ length: 500 }, (_, at) => [`property${at}`, { type: "string" } as const]),
    );
    const output = Output.object({ schema: jsonSchema({ type: "object", properties }) });
    const agent = talker(billed(12_000));
    const model = scriptedModel(() => ({
      parts: [{ type: "text", deltas: ["{}"] }],
      usage: billed(12_000),
    }));
    expect(await usageOf({ ...agent, model, output })).toMatchObject({ basis: "measured" });
  });

  it("where its letters are one token for each byte", async () => {
    const text = "🜁".repeat(5000);
    const input = Buffer.byteLength(text);
    expect(await usageOf(talker(billed(input)), text)).toMatchObject({ basis: "measured" });
  });
});

/** As a release recorded it that doubted no bill. */
const older = {
  basis: "measured",
  inputTokens: IMPOSSIBLE,
  cacheReadTokens: IMPOSSIBLE - 100,
} as const;

const figure = fc.option(fc.oneof(fc.integer({ min: -600, max: 600 }), fc.constant(IMPOSSIBLE)), {
  nil: undefined,
});
const anyUsage = fc
  .tuple(figure, figure, figure, figure, figure, figure, figure)
  .map(([total, noCache, cacheRead, cacheWrite, all, text, reasoning]) => ({
    inputTokens: { total, noCache, cacheRead, cacheWrite },
    outputTokens: { total: all, text, reasoning },
  }));

describe("a log of a release that doubted no bill", () => {
  it("is replayed with its figures, and what a later release doubted as doubted", async () => {
    const log = await openMemoryLog();
    const asIs = { context: { compact: false } } as const;
    const agent = talker(billed(120), asIs);
    for (const usage of [billed(120), billed(IMPOSSIBLE)]) {
      await using runtime = await createRuntime({ log, agent: talker(usage, asIs) });
      const session = await runtime.session("s");
      await (
        await session.send("Hello.")
      ).result;
    }
    const events = (await Array.fromAsync(log.read("s"))).map((event) =>
      event.type === "step.finished" && event.data.step === 1
        ? {
            ...event,
            data: { ...event.data, usage: { ...event.data.usage, ...older } },
          }
        : event,
    );
    const { difference } = await replay(events, agent);
    expect(difference).toBeUndefined();
  });
});

describe("figures of any kind", () => {
  it("are replayed as they were live", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyUsage, { minLength: 1, maxLength: 3 }), async (usages) => {
        const log = await openMemoryLog();
        const steps = usages.map((usage) => ({
          parts: [{ type: "text" as const, deltas: ["ok"] }],
          usage,
        }));
        const agent = { model: scriptedModel(steps) };
        {
          await using runtime = await createRuntime({ log, agent });
          const session = await runtime.session("s");
          for (const _ of usages) await (await session.send("Hello.")).result;
        }
        const { difference } = await replay(await Array.fromAsync(log.read("s")), agent);
        expect(difference).toBeUndefined();
      }),
      runs(40),
    );
  });
});
