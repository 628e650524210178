/** Media in a session: kept once beside the log, shown to the model as they were given. */
import { hash } from "node:crypto";
import { setImmediate, setTimeout } from "node:timers/promises";
import { jsonSchema, tool, type ToolSet } from "ai";
import { describe, expect, it } from "vitest";
import { memoryBlobs } from "../../src/store/blobs/index.ts";
import {
  blobReference,
  readBlob,
  type BlobStore,
  type EventBody,
  type EventMap,
  type EventType,
  type SessionEvent,
} from "../../src/events/index.ts";
import {
  createRuntime,
  encryptedLog,
  exportFixture,
  exportSession,
  importSession,
  memoryKeys,
  openMemoryLog,
  promptWithMedia,
  readSessionFile,
} from "../../src/public/index.ts";
import { replay } from "../../src/replay/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { call, calling, saying } from "../support/script.ts";
import { animatedGif, pdf, png, wav } from "../support/media.ts";
import { openSession, type OpenOptions } from "../support/with-runtime.ts";
import { asked, said, stepFinished, stepStarted, turnEnded } from "../projections/session-of.ts";
import { containing } from "../runtime/tools.ts";
import type { ToolPolicy } from "../../src/agent/index.ts";

const shot = png({ width: 200, height: 100, seed: 1 });
const base64 = shot.toString("base64");
const sha256 = hash("sha256", shot);
const reference = blobReference(sha256);
const measures = { bytes: shot.length, width: 200, height: 100 };

function shows(answer: unknown, more: Partial<ToolSet[string]> = {}): ToolSet {
  // The SDK infers a tool's types from its schema, and these have none.
  return { look: tool({ inputSchema: jsonSchema({}), execute: () => answer, ...more } as never) };
}

function dataOf<Type extends EventType>(
  events: readonly SessionEvent[],
  type: Type,
): readonly EventMap[Type][] {
  // The type tells the rest, which the compiler does not follow through a type parameter.
  return events.flatMap((event) => (event.type === type ? [event.data as EventMap[Type]] : []));
}

/** A session in which the tool is called once; what it left, and what the model was shown then. */
async function looked(tools: ToolSet, options: OpenOptions = {}) {
  const model = scriptedModel([calling(call("look", "1")), "Seen."]);
  await using open = await openSession({ model, tools }, options);
  await (
    await open.session.send("look")
  ).result;
  const events = await open.events();
  const result = model.calls[1]?.prompt.at(-1)?.content[0];
  const shown =
    typeof result === "object" && result.type === "tool-result" ? result.output : undefined;
  return { events, shown, succeeded: dataOf(events, "tool.succeeded")[0] };
}

