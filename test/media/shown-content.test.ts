/** What models are shown of media, by what their providers take. */
import type { ModelMessage } from "ai";
import { describe, expect, it } from "vitest";
import { prepareAgent } from "../../src/agent/index.ts";
import { memoryBlobs } from "../../src/store/blobs/index.ts";
import { blobReference, type ModelName } from "../../src/events/index.ts";
import { modelMedia, type MediaLimits } from "../../src/context/index.ts";
import type { KnownBlob } from "../../src/projections/index.ts";
import { AddressReader } from "../../src/media/address-content.ts";
import { expandedMessage } from "../../src/media/blob-expansion.ts";
import { whyNotShown } from "../../src/media/sent-file.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { SessionBlobs } from "../../src/media/blobs-of-session.ts";
import { png } from "../support/media.ts";

const claude: ModelName = { provider: "anthropic", modelId: "claude-sonnet-4-5" };
const gpt: ModelName = { provider: "openai.responses", modelId: "gpt-5" };
const gemini: ModelName = { provider: "google.generative-ai", modelId: "gemini-3-pro-preview" };
const other: ModelName = { provider: "acme", modelId: "one" };

const image = (more: Partial<KnownBlob>): KnownBlob => ({
  mediaType: "image/png",
  bytes: 1000,
  width: 100,
  height: 100,
  ...more,
});

describe("a model is shown", () => {
  it.each<[string, KnownBlob, readonly ModelName[]]>([
    ["pictures that it takes", image({}), [claude, gpt, gemini, other]],
    ["pictures of a kind that it takes", image({ mediaType: "image/heic" }), [gemini, other]],
    ["a large picture", image({ bytes: 4_500_000 }), [gpt, gemini, other]],
    ["a wide picture", image({ width: 9000 }), [gpt, gemini, other]],
    ["sound", { mediaType: "audio/wav", bytes: 1000 }, [gemini, other]],
    ["a film", { mediaType: "video/mp4", bytes: 1000 }, [gemini, other]],
    ["a document", { mediaType: "application/pdf", bytes: 1000 }, [claude, gpt, gemini, other]],
    ["a large document", { mediaType: "application/pdf", bytes: 30_000_000 }, [gpt, gemini, other]],
    [
      "no document of too many pages",
      { mediaType: "application/pdf", bytes: 1000, pages: 101 },
      [gpt, gemini, other],
    ],
    ["nothing broken", image({ fault: "it ends" }), []],
    ["nothing unknown", { mediaType: "application/octet-stream", bytes: 9 }, []],
  ])("%s", (_, blob, models) => {
    const shown = [claude, gpt, gemini, other].filter(
      (model) => whyNotShown(blob, modelMedia(model), 1) === undefined,
    );
    expect(shown).toEqual(models);
  });

  it("pictures of 2,000 pixels at most where there are many, and larger ones again where there are few", async () => {
    const store = memoryBlobs();
    using wide = await store.put(png({ width: 2500, height: 10 }));
    using small = await store.put(png({ width: 100, height: 10 }));
    const stored = {
      [wide.sha256]: image({ width: 2500, height: 10 }),
      [small.sha256]: image({}),
    };
    const blobs = new SessionBlobs({
      session: "s",
      store,
      isKept: true,
      limits: {},
      media: modelMedia(claude),
      scaler: () => Promise.resolve(undefined),
      known: () => ({ stored, bytes: 0 }),
      onWarning: () => {},
    });
    const message = (sha256: string): ModelMessage => ({
      role: "user",
      content: [{ type: "file", data: blobReference(sha256), mediaType: "image/png" }],
    });
    const first = message(wide.sha256);
    const others = Array.from({ length: 20 }, () => message(small.sha256));
    const kinds = async (messages: readonly ModelMessage[]): Promise<readonly string[]> =>
      (await blobs.expand(messages)).flatMap(({ content }) =>
        typeof content === "string" ? [] : content.map(({ type }) => type),
      );
    const few = Array.from({ length: 20 }, () => "file");
    expect(await kinds([first, ...others.slice(1)])).toEqual(few);
    expect(await kinds([first, ...others])).toEqual(["text", ...few]);
    expect(await kinds([first, ...others.slice(1)])).toEqual(few);
  });
});

it("a note says why a picture is too wide, and among how many pictures only where that counts", () => {
  const wide = image({ width: 9000 });
  const why = (limits: MediaLimits): string => whyNotShown(wide, limits, 3)?.why ?? "";
  const words = "it has 9000 × 100 pixels, and this model takes at most 8000 a side";
  expect(why({ pictureEdge: 8000 })).toBe(words);
  expect(why({ pictureEdge: 8000, pictureEdgeAmong: { more: 2, edge: 2000 } })).toBe(
    `${words.replace("8000", "2000")}, among so many pictures`,
  );
});

it("a result has the name of a file that is not shown, and no field more than the SDK has", async () => {
  const store = memoryBlobs();
  const content = png({ width: 9, height: 9 });
  using held = await store.put(content);
  const blob = image({});
  const expansion = {
    blobs: { stored: { [held.sha256]: blob }, bytes: 0 },
    store,
    media: undefined,
    model: undefined,
    pictures: 1,
    scaler: () => Promise.resolve(undefined),
    read: undefined,
  };
  const broken = content.subarray(0, 40).toString("base64");
  const given = { data: blobReference(held.sha256), mediaType: "image/png", blob };
  const { message } = await expandedMessage(
    {
      role: "tool",
      content: [
        {
          type: "tool-result",
          toolCallId: "1",
          toolName: "show",
          output: {
            type: "content",
            value: [
              // Deprecated parts of the SDK, which still occur.
              // oxlint-disable-next-line typescript/no-deprecated
              { type: "file-data", data: broken, mediaType: "image/png", filename: "a.png" },
              // oxlint-disable-next-line typescript/no-deprecated
              { type: "image-data", ...given },
            ],
          },
        },
      ],
    },
    expansion,
  );
  expect(message.content).toMatchObject([
    {
      output: {
        value: [
          { type: "text", text: expect.stringContaining("a.png") as unknown },
          { type: "image-data", data: content.toString("base64"), mediaType: "image/png" },
        ],
      },
    },
  ]);
  expect(JSON.stringify(message)).not.toContain('"blob"');
});

it("an address is read again after a cancelled call, and not where the model of the step fetches it", async () => {
  const fetch = async (): Promise<Response> => new Response("hello");
  const blobs = new SessionBlobs({
    session: "s",
    store: undefined,
    isKept: false,
    limits: {},
    media: undefined,
    model: { provider: "scripted", modelId: "scripted" },
    addresses: new AddressReader(scriptedModel([]), { fetch }),
    known: () => ({ stored: {}, bytes: 0 }),
    onWarning: () => {},
  });
  const data = new URL("https://files.example/a");
  const prompt: ModelMessage[] = [
    { role: "user", content: [{ type: "file", data, mediaType: "text/plain" }] },
  ];
  expect(JSON.stringify(await blobs.expand(prompt, AbortSignal.abort()))).toContain(
    "nobody waited",
  );
  const sent = await blobs.expand(prompt, new AbortController().signal);
  expect(JSON.stringify(sent)).toContain(Buffer.from("hello").toString("base64"));
  const model = {
    ...scriptedModel([]),
    modelId: "fetching",
    supportedUrls: { "*/*": [/^https:/] },
  };
  const fetching = blobs.forAgent(await prepareAgent({ model }));
  expect(await fetching.expand(prompt, new AbortController().signal)).toEqual(prompt);
});
