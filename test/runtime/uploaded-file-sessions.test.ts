/** Sessions with files that lie with a provider: by every law, within every limit, from other programs. */

import type { ModelMessage } from "ai";
import { describe, expect, it } from "vitest";
import type { EventLog, SessionEvent } from "../../src/events/index.ts";
import { forkSession } from "../../src/archive/index.ts";
import {
  createRuntime,
  encryptedLog,
  exportFixture,
  exportSession,
  importMessages,
  importSession,
  memoryKeys,
  openMemoryLog,
  promptWithMedia,
  readSessionFile,
  verifySession,
  viewSession,
  type Agent,
} from "../../src/public/index.ts";
import { differenceText, replay } from "../../src/replay/index.ts";
import type { ScriptedModel } from "../../src/models/index.ts";
import { png } from "../support/media.ts";
import { storedEvents } from "../support/replay.ts";
import { call, calling } from "../support/script.ts";
import {
  here,
  both,
  uploaded,
  picture,
  named,
  ask,
  gpt,
  claude,
  turnsOf,
  queued,
  look,
} from "../support/uploaded-files.ts";
import { openSession } from "../support/with-runtime.ts";
import type { ContextOptions } from "../../src/agent/index.ts";
import type { UserInput } from "../../src/media/index.ts";

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
      started.map(async ({ position }) => {
        const { messages: prompt } = (await viewSession(log, "s", position)).prompt;
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
    await forkSession(log, "s", { as: "f", position: events.length });
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

  it("is exported and imported exactly, and sent to the named providers", async () => {
    await using log = await openMemoryLog();
    const events = await session(log);
    const lines = await Array.fromAsync(exportSession(log, "s"));
    await using other = await openMemoryLog();
    await importSession(other, lines);
    expect(await storedEvents(other, "s")).toEqual(events);
    expect((await verifySession(other, "s")).problems).toEqual([]);
    const { messages: prompt } = (await viewSession(log, "s")).prompt;
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
    await open.session.redact(told.map(({ position }) => position));
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
    await importMessages(log, messages, { from: "model-messages", as: "s" });
    expect((await viewSession(log, "s")).prompt.messages).toEqual([
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
    await importMessages(
      log,
      [
        { id: "1", role: "user", parts: [ask, { ...file, providerReference: here }] },
        { id: "2", role: "assistant", parts: [{ type: "text", text: "A cat." }] },
      ],
      { from: "ui-messages", as: "s" },
    );
    expect((await viewSession(log, "s")).prompt.messages[0]).toEqual({
      role: "user",
      content: [ask, picture],
    });
    expect((await verifySession(log, "s")).problems).toEqual([]);
  });
});