describe("a file that is sent", () => {
  it("is stored once, however often it is sent, and is shown as it was sent", async () => {
    const log = await openMemoryLog();
    const model = scriptedModel(["One.", "Two.", "Three."]);
    await using open = await openSession({ model }, { log });
    for (const data of [shot, base64, `data:image/png;base64,${base64}`]) {
      await (
        await open.session.send([{ type: "file", data, mediaType: "image/png" }])
      ).result;
    }
    const events = await open.events();
    expect(dataOf(events, "blob.stored")).toEqual([
      { sha256, mediaType: "image/png", ...measures },
    ]);
    const file = { type: "file", data: reference, mediaType: "image/png", blob: measures };
    expect(dataOf(events, "message.queued").map(({ content }) => content)).toEqual([
      [file],
      [file],
      [file],
    ]);
    const types = events.map(({ type }) => type);
    expect(types.indexOf("blob.stored") + 1).toBe(types.indexOf("message.queued"));
    expect(await readBlob(log.blobs, sha256)).toEqual(shot);
    expect(JSON.stringify(events)).not.toContain(base64.slice(0, 100));
    const parts = model.calls[2]?.prompt.filter(({ role }) => role === "user");
    expect(parts?.map(({ content }) => content)).toEqual(
      Array.from({ length: 3 }, () => [
        { type: "file", mediaType: "image/png", data: { type: "data", data: base64 } },
      ]),
    );
  });

  it("is what its bytes are, whatever it is called", async () => {
    const model = scriptedModel(["Well."]);
    await using open = await openSession({ model });
    const gif = animatedGif({ width: 40, height: 30 });
    await (
      await open.session.send([
        { type: "file", data: shot, mediaType: "image/jpeg" },
        { type: "file", data: gif, mediaType: "image/png" },
        { type: "file", data: pdf(3, 5000), mediaType: "image/png", filename: "scan.png" },
      ])
    ).result;
    expect(
      dataOf(await open.events(), "blob.stored").map(({ mediaType, pages }) => [mediaType, pages]),
    ).toEqual([
      ["image/png", undefined],
      ["application/pdf", 3],
    ]);
    expect(model.calls[0]?.prompt[0]?.content).toMatchObject([
      { mediaType: "image/png" },
      { mediaType: "image/gif", data: { data: gif.toString("base64") } },
      { mediaType: "application/pdf", filename: "scan.png" },
    ]);
  });

  it("is a picture also when it is called text, and has its limits", async () => {
    const model = scriptedModel(["Well."]);
    const blobs = { maxBytes: shot.length };
    await using open = await openSession({ model }, { blobs });
    const called = (data: Uint8Array, mediaType: string) =>
      ({ type: "file", data, mediaType }) as const;
    const larger = png({ width: 300, height: 100, seed: 2 });
    await expect(open.session.send([called(larger, "text/plain")])).rejects.toMatchObject({
      code: "BLOB_TOO_LARGE",
    });
    const words = Buffer.from("words ".repeat(2000));
    await (
      await open.session.send([
        called(shot, "text/plain"),
        called(shot, "application/json"),
        called(words, "text/plain"),
      ])
    ).result;
    const file = { type: "file", data: reference, mediaType: "image/png", blob: measures };
    const [said] = dataOf(await open.events(), "message.queued");
    // Words stay where they are read, searched and counted.
    const text = { type: "file", data: words.toString("base64"), mediaType: "text/plain" };
    expect(said?.content).toEqual([file, file, text]);
  });

  it("that is broken or unknown is named to the model, and the session continues", async () => {
    const model = scriptedModel(["Hm.", "Fine."]);
    await using open = await openSession({ model });
    await (
      await open.session.send([
        { type: "file", data: shot.subarray(0, 5000), mediaType: "image/png", filename: "a.png" },
        { type: "file", data: new Uint8Array([0, 1, 2]), mediaType: "image/png" },
      ])
    ).result;
    const again = await (await open.session.send("and?")).result;
    expect(again.text).toBe("Fine.");
    const told = JSON.stringify(model.calls[0]?.prompt[0]?.content);
    expect(told).toMatch(/a\.png.{1,3}\(image\/png, 5000 bytes\).*broken.*@blob:/);
    expect(told).toMatch(/application\/octet-stream, 3 bytes.*nobody knows/);
  });

  it("is what it is called where bytes cannot tell, also when it was called nothing before", async () => {
    const sound = Buffer.alloc(20_000, 0x93);
    const model = scriptedModel(["What?", "Ah.", "Yes."]);
    await using open = await openSession({ model });
    for (const mediaType of ["application/octet-stream", "audio/l16", "image/png"]) {
      await (
        await open.session.send([{ type: "file", data: sound, mediaType }])
      ).result;
    }
    const heard = {
      type: "file",
      mediaType: "audio/l16",
      data: { data: sound.toString("base64") },
    };
    const users = model.calls.at(-1)?.prompt.filter(({ role }) => role === "user");
    expect(users?.map(({ content }) => content[0])).toMatchObject([
      { type: "text", text: containing("nobody knows what it is") },
      heard,
      // Whatever it is, it is no picture.
      { type: "text", text: containing("nobody knows what it is") },
    ]);
    expect(dataOf(await open.events(), "blob.stored").length).toBe(1);
  });

  it("keeps its earlier type when a later part has none", async () => {
    const sound = Buffer.alloc(20_000, 0x93);
    const model = scriptedModel(["Ah.", "Again."]);
    await using open = await openSession({ model });
    for (const mediaType of ["audio/l16", "application/octet-stream"]) {
      await (
        await open.session.send([{ type: "file", data: sound, mediaType }])
      ).result;
    }
    const users = model.calls.at(-1)?.prompt.filter(({ role }) => role === "user");
    expect(users?.map(({ content }) => content[0])).toMatchObject([
      { mediaType: "audio/l16" },
      { mediaType: "audio/l16" },
    ]);
    const queued = dataOf(await open.events(), "message.queued").map(({ content }) => content[0]);
    expect(queued).toMatchObject([{ mediaType: "audio/l16" }, { mediaType: "audio/l16" }]);
  });

  it("stays in the message where it is small, and where the runtime keeps no blobs", async () => {
    const small = png({ width: 2, height: 2 });
    for (const options of [{}, { blobs: false }] satisfies OpenOptions[]) {
      const model = scriptedModel(["Small."]);
      await using open = await openSession({ model }, options);
      const data = "blobs" in options ? shot : small;
      await (
        await open.session.send([{ type: "file", data, mediaType: "image/png" }])
      ).result;
      const events = await open.events();
      expect(dataOf(events, "blob.stored")).toEqual([]);
      expect(dataOf(events, "message.queued")[0]?.content).toEqual([
        { type: "file", data: data.toString("base64"), mediaType: "image/png" },
      ]);
    }
  });

  it("is not overtaken by the words behind it, also where the session is put away meanwhile", async () => {
    const kept = memoryBlobs();
    const store: BlobStore = {
      ...kept,
      put: async (...put) => {
        // Timers end in their order: by then the idle session has been put away.
        await setTimeout(3);
        return await kept.put(...put);
      },
    };
    const options = { blobs: { store }, idleAfterMs: 1 };
    await using open = await openSession({ model: scriptedModel(["1", "2", "3"]) }, options);
    const file = [{ type: "file", data: shot, mediaType: "image/png" } as const];
    const sent = [open.session.send(file), open.session.send("words")];
    for (const one of sent) await (await one).result;
    await (
      await open.session.send("and more")
    ).result;
    const queued = dataOf(await open.events(), "message.queued").map(({ content }) => content);
    expect(queued).toEqual([[expect.anything()], "words", "and more"]);
  });

  it("that is too large is refused before anything is recorded, by file and by session", async () => {
    const model = scriptedModel(["Yes."]);
    const blobs = { maxBytes: shot.length, maxSessionBytes: shot.length + 10 };
    await using open = await openSession({ model }, { blobs });
    const file = (data: Uint8Array) => [{ type: "file", data, mediaType: "image/png" } as const];
    const larger = png({ width: 300, height: 100, seed: 2 });
    const other = png({ width: 200, height: 90, seed: 3 });
    await expect(open.session.send(file(larger))).rejects.toMatchObject({
      code: "BLOB_TOO_LARGE",
      details: { of: "blob", limit: shot.length },
    });
    await (
      await open.session.send(file(shot))
    ).result;
    const before = await open.types();
    await expect(open.session.send(file(other))).rejects.toMatchObject({
      code: "BLOB_TOO_LARGE",
      details: { of: "session" },
    });
    expect(await open.types()).toEqual(before);
    // What the session has already costs nothing.
    await open.session.send(file(shot));
  });
});

