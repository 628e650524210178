/** Files that lie with a provider: what of them is kept, and who is shown them. */

import { tool, type ModelMessage, type ToolSet } from "ai";
import { describe, expect, it } from "vitest";
import type { EventLog, SessionEvent } from "../../src/events/index.ts";
import {
  createRuntime,
  encryptedLog,
  exportFixture,
  exportSession,
  forkSession,
  importModelMessages,
  importSession,
  importUIMessages,
  memoryBlobs,
  memoryKeys,
  openMemoryLog,
  promptWithMedia,
  readSessionFile,
  verifySession,
  viewSession,
  type Agent,
  type ContextOptions,
  type UserInput,
} from "../../src/index.ts";
import {
  differenceText,
  replay,
  scriptedModel,
  type Script,
  type ScriptedModel,
} from "../../src/testing/index.ts";
import { png } from "../support/media.ts";
import { storedEvents } from "../support/replay.ts";
import { call, calling } from "../support/script.ts";
import { openSession } from "../support/with-runtime.ts";
import { nothing } from "./tools.ts";

const here = { openai: "file-1" };
const both = { openai: "file-1", anthropic: "file_2" };
const uploaded = { type: "reference" as const, reference: here };
const picture = { type: "file" as const, mediaType: "image/png", data: uploaded };
const named = { ...picture, filename: "shot.png" };
const ask = { type: "text" as const, text: "What is this?" };

function modelOf(provider: string, modelId: string, script: Script): ScriptedModel {
  const model = scriptedModel(script);
  return { ...model, provider, modelId, calls: model.calls };
}

const gpt = (script: Script = ["Seen."]): ScriptedModel =>
  modelOf("openai.responses", "gpt-5", script);
const claude = (script: Script = ["Seen."]): ScriptedModel =>
  modelOf("anthropic.messages", "claude-sonnet-4-5", script);

/** The parts of the first message that a model was shown. */
function shown({ calls }: ScriptedModel, nth = 0): unknown {
  return calls[nth]?.prompt.find(({ role }) => role === "user")?.content;
}

/** One turn of each agent, one after the other, in one session; the log keeps every law after each. */
async function turnsOf(
  log: EventLog,
  ...turns: readonly (readonly [Agent, UserInput])[]
): Promise<readonly SessionEvent[]> {
  for (const [agent, input] of turns) {
    await using open = await openSession(agent, { log });
    await (
      await open.session.send(input)
    ).result;
    expect((await verifySession(log, "s")).problems).toEqual([]);
  }
  return await storedEvents(log, "s");
}

function queued(events: readonly SessionEvent[]): unknown {
  return events.find((event) => event.type === "message.queued")?.data.content;
}

const noteAbout = (about: string): object => ({
  type: "text",
  text: `[The file ${about}]`,
});

describe("a message with a file that lies with a provider", () => {
  it.each<[string, UserInput, object]>([
    ["under the SDK's tag", [ask, named], named],
    ["bare, as it is uploaded", [ask, { ...picture, data: here }], picture],
    [
      "as an image",
      [ask, { type: "image", image: here, mediaType: "image/png" }],
      { ...picture, mediaType: "image/png" },
    ],
    [
      "as an image of some kind",
      [ask, { type: "image", image: here }],
      { ...picture, mediaType: "image/*" },
    ],
  ])("is kept as it is and reaches that provider, sent %s", async (_, input, stored) => {
    await using log = await openMemoryLog();
    const model = gpt();
    const events = await turnsOf(log, [{ model }, input]);
    expect(queued(events)).toEqual([ask, stored]);
    expect(shown(model)).toMatchObject([ask, { type: "file", data: uploaded }]);
    // Once more in the form in which the history has it.
    const again = gpt();
    const [item] = (await viewSession(log, "s")).history;
    if (item?.kind !== "user") throw new Error("The history does not begin with the message.");
    await using other = await openMemoryLog();
    await turnsOf(other, [{ model: again }, item.content]);
    expect(shown(again)).toEqual(shown(model));
  });

  it.each<[string, object]>([
    ["nobody", {}],
    ["a provider that calls it nothing", { openai: "" }],
    ["a number", { openai: 1 }],
    ["names under another tag", { type: "referral", openai: "file-1" }],
  ])("is refused, and nothing is recorded, where it names %s", async (_, reference) => {
    await using open = await openSession({ model: gpt() });
    for (const data of [reference, { type: "reference", reference }]) {
      // What JavaScript may send.
      const part = { ...picture, data } as unknown as typeof picture;
      await expect(open.session.send([ask, part])).rejects.toMatchObject({ code: "INVALID_INPUT" });
    }
    expect(await open.types()).toEqual(["session.created"]);
  });

  it("is no content: nothing lies beside the log for it, and nothing is collected", async () => {
    const store = memoryBlobs();
    const model = gpt();
    const blobs = { store, inlineBytes: 0 };
    await using open = await openSession({ model }, { blobs });
    await (
      await open.session.send([named])
    ).result;
    expect(await Array.fromAsync(store.list())).toEqual([]);
    expect(await open.types()).not.toContain("blob.stored");
    expect(await open.runtime.collectBlobs()).toEqual({ removed: 0, bytes: 0 });
    expect(shown(model)).toMatchObject([{ data: uploaded }]);
  });
});

