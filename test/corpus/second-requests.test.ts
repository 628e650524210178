// What a provider is sent back after each recorded stream: the next request of a session, to the byte of its
// JSON, against the one that the AI SDK makes of its own `responseMessages`.
import { isDeepStrictEqual } from "node:util";
import { isStepCount, streamText } from "ai";
import { expect, it } from "vitest";
import { z } from "zod";
import { createRuntime } from "../../src/index.ts";
import { describeWithCorpus } from "./corpus-suite.ts";
import { wireMessages } from "./expected-parts.ts";
import { wireRows, type WireRow } from "./wire-manifest.ts";
import { wireModel } from "./wire-model.ts";
import { serveWire } from "./wire-server.ts";

const next = "And then?";

/** Most of Gemini's streams differ in what is said only: one in four of them, and all with `TURNLOG_LONG`. */
function isSampled({ set }: WireRow, index: number): boolean {
  return set !== "gemini-cli" || index % 4 === 0 || process.env["TURNLOG_LONG"] !== undefined;
}

/** The second request of a session of two turns, or of the second step. */
async function ours(row: WireRow): Promise<unknown> {
  await using server = await serveWire(row, { seed: 3 });
  const { model, tools } = wireModel(row, server.url);
  await using runtime = await createRuntime({
    memory: true,
    agent: { model, tools, maxSteps: 2, maxAttempts: 1, context: { cut: { reader: false } } },
  });
  const session = await runtime.session("s");
  for (const text of ["Please go on.", next]) {
    const { result } = await session.send(text);
    // What becomes of the answer to the second request is of no concern here.
    await result.catch((error: unknown) => {
      if (server.requests.length < 2) throw error;
    });
  }
  return server.requests[1]?.body;
}

async function theirs(row: WireRow): Promise<unknown> {
  await using server = await serveWire(row, { seed: 3 });
  const { model, tools } = wireModel(row, server.url);
  const call = { model, tools, maxRetries: 0, onError: () => {} };
  const loop = streamText({ ...call, messages: [...wireMessages], stopWhen: isStepCount(2) });
  await loop.consumeStream();
  if (server.requests.length === 1) {
    const said = await loop.responseMessages;
    const messages = [...wireMessages, ...said, { role: "user", content: next } as const];
    await streamText({ ...call, messages }).consumeStream({ onError: () => {} });
  }
  return server.requests[1]?.body;
}

interface Deviation {
  /** Parts of the names of the files in which it shows. */
  readonly files: readonly string[];
  readonly why: string;
  /** What is the same in both requests all the same. */
  readonly common: (body: AnthropicBody) => unknown;
}

const bodySchema = z.looseObject({
  messages: z.array(
    z.looseObject({ role: z.string(), content: z.array(z.looseObject({ type: z.string() })) }),
  ),
});
type AnthropicBody = z.infer<typeof bodySchema>;

const deviations: readonly Deviation[] = [
  {
    files: ["anthropic-web-search-tool.1"],
    why: "blocks of white space alone, which Anthropic sends between citations and does not take back, are left out",
    common: (body) => ({
      ...body,
      messages: body.messages.map((message) => ({
        ...message,
        content: message.content.filter(
          ({ type, text }) => type !== "text" || String(text).trim() !== "",
        ),
      })),
    }),
  },
  {
    files: ["anthropic-programmatic-tool-calling", "anthropic-tool-search"],
    why: "several responses in one stream: the SDK's loop runs a call as often as it finishes, and has several results of it, which Anthropic refuses; here each call has one",
    common: ({ messages: [asked, reply] }) => [asked, reply],
  },
];

describeWithCorpus("the request after a recorded stream", () => {
  for (const row of wireRows(undefined, ["ok"]).filter(isSampled)) {
    it(`is the SDK's own: ${row.family} ${row.file}`, async () => {
      const expected = await theirs(row);
      expect(expected).toBeDefined();
      const sent = await ours(row);
      const deviation = deviations.find(({ files }) =>
        files.some((name) => row.family === "anthropic" && row.file.includes(name)),
      );
      const common = (body: unknown): unknown =>
        deviation === undefined ? body : deviation.common(bodySchema.parse(body));
      expect(common(sent)).toEqual(common(expected));
      // One that shows no more goes off the list.
      expect(isDeepStrictEqual(sent, expected)).toBe(deviation === undefined);
    });
  }
});