describe("a reference", () => {
  const stolen = (data: string) => [{ type: "file", data, mediaType: "image/png" } as const];

  it("in words stays words, and to another session's blob is refused", async () => {
    const log = await openMemoryLog();
    const model = scriptedModel(["Mine.", "Words."]);
    await using open = await openSession({ model }, { log });
    await (
      await open.session.send(stolen(base64))
    ).result;
    const thief = await open.runtime.session("thief");
    await expect(thief.send(stolen(reference))).rejects.toMatchObject({ code: "INVALID_INPUT" });
    await (
      await thief.send([{ type: "text", text: reference }])
    ).result;
    expect(model.calls[1]?.prompt[0]?.content).toEqual([{ type: "text", text: reference }]);
    // Its own it may name again.
    await open.session.send(stolen(reference));
  });

  it("that a tool invents shows nothing of another session", async () => {
    const log = await openMemoryLog();
    const owner = await openSession({ model: scriptedModel(["Mine."]) }, { log });
    await (
      await owner.session.send(stolen(base64))
    ).result;
    await owner.runtime.close();
    const file = { type: "file", data: { type: "data", data: reference }, mediaType: "image/png" };
    const invents = shows("nothing", {
      toModelOutput: () => ({ type: "content", value: [file] }) as never,
    });
    const model = scriptedModel([calling(call("look", "1")), "Nothing."]);
    const { createRuntime } = await import("../../src/public/index.ts");
    await using runtime = await createRuntime({ log, agent: { model, tools: invents } });
    const thief = await runtime.session("thief");
    await (
      await thief.send("look")
    ).result;
    const prompt = JSON.stringify(model.calls[1]?.prompt);
    expect(prompt).not.toContain(base64.slice(0, 50));
    expect(prompt).toContain("this session has none of that name");
  });

  it("is good in a fork for what the fork shares", async () => {
    const model = scriptedModel(["One.", "Two."]);
    await using open = await openSession({ model });
    await (
      await open.session.send(stolen(base64))
    ).result;
    const fork = await open.session.fork({ id: "fork" });
    await (
      await fork.send(stolen(reference))
    ).result;
    expect(JSON.stringify(model.calls[1]?.prompt).split(base64).length).toBe(3);
  });

  it("to a blob that is gone or altered becomes a note, and what comes back is shown again", async () => {
    const kept = memoryBlobs();
    let state: "there" | "gone" | "altered" = "there";
    const store: BlobStore = {
      ...kept,
      async *get(name) {
        if (state === "gone") yield* kept.get(hash("sha256", "another"));
        if (state === "altered") throw new Error("altered");
        yield* kept.get(name);
      },
    };
    const model = scriptedModel(["1", "2", "3"]);
    await using open = await openSession({ model }, { blobs: { store }, idleAfterMs: 0 });
    state = "gone";
    await (
      await open.session.send(stolen(base64))
    ).result;
    state = "altered";
    await (
      await open.session.send("and now?")
    ).result;
    state = "there";
    await (
      await open.session.send("and now?")
    ).result;
    const prompts = model.calls.map(({ prompt }) => JSON.stringify(prompt));
    expect(prompts.map((prompt) => prompt.includes(base64))).toEqual([false, false, true]);
    expect(prompts[1]).toContain("it cannot be read");
  });
});