describe("a model of another provider", () => {
  it("is told by a note what lies where, and who has it finds it again", async () => {
    await using log = await openMemoryLog();
    const [first, other, back] = [gpt(), claude(), gpt()];
    const events = await turnsOf(
      log,
      [{ model: first }, [ask, named]],
      [{ model: other }, "And you?"],
      [{ model: back }, "And now?"],
    );
    expect(shown(other)).toEqual([
      ask,
      noteAbout(
        '"shot.png" (image/png) is not shown here: it lies with another provider. openai: file-1',
      ),
    ]);
    expect(shown(back)).toEqual(shown(first));
    expect(queued(events)).toEqual([ask, named]);
  });

  it("is shown what lies with its provider too", async () => {
    await using log = await openMemoryLog();
    const [first, other] = [gpt(), claude()];
    const merged = { ...picture, data: both };
    await turnsOf(log, [{ model: first }, [merged]], [{ model: other }, "And you?"]);
    for (const model of [first, other]) {
      expect(shown(model)).toMatchObject([{ data: { type: "reference", reference: both } }]);
    }
  });

  const pdf = "application/pdf";
  it.each<[string, string, string, object, boolean]>([
    ["openai.chat", "gpt-5", pdf, here, true],
    ["xai.responses", "grok-4", "image", { xai: "f" }, true],
    ["acme.chat", "one", "image/png", { acme: "f" }, true],
    ["google.generative-ai", "gemini-3-pro", "image/png", { google: "uri" }, true],
    // Whose clients look for another name, have no files, or are not told enough.
    ["google.generative-ai", "gemini-3-pro", "image/*", { google: "uri" }, false],
    ["google.vertex.chat", "gemini-3-pro", "image/png", { google: "uri" }, false],
    ["vertex.anthropic.messages", "claude-opus-4-6", pdf, both, false],
    ["bedrock.anthropic.messages", "claude-opus-4-6", pdf, both, false],
    ["azure.responses", "gpt-5", pdf, { azure: "f" }, true],
    ["azure.responses", "gpt-5", pdf, here, false],
    ["azure.chat", "gpt-5", pdf, { azure: "f" }, false],
    ["gateway", "openai/gpt-5", pdf, here, false],
    ["groq.chat", "llama", "image/png", { groq: "f" }, false],
    ["moonshotai.chat", "kimi", pdf, { moonshotai: "ms://f" }, false],
    ["constructor.chat", "one", "image/png", here, false],
    // What the model does not take at all.
    ["openai.responses", "gpt-5", "audio/wav", here, false],
    ["openai.responses", "gpt-3.5-turbo", "image/png", here, false],
    ["anthropic.messages", "claude-sonnet-4-5", "text/csv", both, true],
  ])("%s %s of %s in %j: shown it is %s", async (provider, id, mediaType, data, isShown) => {
    await using log = await openMemoryLog();
    const model = modelOf(provider, id, ["Seen."]);
    const part = { ...picture, mediaType, data } as typeof picture;
    await turnsOf(log, [{ model }, [ask, part]]);
    expect(shown(model)).toMatchObject([ask, { type: isShown ? "file" : "text" }]);
  });
});

