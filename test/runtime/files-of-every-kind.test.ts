/**
 * No file can end a session, whatever it is, however small, and wherever it is kept: what a model does not
 * take is named to it, or read out. By the real clients, which throw at a file that they do not send.
 */

import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { createRuntime, memoryKeys, type RuntimeOptions } from "../../src/public/index.ts";
import { pdf, png, wav } from "../support/media.ts";
import { anthropic, google, openai, provider, type Client } from "./posting-provider.ts";
import { nothing } from "./tools.ts";

interface Kind {
  readonly mediaType: string;
  readonly content: Uint8Array;
}

const text = (mediaType: string, words: string): Kind => ({
  mediaType,
  content: Buffer.from(words),
});
const bytes = (mediaType: string, hexadecimal: string): Kind => ({
  mediaType,
  content: Buffer.from(hexadecimal, "hex"),
});

const texts: readonly Kind[] = [
  text("text/plain", "plain words"),
  text("text/markdown", "marked words"),
  text("text/csv", "separated words"),
  text("application/json", '"quoted words"'),
  text("image/svg+xml", "<svg><text>drawn words</text></svg>"),
];
const zip = bytes("application/zip", `504b0304140000000000000021${"00".repeat(90)}`);
const kinds: readonly Kind[] = [
  ...texts,
  { mediaType: "image/png", content: png({ width: 8, height: 8 }) },
  { mediaType: "image/png", content: png({ width: 60, height: 60, seed: 1 }).subarray(0, 2500) },
  { mediaType: "application/pdf", content: pdf(1) },
  { mediaType: "application/pdf", content: Buffer.from("%PDF-1.7") },
  { mediaType: "audio/wav", content: wav(0.05) },
  zip,
  bytes("image/x-icon", "00000100010010100000010020006804000016000000"),
  bytes("application/octet-stream", "000102"),
  // What it says and what it is are not the same.
  { ...zip, mediaType: "image/png" },
  text("image/png", "no picture"),
];

const ways: readonly (readonly [string, Pick<RuntimeOptions, "blobs" | "encryption">])[] = [
  ["beside the log where it is large", {}],
  ["in the events", { blobs: false }],
  ["in encrypted events", { encryption: { keys: memoryKeys() } }],
];

const large = (kind: Kind): Kind => ({
  ...kind,
  content: Buffer.concat([kind.content, Buffer.alloc(8000, " ")]),
});

/** What is posted when all files are shown, in a message and in an answer, and a turn later. */
async function posted(
  client: Client,
  shown: readonly Kind[],
  options: object,
): Promise<readonly string[]> {
  await using server = await provider(client, client.calling);
  const look = tool({
    inputSchema: nothing,
    execute: () => "seen",
    toModelOutput: () => ({
      type: "content",
      value: shown.map(({ mediaType, content }) => ({
        type: "file",
        mediaType,
        data: { type: "data", data: Buffer.from(content).toString("base64") },
      })),
    }),
  });
  const model = client.model(server.url);
  const agent = { model, tools: { look }, maxRetries: 0, context: { cut: false as const } };
  await using runtime = await createRuntime({ memory: true, agent, ...options });
  const session = await runtime.session("s");
  const files = shown.map(({ mediaType, content }, index) => ({
    type: "file" as const,
    mediaType,
    data: content,
    filename: `f${index}`,
  }));
  for (const message of [[{ type: "text" as const, text: "Look." }, ...files], "And now?"]) {
    const { finishReason } = await (await session.send(message)).result;
    expect(finishReason).toBe("stop");
  }
  return server.posted.map(({ body }) => JSON.stringify(body));
}

describe.each([
  ["Claude", anthropic],
  ["GPT", openai],
  ["Gemini", google],
])("%s", (_, client) => {
  it.each(ways)("is shown files of every kind that are kept %s", async (_way, options) => {
    for (const shown of [kinds, kinds.map(large)]) {
      const requests = await posted(client, shown, options);
      expect(requests).toHaveLength(3);
      expect(requests[0]).toContain("this model does not take such files");
      expect(requests[0]).toContain("it ends before it is complete");
      expect(requests[0]).toContain("nobody knows what it is");
    }
  });

  it.each(texts)("gets every word of a file of $mediaType, also of a tool's", async (kind) => {
    const [, second = ""] = await posted(client, [kind], {});
    const words = Buffer.from(kind.content);
    const forms = [JSON.stringify(words.toString()).slice(1, -1), words.toString("base64")];
    const [told = 0, encoded = 0] = forms.map((form) => second.split(form).length - 1);
    expect(told + encoded).toBe(2);
  });
});
