/** A session of many screenshots: each is kept once, and the log, the estimate and every request know it. */
import type { LanguageModelV4Prompt } from "@ai-sdk/provider";
import { jsonSchema, tool } from "ai";
import { expect, it } from "vitest";
import { openMemoryLog, verifySession, type Agent } from "../../src/public/index.ts";
import { replay } from "../../src/replay/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { png } from "../support/media.ts";
import { all, long } from "../support/runs.ts";
import { call, calling } from "../support/script.ts";
import { openSession, type OpenOptions } from "../support/with-runtime.ts";
import type { ContextOptions } from "../../src/agent/index.ts";

/** More than any provider takes in one request. */
const SHOTS = long ? 200 : 120;
/** In a step. */
const CALLS = 16;
/** Where their number is not the limit. */
const FEW = long ? 200 : 48;

interface Watching {
  /** Default: {@link SHOTS}. */
  readonly shots?: number;
  /** Who looks. */
  readonly model?: { readonly provider: string; readonly modelId: string };
  /** Of a screenshot, in grey: a byte a pixel. */
  readonly size?: { readonly width: number; readonly height: number };
  readonly context?: ContextOptions;
  /** Given each request. */
  readonly onRequest?: (prompt: LanguageModelV4Prompt) => void;
}

/** Takes each screenshot twice: the screen has not changed. */
function watching(how: Watching = {}): Agent {
  const { shots = SHOTS, model: who, size, context, onRequest } = how;
  const shot = (number: number): string =>
    png({ ...(size ?? { width: 90, height: 60 }), seed: number }).toString("base64");
  const look = tool({
    inputSchema: jsonSchema<{ readonly number: number }>({}),
    execute: ({ number }) => shot(Math.floor(number / 2)),
    toModelOutput: ({ output }) => ({
      type: "content",
      value: [{ type: "file", data: { type: "data", data: output }, mediaType: "image/png" }],
    }),
  });
  const scripted = scriptedModel(({ prompt }) => {
    onRequest?.(prompt);
    const first = CALLS * prompt.filter(({ role }) => role === "tool").length;
    if (first >= 2 * shots) return "Seen all.";
    const numbers = Array.from({ length: CALLS }, (_, index) => first + index);
    return calling(...numbers.map((number) => call("look", `${number}`, { number })));
  });
  return {
    model: Object.assign(scripted, who),
    tools: { look },
    maxSteps: 1000,
    loopGuard: false,
    context: { prune: false, compact: false, ...context },
  };
}

async function watched(options: OpenOptions, how: Watching = {}) {
  const agent = watching(how);
  await using open = await openSession(agent, options);
  await (
    await open.session.send("watch")
  ).result;
  const { tokens } = await open.session.context();
  return { events: await open.events(), tokens, agent };
}

it(`${FEW} screenshots are kept once each, the log stays small, and the prompt costs what it did`, async () => {
  const log = await openMemoryLog();
  const { events, tokens } = await watched({ log }, { shots: FEW });
  const blobs = await Array.fromAsync(log.blobs.list());
  expect(blobs.length).toBe(FEW);
  expect(events.filter(({ type }) => type === "blob.stored").length).toBe(FEW);
  const bytes = events.reduce((sum, event) => sum + JSON.stringify(event).length, 0);
  const content = blobs.reduce((sum, blob) => sum + blob.bytes, 0);
  // Two references and what is said of them, however large the screen is.
  expect(bytes / (2 * FEW)).toBeLessThan(2500);
  expect((await verifySession(log, "s")).problems).toEqual([]);

  const inline = await watched({ blobs: false }, { shots: FEW });
  expect(tokens).toBe(inline.tokens);
  const inlineBytes = inline.events.reduce((sum, event) => sum + JSON.stringify(event).length, 0);
  expect(inlineBytes - bytes).toBeGreaterThan(4 * content);
});

interface Request {
  readonly pictures: number;
  readonly characters: number;
  /** The last one that is shown. */
  readonly newest: string | undefined;
}

/** What a request has of pictures, and how long it is. */
function requestOf(prompt: LanguageModelV4Prompt): Request {
  const pictures: string[] = [];
  const rest = JSON.stringify(prompt, (_, value: unknown) => {
    if (typeof value !== "object" || value === null || !("data" in value)) return value;
    if (typeof value.data !== "string") return value;
    pictures.push(value.data);
    return { ...value, data: "" };
  });
  const characters = pictures.reduce((sum, { length }) => sum + length, rest.length);
  return { pictures: pictures.length, characters, newest: pictures.at(-1) };
}

const MB = 1024 * 1024;
const claude = { provider: "anthropic.messages", modelId: "claude-haiku-4-5" };
const gpt = { provider: "openai.responses", modelId: "gpt-5" };
/** Fewer than the most pictures are more than the most bytes. */
const large = { width: 700, height: 500 };

const limited: readonly (readonly [string, Watching, Omit<Request, "newest">])[] = [
  ["Claude, by their number", { model: claude }, { pictures: 100, characters: 32 * MB }],
  [
    "Claude, by their bytes",
    { model: claude, size: large, shots: 80 },
    { pictures: 100, characters: 32 * MB },
  ],
  ["GPT, by their bytes", { model: gpt, size: large }, { pictures: 500, characters: 50 * MB }],
  [
    "anyone, by what the user wants",
    { context: { media: { pictures: 80, requestBytes: 800_000 } } },
    { pictures: 80, characters: 1_000_000 },
  ],
];