const look = (): ToolSet => ({
  look: tool({
    inputSchema: nothing,
    execute: () => "seen",
    toModelOutput: () => ({
      type: "content",
      value: [
        { type: "text", text: "Here:" },
        { type: "file", mediaType: "image/png", filename: "shot.png", data: uploaded },
      ],
    }),
  }),
});

describe("a tool's answer with files that lie with a provider", () => {
  it("shows them to that provider, and notes to others", async () => {
    await using log = await openMemoryLog();
    const model = gpt([calling(call("look", "1")), "Seen."]);
    const other = claude();
    await turnsOf(
      log,
      [{ model, tools: look() }, "Look."],
      [{ model: other, tools: look() }, "You?"],
    );
    const answers = [model.calls[1], other.calls[0]].map(
      (one) => one?.prompt.find(({ role }) => role === "tool")?.content,
    );
    const why = "is not shown here: it lies with another provider. openai: file-1";
    expect(answers).toMatchObject([
      [
        {
          output: {
            type: "content",
            value: [
              { type: "text", text: "Here:" },
              { type: "file", filename: "shot.png", data: uploaded },
            ],
          },
        },
      ],
      [
        {
          output: {
            type: "content",
            value: [{ type: "text", text: "Here:" }, noteAbout(`"shot.png" (image/png) ${why}`)],
          },
        },
      ],
    ]);
  });

  it.each<[string, object, string]>([
    ["file-reference", { providerReference: here }, "application"],
    ["image-file-reference", { providerReference: here }, "image"],
    ["image-file-id", { fileId: here }, "image"],
  ])("shows notes in the place of the older %s too", async (type, data, kind) => {
    await using log = await openMemoryLog();
    const model = claude([calling(call("look", "1")), "Seen."]);
    // One of those that the SDK has given up, and still takes.
    const value = [{ type, ...data }] as unknown as [{ type: "text"; text: string }];
    const old = tool({
      inputSchema: nothing,
      execute: () => "seen",
      toModelOutput: () => ({ type: "content", value }),
    });
    await turnsOf(log, [{ model, tools: { look: old } }, "Look."]);
    expect(model.calls[1]?.prompt.at(-1)?.content).toMatchObject([
      {
        output: {
          value: [
            noteAbout(`(${kind}) is not shown here: it lies with another provider. openai: file-1`),
          ],
        },
      },
    ]);
  });
});

/** A session of two turns and a tool with such files in each. */
async function session(log: EventLog): Promise<readonly SessionEvent[]> {
  const model = gpt([calling(call("look", "1")), "Seen.", "Again."]);
  const agent: Agent = { model, tools: look() };
  return await turnsOf(log, [agent, [ask, named]], [agent, [{ ...picture, data: both }]]);
}