describe("a tool's answer", () => {
  it.each<[string, unknown, unknown]>([
    [
      "MCP's image",
      { content: [{ type: "image", data: base64, mimeType: "image/png" }] },
      { content: [{ type: "image", data: reference, mimeType: "image/png" }] },
    ],
    [
      "MCP's resource",
      { resource: { uri: "a", mimeType: "image/png", blob: base64 } },
      { resource: { uri: "a", mimeType: "image/png", blob: reference } },
    ],
    ["a data URL", { url: `data:image/png;base64,${base64}`, n: 1 }, { url: reference, n: 1 }],
    ["base64 that nobody named", [{ screen: base64 }], [{ screen: reference }]],
    ["a buffer", { shot }, { shot: reference }],
    ["a text that is one", `data:image/png;base64,${base64}`, reference],
  ])("with %s is kept as a blob, and the model is shown the picture", async (_, answer, kept) => {
    const { events, shown, succeeded } = await looked(shows(answer));
    expect(dataOf(events, "blob.stored")).toEqual([
      { sha256, mediaType: "image/png", ...measures },
    ]);
    expect(succeeded?.output).toEqual(kept);
    const file = { type: "file", mediaType: "image/png" };
    expect(succeeded?.modelOutput).toEqual({
      type: "content",
      value: [
        { type: "text", text: typeof kept === "string" ? kept : JSON.stringify(kept) },
        { ...file, data: { type: "data", data: reference }, blob: measures },
      ],
    });
    expect(shown).toMatchObject({
      type: "content",
      value: [{ type: "text" }, { ...file, data: { type: "data", data: base64 } }],
    });
    expect(JSON.stringify(shown)).not.toContain('"blob":{');
  });

  it.each([
    ["image-data", { type: "image-data", data: base64, mediaType: "image/png" }],
    ["file-data", { type: "file-data", data: base64, mediaType: "image/jpeg" }],
    ["file", { type: "file", data: { type: "data", data: base64 }, mediaType: "image" }],
  ])("that says by a content part (%s) what the model is shown, is shown so", async (_, part) => {
    const value = [{ type: "text", text: "here" }, part];
    const tools = shows(
      { ok: true },
      { toModelOutput: () => ({ type: "content", value }) as never },
    );
    const { events, shown, succeeded } = await looked(tools);
    expect(dataOf(events, "blob.stored").length).toBe(1);
    expect(succeeded?.output).toEqual({ ok: true });
    expect(JSON.stringify(succeeded)).not.toContain(base64.slice(0, 50));
    expect(shown).toMatchObject({
      type: "content",
      value: [{ text: "here" }, { type: "file", mediaType: "image/png", data: { data: base64 } }],
    });
  });

  it("has its pictures beside the log also where it calls them text", async () => {
    const part = { type: "file", mediaType: "text/plain", data: { type: "data", data: base64 } };
    const toModelOutput = () => ({ type: "content", value: [part] }) as never;
    const { succeeded, shown } = await looked(
      shows({ data: base64, mimeType: "text/plain" }, { toModelOutput }),
    );
    expect(succeeded?.output).toEqual({ data: reference, mimeType: "text/plain" });
    expect(succeeded?.modelOutput).toMatchObject({ value: [{ mediaType: "image/png" }] });
    expect(shown).toMatchObject({ value: [{ mediaType: "image/png" }] });
  });

  it("of a page names the pictures within, and leaves the page a text", async () => {
    const page = `<p>Hello<img src="data:image/png;base64,${base64}"> and bye</p>`;
    const { shown, succeeded } = await looked(shows(page));
    const kept = `<p>Hello<img src="${reference}"> and bye</p>`;
    expect(succeeded).toMatchObject({ output: kept });
    expect(shown).toEqual({ type: "text", value: kept });
  });

  it.each([
    ["a sequence of bases", "ACGT".repeat(3000)],
    ["a number", "0123456789abcdef".repeat(800)],
    ["a long text", "The quick brown fox. ".repeat(800)],
    [
      "text in a data URL",
      `data:text/plain;base64,${Buffer.from("hello ".repeat(2000)).toString("base64")}`,
    ],
    ["a small picture", png({ width: 1, height: 1 }).toString("base64")],
  ])("with %s stays as it is", async (_, text) => {
    const { events, shown, succeeded } = await looked(shows({ text }));
    expect(dataOf(events, "blob.stored")).toEqual([]);
    expect(succeeded?.output).toEqual({ text });
    expect(shown).toEqual({ type: "json", value: { text } });
  });

  it("above the limit of a blob is replaced by a note in the result", async () => {
    const { events, succeeded } = await looked(shows({ a: base64, b: 1 }), {
      blobs: { maxBytes: 5000 },
    });
    expect(dataOf(events, "blob.stored")).toEqual([]);
    expect(JSON.stringify(succeeded?.output)).toMatch(/^\{"a":"\[.*left out.*\]","b":1\}$/);
  });

  it("stays in the event when blobs cannot be stored, with a warning", async () => {
    const told: string[] = [];
    const store: BlobStore = {
      ...memoryBlobs(),
      put: () => Promise.reject(new Error("no room")),
    };
    const options = { blobs: { store }, onWarning: (error: Error) => told.push(error.message) };
    const { shown, succeeded } = await looked(shows({ a: base64 }), options);
    expect(succeeded?.output).toEqual({ a: base64 });
    expect(shown).toEqual({ type: "json", value: { a: base64 } });
    expect(told.join()).toMatch(/stays in the event/);
  });

  it("on the way to its end is kept too", async () => {
    const execute = async function* () {
      yield { screen: base64 };
      await setImmediate();
      yield { screen: base64, done: true };
    };
    const { events } = await looked(shows(undefined, { execute }));
    expect(dataOf(events, "tool.progressed").map(({ output }) => output)).toContainEqual({
      screen: reference,
    });
    expect(JSON.stringify(events)).not.toContain(base64.slice(0, 50));
    expect(dataOf(events, "blob.stored").length).toBe(1);
  });
});

