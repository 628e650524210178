// What a provider needs back, one recorded stream for each kind: the very bytes that it sent stand in the next
// request. The kinds of which no stream was recorded are in made-streams.test.ts.
import { expect, it } from "vitest";
import { z } from "zod";
import { describeWithCorpus } from "./corpus-suite.ts";
import { ourRequests } from "./second-requests.ts";
import { wireRows } from "./wire-manifest.ts";
import { recordedChunks, recordedResponses, recordedStream } from "./wire-stream.ts";

interface Peculiarity {
  readonly what: string;
  /** The end of the file's path, without `.chunks.txt`. */
  readonly file: string;
  /** Finds what has to come back in a chunk that the provider sent. */
  readonly given: (chunk: Chunk) => readonly unknown[];
  /** Asks OpenAI and xAI to store nothing, so that they have to be sent everything. */
  readonly storeNothing?: true;
  /** Serves a file of several responses as it was sent: one for each request. */
  readonly several?: true;
}

/** As far as they are looked into. */
const chunkSchema = z.looseObject({
  type: z.string().optional(),
  event_type: z.string().optional(),
  item: z.looseObject({ type: z.string(), id: z.string().optional() }).optional(),
  delta: z.unknown().optional(),
  content_block: z.looseObject({ type: z.string() }).optional(),
});
type Chunk = z.infer<typeof chunkSchema>;

/** The items that a response of OpenAI has brought to their end. */
function itemOf({ type, item }: Chunk, itemType: string): readonly NonNullable<Chunk["item"]>[] {
  return type === "response.output_item.done" && item?.type === itemType ? [item] : [];
}

/** The blocks that Anthropic sends whole. */
function blockOf({ content_block: block }: Chunk, blockType: string) {
  return block?.type === blockType ? [block] : [];
}

/** Every value under a key, at whatever depth. */
function valuesOf(key: string, value: unknown): readonly unknown[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries<unknown>({ ...value }).flatMap(([name, inner]) => [
    ...(name === key ? [inner] : []),
    ...valuesOf(key, inner),
  ]);
}

const peculiarities: readonly Peculiarity[] = [
  {
    what: "OpenAI's ids of reasoning items, by which they are referred to",
    file: "openai/src/responses/__fixtures__/openai-reasoning-encrypted-content.1",
    given: (chunk) => itemOf(chunk, "reasoning").map(({ id }) => id),
  },
  {
    what: "OpenAI's encrypted reasoning",
    file: "openai/src/responses/__fixtures__/openai-reasoning-encrypted-content.1",
    storeNothing: true,
    given: (chunk) => valuesOf("encrypted_content", itemOf(chunk, "reasoning")),
  },
  {
    what: "xAI's encrypted reasoning",
    file: "xai-text-with-reasoning-streaming-store-false.1",
    storeNothing: true,
    given: (chunk) => valuesOf("encrypted_content", itemOf(chunk, "reasoning")),
  },
  {
    what: "a custom part of OpenAI (a compaction)",
    file: "openai/src/responses/__fixtures__/openai-compaction.1",
    storeNothing: true,
    given: (chunk) => valuesOf("encrypted_content", itemOf(chunk, "compaction")),
  },
  {
    what: "a custom part of Anthropic (a fallback to another model)",
    file: "anthropic-fallback",
    given: (chunk) => blockOf(chunk, "fallback"),
  },
  {
    what: "Gemini's thought signatures",
    file: "google-tool-call-gemini3",
    given: (chunk) => valuesOf("thoughtSignature", chunk),
  },
  {
    what: "the signatures of Gemini's interactions",
    file: "google/src/interactions/__fixtures__/tool-call-step1",
    given: ({ delta }) => valuesOf("signature", delta),
  },
  {
    what: "Anthropic's signatures",
    file: "anthropic-clear-thinking.1",
    given: ({ delta }) => valuesOf("signature", delta),
  },
  {
    what: "Bedrock's signatures",
    file: "amazon-bedrock-reasoning",
    given: (chunk) => valuesOf("signature", chunk),
  },
  {
    what: "sources, as the search that the provider has run found them",
    file: "anthropic-web-search-tool.1",
    given: (chunk) => valuesOf("encrypted_content", blockOf(chunk, "web_search_tool_result")),
  },
  {
    what: "citations, with what they quote",
    file: "anthropic-web-search-tool.1",
    given: ({ delta }) => valuesOf("encrypted_index", delta),
  },
  {
    what: "a tool that the provider has run and its result in the stream",
    file: "anthropic-code-execution-20250825.1",
    given: (chunk) => [
      ...valuesOf("id", blockOf(chunk, "server_tool_use")),
      ...valuesOf("content", blockOf(chunk, "bash_code_execution_tool_result")),
    ],
  },
  {
    what: "the result of a call that the provider has run a response later",
    file: "anthropic-tool-search-deferred-bm25",
    several: true,
    given: (chunk) => [
      ...valuesOf("id", blockOf(chunk, "server_tool_use")),
      ...valuesOf("tool_use_id", blockOf(chunk, "tool_search_tool_result")),
      ...valuesOf("tool_references", blockOf(chunk, "tool_search_tool_result")),
    ],
  },
  {
    what: "which program of the provider has made a call",
    file: "openai/src/responses/__fixtures__/programmatic-tool-calling.1",
    given: (chunk) => valuesOf("caller_id", itemOf(chunk, "function_call")),
  },
];

/** Every string, in its JSON form, that a value contains. */
function stringsOf(value: unknown): readonly string[] {
  if (typeof value === "string") return value === "" ? [] : [JSON.stringify(value)];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(stringsOf);
}

describeWithCorpus("what a provider needs back", () => {
  const rows = wireRows(undefined, ["ok"]);

  for (const { what, file, given, storeNothing, several } of peculiarities) {
    it(`is sent to it as it came: ${what}`, async () => {
      const [row, ...others] = rows.filter((one) =>
        one.file.replace(".chunks.txt", "").endsWith(file),
      );
      if (row === undefined || others.length > 0) throw new Error(`not one stream: ${file}`);
      const chunks = await recordedChunks(row);
      const sent = chunks
        .map((chunk) => chunkSchema.parse(JSON.parse(chunk)))
        .flatMap(given)
        .flatMap(stringsOf);
      expect(sent).not.toEqual([]);
      const store = { store: false };
      const requests = await ourRequests({
        row,
        streams: several ? await recordedResponses(row) : [await recordedStream(row)],
        ...(storeNothing === undefined ? {} : { providerOptions: { openai: store, xai: store } }),
      });
      const last = JSON.stringify(requests.at(-1));
      expect(sent.filter((text) => !last.includes(text))).toEqual([]);
    });
  }
});