describe("a session with files that lie with a provider", () => {
  it("happens again in a replay, as it was recorded", async () => {
    await using log = await openMemoryLog();
    const events = await session(log);
    const agent: Agent = { model: gpt([]), tools: look() };
    const { difference } = await replay(events, agent);
    expect(difference && differenceText(difference)).toBeUndefined();
    const fixture = await readSessionFile(await exportFixture(log, "s"));
    expect(JSON.stringify(fixture.events)).toContain('{"openai":"file-1"}');
    const again = await replay(fixture.events, agent);
    expect(again.difference && differenceText(again.difference)).toBeUndefined();
  });

  it("is at each position what it was there, with a digest that goes by the files", async () => {
    await using log = await openMemoryLog();
    const events = await session(log);
    const started = events.filter((event) => event.type === "step.started");
    expect(new Set(started.map(({ data }) => data.promptDigest)).size).toBe(3);
    const named = await Promise.all(
      started.map(async ({ seq }) => {
        const { prompt } = await viewSession(log, "s", seq);
        return JSON.stringify(prompt).match(/file-1/g)?.length;
      }),
    );
    expect(named).toEqual([1, 2, 3]);
    // Another name is another prompt.
    const changed = events.map((event) => {
      const text = JSON.stringify(event).replace('"openai":"file-1"', '"openai":"file-9"');
      return event.type === "message.queued" ? (JSON.parse(text) as SessionEvent) : event;
    });
    await using other = await openMemoryLog();
    await other.append("s", "none", changed);
    const { problems } = await verifySession(other, "s");
    expect(problems.map(({ rule }) => rule)).toContain("prompts");
  });

  it("is forked with them, for a model of another provider too", async () => {
    await using log = await openMemoryLog();
    const events = await session(log);
    await forkSession(log, "s", { as: "f", at: events.length });
    const model = claude();
    await using runtime = await createRuntime({ log, agent: { model, tools: look() } });
    const fork = await runtime.session("f");
    await (
      await fork.send("And you?")
    ).result;
    expect(JSON.stringify(model.calls[0]?.prompt)).not.toContain('"reference":{"openai":"file-1"}');
    expect(JSON.stringify(model.calls[0]?.prompt)).toContain('"anthropic":"file_2"');
    expect((await verifySession(log, "f")).problems).toEqual([]);
    expect((await verifySession(log, "s")).problems).toEqual([]);
  });

  it("is exported and imported exactly, and shown to whoever is named", async () => {
    await using log = await openMemoryLog();
    const events = await session(log);
    const lines = await Array.fromAsync(exportSession(log, "s"));
    await using other = await openMemoryLog();
    await importSession(other, lines);
    expect(await storedEvents(other, "s")).toEqual(events);
    expect((await verifySession(other, "s")).problems).toEqual([]);
    const { prompt } = await viewSession(log, "s");
    expect(await promptWithMedia(other, "s")).toEqual(prompt);
    const { provider, modelId } = claude();
    const [first] = await promptWithMedia(other, "s", { model: { provider, modelId } });
    expect(first?.content).toMatchObject([ask, { type: "text" }]);
  });

  it("is encrypted with their names, and gives them up where it is redacted", async () => {
    const stored = await openMemoryLog();
    const log = encryptedLog(stored, memoryKeys());
    const events = await session(log);
    expect(JSON.stringify(await storedEvents(stored, "s"))).not.toMatch(/file[-_][12]/);
    const told = events.filter((event) => /file[-_][12]/.test(JSON.stringify(event)));
    expect(told.map(({ type }) => type)).toEqual([
      "message.queued",
      "tool.succeeded",
      "message.queued",
    ]);
    const model = gpt();
    await using open = await openSession({ model, tools: look() }, { log });
    await open.session.redact(told.map(({ seq }) => seq));
    await (
      await open.session.send("What was it?")
    ).result;
    expect(JSON.stringify(model.calls[0]?.prompt)).not.toMatch(/file[-_][12]/);
    expect(queued(await open.events())).toBe("[redacted]");
    expect((await verifySession(log, "s")).problems).toEqual([]);
  });
});