describe("a file that a model makes", () => {
  it("is kept as a blob, and given back to it as it was made", async () => {
    const file = { type: "data", data: base64 } as const;
    const made = { type: "file", data: file, mediaType: "image/png" } as const;
    const parts = [{ type: "raw-part", part: made } as const, ...saying("There.").parts];
    const model = scriptedModel([{ parts }, "Yes."]);
    await using open = await openSession({ model });
    await (
      await open.session.send("draw")
    ).result;
    await (
      await open.session.send("again")
    ).result;
    const events = await open.events();
    expect(dataOf(events, "part.file")).toEqual([
      { data: reference, mediaType: "image/png", blob: measures },
    ]);
    const types = events.map(({ type }) => type);
    expect(types.indexOf("blob.stored") + 1).toBe(types.indexOf("part.file"));
    expect(model.calls[1]?.prompt[1]?.content).toMatchObject([
      { type: "file", mediaType: "image/png", data: { type: "data", data: base64 } },
      { type: "text", text: "There." },
    ]);
  });
});

it("a prompt of any position can be looked at with its media, as it is sent", async () => {
  const model = scriptedModel(["One.", "Two."]);
  await using open = await openSession({ model });
  await (
    await open.session.send([{ type: "file", data: shot, mediaType: "image/png" }])
  ).result;
  const at = (await open.events()).length;
  await (
    await open.session.send("more")
  ).result;
  const file = { type: "file", data: base64, mediaType: "image/png" };
  const text = { type: "text", text: "One." };
  expect(await promptWithMedia(open.log, "s", { position: at })).toEqual([
    { role: "user", content: [file] },
    { role: "assistant", content: [text] },
  ]);
  expect((await promptWithMedia(open.log, "s")).length).toBe(4);
});

