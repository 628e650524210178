// What a provider is sent back after each recorded stream: the next request of a session, to the byte of its
// JSON, against the one that the AI SDK makes of its own `responseMessages`.
import { basename } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { expect, it } from "vitest";
import { z } from "zod";
import { sampled } from "../support/runs.ts";
import { describeWithCorpus } from "./corpus-suite.ts";
import { ourRequests, sdkRequests } from "./second-requests.ts";
import { allRows, wireRows } from "./wire-manifest.ts";
import { recordedResponses, recordedStream } from "./wire-stream.ts";

interface Deviation {
  readonly family: string;
  /** Parts of the names of the files in which it shows. */
  readonly files: readonly string[];
  readonly why: string;
  /** What is the same in both requests all the same. */
  readonly common: (body: unknown) => unknown;
}

const bodySchema = z.looseObject({
  messages: z.array(
    z.looseObject({ role: z.string(), content: z.array(z.looseObject({ type: z.string() })) }),
  ),
});

const openaiSchema = z.looseObject({ input: z.array(z.looseObject({})) });

/** Files in which Anthropic answers several requests of one conversation. */
const severalResponses = ["anthropic-programmatic-tool-calling", "anthropic-tool-search"];

const deviations: readonly Deviation[] = [
  {
    family: "anthropic",
    files: ["anthropic-web-search-tool.1"],
    why: "blocks of white space alone, which Anthropic sends between citations and does not take back, are left out",
    common: (body) => ({
      ...bodySchema.parse(body),
      messages: bodySchema.parse(body).messages.map((message) => ({
        ...message,
        content: message.content.filter(
          ({ type, text }) => type !== "text" || String(text).trim() !== "",
        ),
      })),
    }),
  },
  {
    family: "anthropic",
    files: severalResponses,
    why: "several responses served as one stream: the SDK's loop runs a call as often as it finishes, and has several results of it, which Anthropic refuses; here each call has one. Served as they were sent, one for each request, they are compared whole below",
    common: (body) => bodySchema.parse(body).messages.slice(0, 2),
  },
  {
    family: "openai-responses",
    files: ["openai-mcp-tool-approval.1", "openai-mcp-tool-approval.3"],
    why: "a call that waits for an approval is left out when a message comes in its place, and so is the reasoning before it: OpenAI refuses reasoning without the item that follows it, and the SDK refers to it all the same",
    common: (body) =>
      openaiSchema.parse(body).input.filter(({ type }) => type !== "item_reference"),
  },
];

/** Rows without a second request to compare, by their file's name. Those that fail are run in recorded-turns.test.ts. */
const notCompared: Readonly<Record<string, string>> = {
  "google-live-speech-translation.chunks.txt":
    "a live session over a WebSocket, which no language model of the SDK speaks",
  "openai-realtime-speech-translation.chunks.txt":
    "a realtime session over a WebSocket, which no language model of the SDK speaks",
  "spliced-message-start.chunks.txt":
    "breaks off with an error: the turn fails, and the SDK, which would go on with what there is, has no such thing",
  "openai-error.1.chunks.txt":
    "begins with an error: the turn fails, and the SDK has no messages of it",
  "parallel-tool-call-wrapper.1.chunks.txt":
    "is broken JSON: the turn fails, and the SDK has no messages of it; what it was to show is in made-streams.test.ts",
};

describeWithCorpus("the request after a recorded stream", () => {
  const rows = wireRows().filter(({ file }) => notCompared[basename(file)] === undefined);

  // Where we deviate, and one of nine of the rest.
  const drawn = sampled(rows, 30);
  const known = rows.filter(
    (row) =>
      drawn.includes(row) ||
      deviations.some(
        ({ family, files }) =>
          family === row.family && files.some((name) => row.file.includes(name)),
      ),
  );
  for (const row of known) {
    it(`is the SDK's own: ${row.family} ${row.file}`, async () => {
      const conversation = { row, streams: [await recordedStream(row)] };
      const [, expected] = await sdkRequests(conversation);
      expect(expected).toBeDefined();
      const [, sent] = await ourRequests(conversation);
      const deviation = deviations.find(
        ({ family, files }) =>
          row.family === family && files.some((name) => row.file.includes(name)),
      );
      const common = (body: unknown): unknown => deviation?.common(body) ?? body;
      expect(common(sent)).toEqual(common(expected));
      // One that shows no more goes off the list.
      expect(isDeepStrictEqual(sent, expected)).toBe(deviation === undefined);
    });
  }

  const several = rows.filter(({ file }) => severalResponses.some((name) => file.includes(name)));
  for (const row of several) {
    it(`is the SDK's own for each response of ${row.file}`, async () => {
      const conversation = { row, streams: await recordedResponses(row) };
      const expected = await sdkRequests(conversation);
      expect(expected.length).toBe(conversation.streams.length + 1);
      expect(await ourRequests(conversation)).toEqual(expected);
    });
  }

  // What OpenAI and those that speak as it does are sent back by reference is sent whole where they store nothing.
  const storing = rows.filter(({ features }) => features.includes("itemId"));
  for (const row of sampled(storing, 16)) {
    it(`is the SDK's own where nothing is stored: ${row.family} ${row.file}`, async () => {
      const store = { store: false };
      const conversation = {
        row,
        streams: [await recordedStream(row)],
        providerOptions: { openai: store, azure: store, xai: store },
      };
      const expected = await sdkRequests(conversation);
      expect(expected.length).toBe(2);
      expect(await ourRequests(conversation)).toEqual(expected);
    });
  }

  const played = allRows().filter(({ status }) => status === "ok");
  it(`is compared for all ${played.length} streams that play to their end, and of the ${allRows().length - rows.length} others that it is not compared for a reason is given`, () => {
    const compared = new Set(rows.map(({ file }) => file));
    expect(played.filter(({ file }) => !compared.has(file))).toEqual([]);
    const left = allRows().flatMap(({ file }) => (compared.has(file) ? [] : basename(file)));
    expect(new Set(left)).toEqual(new Set(Object.keys(notCompared)));
  });
});