describe("a request", () => {
  const media: ContextOptions = { media: { pictures: 4 }, compact: false };
  const pictures = (count: number, data: (typeof picture)["data"] | Buffer = uploaded) =>
    Array.from({ length: count }, () => ({ ...picture, data }));

  it("has no more pictures than it may, wherever they lie, and notes say what stood there", async () => {
    const model = gpt(() => "Seen.");
    await using open = await openSession({ model, context: media });
    for (const _ of [1, 2]) {
      await (
        await open.session.send([ask, ...pictures(3)])
      ).result;
    }
    expect(await open.types()).toContain("context.media-omitted");
    const prompt = JSON.stringify(model.calls[1]?.prompt);
    expect(prompt.match(/"type":"reference"/g)).toHaveLength(3);
    expect(prompt).toContain(
      "[The file (image/png) is no longer shown: the request would be too large. openai: file-1]",
    );
  });

  it("has any number of those that its model is not shown", async () => {
    const model = claude(() => "Seen.");
    await using open = await openSession({ model, context: media });
    await (
      await open.session.send([ask, ...pictures(9)])
    ).result;
    expect(await open.types()).not.toContain("context.media-omitted");
  });

  it("has none left out for bytes that only others have", async () => {
    const model = gpt(() => "Seen.");
    const context: ContextOptions = { media: { requestBytes: 20_000 }, compact: false };
    await using open = await openSession({ model, context });
    await (
      await open.session.send([...pictures(2), { ...ask, text: "x".repeat(30_000) }])
    ).result;
    expect(await open.types()).not.toContain("context.media-omitted");
    // With something that has bytes behind them, all that is older goes.
    const seen = png({ width: 90, height: 60, seed: 1 });
    await (
      await open.session.send(pictures(1, seen))
    ).result;
    const omitted = (await open.events()).find((event) => event.type === "context.media-omitted");
    expect(omitted?.data).toMatchObject({ media: 3 });
  });

  it("is estimated with them as media of their kind, or as the notes that stand for them", async () => {
    const tokensOf = async (model: ScriptedModel, content: UserInput): Promise<number> => {
      await using open = await openSession({ model });
      await (
        await open.session.send(content)
      ).result;
      const started = (await open.events()).find((event) => event.type === "step.started");
      return started?.data.estimate?.tokens ?? Number.NaN;
    };
    const screenshot = { ...picture, data: png({ width: 1280, height: 720 }) };
    const [plain, seen, there] = [
      await tokensOf(gpt(), [ask]),
      await tokensOf(gpt(), [ask, screenshot]),
      await tokensOf(gpt(), [ask, picture]),
    ];
    expect(seen - plain).toBeGreaterThan(500);
    expect(there).toBe(seen);
    const told = (await tokensOf(claude(), [ask, picture])) - (await tokensOf(claude(), [ask]));
    expect(told).toBeGreaterThan(10);
    expect(told).toBeLessThan(60);
  });
});

describe("messages of the AI SDK that are imported", () => {
  it("bring their files that lie with a provider, of users, of tools and in replies", async () => {
    await using log = await openMemoryLog();
    const content = { type: "content" as const, value: [picture] };
    const id = { toolCallId: "1", toolName: "look" };
    const messages: ModelMessage[] = [
      { role: "user", content: [ask, { ...picture, data: here }, { type: "image", image: here }] },
      { role: "assistant", content: [{ type: "tool-call", ...id, input: {} }] },
      { role: "tool", content: [{ type: "tool-result", ...id, output: content }] },
      { role: "assistant", content: [{ type: "text", text: "So:" }, picture] },
    ];
    await importModelMessages(log, messages, { as: "s" });
    expect((await viewSession(log, "s")).prompt).toEqual([
      {
        role: "user",
        content: [ask, picture, { ...picture, mediaType: "image/*" }],
      },
      ...messages.slice(1),
    ]);
    const other = claude();
    await turnsOf(log, [{ model: other, tools: look() }, "And you?"]);
    expect(JSON.stringify(other.calls[0]?.prompt)).not.toContain('"type":"reference"');
    expect(
      other.calls[0]?.prompt.filter(({ role }) => role === "assistant")[1]?.content,
    ).toMatchObject([
      { type: "text", text: "So:" },
      { type: "text", text: expect.stringContaining("openai: file-1") as unknown },
    ]);
  });

  it("bring those of a chat", async () => {
    await using log = await openMemoryLog();
    const file = { type: "file" as const, mediaType: "image/png", url: "https://a.invalid/b.png" };
    await importUIMessages(
      log,
      [
        { id: "1", role: "user", parts: [ask, { ...file, providerReference: here }] },
        { id: "2", role: "assistant", parts: [{ type: "text", text: "A cat." }] },
      ],
      { as: "s" },
    );
    expect((await viewSession(log, "s")).prompt[0]).toEqual({
      role: "user",
      content: [ask, picture],
    });
    expect((await verifySession(log, "s")).problems).toEqual([]);
  });
});