describe("the media of a stored prompt", () => {
  const files = [
    { data: base64, mediaType: "image/png" },
    { data: wav(1).toString("base64"), mediaType: "audio/wav" },
    { data: pdf(1).toString("base64"), mediaType: "application/pdf" },
  ].map((file) => ({ type: "file" as const, ...file }));
  const step = (number: number, provider: string, modelId: string): readonly EventBody[] => {
    const started = stepStarted(number);
    if (started.type !== "step.started") throw new Error("It is no step.");
    return [
      { ...started, data: { ...started.data, model: { provider, modelId } } },
      ...said("Seen."),
      stepFinished(number, "tool-calls"),
    ];
  };

  /** The media types that the prompt of a session with these steps shows. */
  async function shownAfter(
    steps: readonly EventBody[],
    options: Parameters<typeof promptWithMedia>[2] = {},
  ): Promise<readonly string[]> {
    await using log = await openMemoryLog();
    const agent = { digest: "d", model: { provider: "p", modelId: "m" }, tools: [] };
    const queued = { id: "m1", content: files, delivery: "follow-up" } as const;
    const bodies: readonly EventBody[] = [
      { type: "session.created", data: { agent } },
      { type: "message.queued", data: queued },
      ...asked("").slice(1),
      ...steps,
      ...(steps.length === 0 ? [] : [turnEnded()]),
    ];
    await log.append(
      "s",
      "none",
      bodies.map((body) => ({ time: 1, ...body })),
    );
    const [message] = await promptWithMedia(log, "s", options);
    if (message === undefined || typeof message.content === "string") return [];
    return message.content.flatMap((part) => (part.type === "file" ? [part.mediaType] : []));
  }

  const all = ["image/png", "audio/wav", "application/pdf"];
  const silent = ["image/png", "application/pdf"];
  const claude = { provider: "anthropic.messages", modelId: "claude-sonnet-4-5" };
  const other = { provider: "turnlog", modelId: "scripted" };

  it.each<[string, readonly EventBody[], Parameters<typeof promptWithMedia>[2], readonly string[]]>(
    [
      ["all of them before any step", [], {}, all],
      [
        "those of the last step's model",
        [...step(1, other.provider, other.modelId), ...step(2, claude.provider, claude.modelId)],
        {},
        silent,
      ],
      [
        "those of the last step's model, not of an earlier one",
        [...step(1, claude.provider, claude.modelId), ...step(2, other.provider, other.modelId)],
        {},
        all,
      ],
      [
        "those of the last step before the position",
        [...step(1, claude.provider, claude.modelId), ...step(2, other.provider, other.modelId)],
        { position: 9 },
        silent,
      ],
      ["those of the model that is named", [], { model: claude }, silent],
    ],
  )("are %s", async (_, steps, options, shown) => {
    expect(await shownAfter(steps, options)).toEqual(shown);
  });
});