/** Limits by bytes take seconds: `npm test` has none of them, a long run both. */
const dear = ["GPT, by their bytes", ...(all ? [] : ["Claude, by their bytes"])];
it.each(limited.filter(([who]) => long || !dear.includes(who)))(
  "many screenshots stay within what a request may have: of %s",
  async (_, how, most) => {
    const { shots = SHOTS } = how;
    const log = await openMemoryLog();
    const requests: Request[] = [];
    const onRequest = (prompt: LanguageModelV4Prompt): void => {
      requests.push(requestOf(prompt));
    };
    const { events } = await watched({ log }, { ...how, onRequest });
    expect(requests).toHaveLength((2 * shots) / CALLS + 1);
    for (const [index, { pictures, characters, newest }] of requests.entries()) {
      expect({
        index,
        pictures: pictures <= most.pictures,
        fits: characters <= most.characters,
      }).toEqual({ index, pictures: true, fits: true });
      // What was looked at last is shown.
      const last = png({
        ...(how.size ?? { width: 90, height: 60 }),
        seed: (CALLS / 2) * index - 1,
      });
      expect(newest === (index === 0 ? undefined : last.toString("base64"))).toBe(true);
    }
    // Not at every step: the cache is to have something of it.
    const omitted = events.filter(({ type }) => type === "context.media-omitted");
    expect(omitted.length).toBeGreaterThan(0);
    expect(omitted.length).toBeLessThan(requests.length / 2);
    const blobs = await Array.fromAsync(log.blobs.list());
    expect(blobs.length).toBe(shots);
    expect((await verifySession(log, "s")).problems).toEqual([]);
  },
);

/** Of Claude: a token for 750 pixels, and for some four characters. */
function billed(prompt: LanguageModelV4Prompt, pixels: number): number {
  const pictures = requestOf(prompt).pictures;
  const words = JSON.stringify(prompt, (key, value: unknown) => (key === "data" ? "" : value));
  return Math.ceil((pictures * pixels) / 750 + words.length / 4);
}

it(`${SHOTS} screenshots stay within the window, by what each request is billed, summaries included`, async () => {
  const screen = { width: 1500, height: 1000 };
  const blank = png(screen);
  let taken = 0;
  const bills: number[] = [];
  const scripted = scriptedModel(({ prompt, tools = [] }) => {
    const tokens = billed(prompt, screen.width * screen.height);
    bills.push(tokens);
    const inputTokens = { total: tokens, noCache: tokens, cacheRead: 0, cacheWrite: 0 };
    const usage = { inputTokens, outputTokens: { total: 50, text: 50, reasoning: 0 } };
    if (tools.length === 0) return "## Goal\nWatch.\n## Done\nLooked.\n## Next\nLook on.";
    if (taken === SHOTS) return "Seen all.";
    const calls = Array.from({ length: 4 }, () => call("look", `${taken}`, { number: taken++ }));
    return { ...calling(...calls), usage };
  });
  const look = tool({
    inputSchema: jsonSchema<{ readonly number: number }>({}),
    execute: ({ number }) => number,
    toModelOutput: ({ output }) => {
      const data = Buffer.concat([blank, Buffer.from(`${output}`)]).toString("base64");
      const file = { type: "file", data: { type: "data", data }, mediaType: "image/png" } as const;
      return { type: "content", value: [file] };
    },
  });
  const sonnet = { provider: "anthropic.messages", modelId: "claude-sonnet-4-5" };
  const model = Object.assign(scripted, sonnet);
  const log = await openMemoryLog();
  await using open = await openSession(
    { model, tools: { look }, maxSteps: 1000, loopGuard: false },
    { log },
  );
  const { text } = await (await open.session.send("watch")).result;
  expect(text).toBe("Seen all.");
  // Without any care for tokens they would come to more than that.
  expect(Math.max(...bills)).toBeLessThanOrEqual(200_000);
  expect((SHOTS * screen.width * screen.height) / 750).toBeGreaterThan(200_000);
  expect((await Array.fromAsync(log.blobs.list())).length).toBe(SHOTS);
  expect((await verifySession(log, "s")).problems).toEqual([]);
});

it("happens again as it was recorded, what is left out included", async () => {
  const how: Watching = { shots: FEW, context: { media: { pictures: 30 } } };
  const { events } = await watched({}, how);
  expect(await replay(events, watching(how))).toEqual({
    events: events.length,
    parts: expect.anything() as unknown,
  });
  const chained = (await watched({ hashChain: true }, how)).events;
  expect(chained.some(({ type }) => type === "session.chained")).toBe(true);
  expect((await replay(chained, watching(how))).difference).toBeUndefined();
  const { difference } = await replay(
    events,
    watching({ ...how, context: { media: { pictures: 12 } } }),
  );
  expect(difference?.recorded?.type).not.toBe("context.media-omitted");
  expect(difference?.replayed?.type).toBe("context.media-omitted");
});