it("a session with media is replayed without them", async () => {
  const policy: ToolPolicy = {};
  const tools = shows({ content: [{ type: "image", data: base64, mimeType: "image/png" }] });
  const agent = {
    model: scriptedModel([calling(call("look", "1")), "Seen.", "Heard."]),
    tools,
    toolPolicies: { look: policy },
  };
  await using open = await openSession(agent);
  await (
    await open.session.send([
      { type: "file", data: pdf(2, 9000), mediaType: "application/pdf" },
      { type: "text", text: "look" },
    ])
  ).result;
  await (
    await open.session.send([{ type: "file", data: wav(1), mediaType: "audio/wav" }])
  ).result;
  const events = await open.events();
  expect(dataOf(events, "blob.stored").length).toBe(3);
  expect(await replay(events, agent)).toEqual({
    events: events.length,
    parts: expect.anything() as unknown,
  });
  const fixture = await readSessionFile(await exportFixture(open.log, "s"));
  expect(await replay(fixture.events, agent)).toEqual({
    events: events.length,
    parts: expect.anything() as unknown,
  });
});

describe("an answer that is a failure", () => {
  it("has its media beside the log too, in the error as in what the model is shown", async () => {
    const result = {
      isError: true,
      content: [
        { type: "text", text: "This is what went wrong:" },
        { type: "image", data: base64, mimeType: "image/png" },
      ],
    };
    const failure = Object.assign(new Error("It failed."), {
      code: "MCP_TOOL_FAILED",
      details: { result },
    });
    const tools = shows(undefined, { execute: () => Promise.reject(failure) });
    const { events, shown } = await looked(tools);
    expect(dataOf(events, "blob.stored")).toHaveLength(1);
    expect(JSON.stringify(events)).not.toContain(base64.slice(0, 100));
    const [failed] = dataOf(events, "tool.failed");
    expect(failed?.error).toMatchObject({ message: "It failed.", code: "MCP_TOOL_FAILED" });
    expect(JSON.stringify(failed)).toContain(reference);
    expect(JSON.stringify(shown)).toContain(base64);
  });
});

describe("where sessions are encrypted", () => {
  it("media stay in their events, and no blob is stored", async () => {
    const log = await openMemoryLog();
    const keys = memoryKeys();
    const model = scriptedModel(["Seen.", "Gone."]);
    await using runtime = await createRuntime({ log, encryption: { keys }, agent: { model } });
    const session = await runtime.session("s");
    const files = [{ type: "file" as const, data: shot, mediaType: "image/png" }];
    await (
      await session.send(files)
    ).result;
    expect(await Array.fromAsync(log.blobs.list())).toEqual([]);
    expect(JSON.stringify(await Array.fromAsync(log.read("s")))).not.toContain(base64.slice(0, 40));
    expect(JSON.stringify(model.calls[0]?.prompt)).toContain(base64);
    const queued = (await Array.fromAsync(runtime.log.read("s"))).find(
      ({ type }) => type === "message.queued",
    );
    await session.redact([queued?.position ?? 0]);
    await (
      await session.send("and now?")
    ).result;
    expect(JSON.stringify(model.calls[1]?.prompt)).not.toContain(base64.slice(0, 40));
  });

  it("a session that has media beside its log is not imported, and none of them is written", async () => {
    const from = await openMemoryLog();
    {
      await using open = await openSession({ model: scriptedModel(["Seen."]) }, { log: from });
      await (
        await open.session.send([{ type: "file", data: shot, mediaType: "image/png" }])
      ).result;
    }
    const log = await openMemoryLog();
    const encrypted = encryptedLog(log, memoryKeys());
    for (const blobs of ["inline", "none"] as const) {
      const lines = exportSession(from, "s", { blobs });
      await expect(importSession(encrypted, lines, { verify: false })).rejects.toMatchObject({
        code: "INVALID_INPUT",
      });
    }
    expect(await Array.fromAsync(log.blobs.list())).toEqual([]);
    expect(await log.revision("s")).toBe(0);
  });
});
