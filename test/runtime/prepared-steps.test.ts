/** Steps that `prepareStep` changed, in whatever else happens to their sessions. */

import type { ModelMessage, PrepareStepFunction, ToolSet } from "ai";
import { describe, expect, it } from "vitest";
import { blobReference, type SessionEvent } from "../../src/events/index.ts";
import { scriptedModel, type ScriptedModel } from "../../src/models/index.ts";
import {
  encryptedLog,
  exportFixture,
  exportSession,
  importSession,
  isRedacted,
  memoryKeys,
  openMemoryLog,
  promptWithMedia,
  readSessionFile,
  verifySession,
  viewSession,
  type Agent,
  type EventLog,
  type Session,
} from "../../src/public/index.ts";
import { replay } from "../../src/replay/index.ts";
import { png } from "../support/media.ts";
import { storedEvents } from "../support/replay.ts";
import { call, calling } from "../support/script.ts";
import { openSession } from "../support/with-runtime.ts";
import { echo } from "./tools.ts";

type PrepareStep = PrepareStepFunction<ToolSet>;

const SECRET = "reminder-secret-4711";
const reminder = { role: "user", content: `Remember ${SECRET}.` } as const;

/** The first step of each turn has the newest message only, with a reminder and other instructions. */
const prepareStep: PrepareStep = ({ messages, stepNumber }) =>
  stepNumber === 0
    ? { messages: [...messages.slice(-1), reminder], instructions: `Keep ${SECRET}.` }
    : {};

/** Calls a tool in each turn, and then says that it is done. */
function working(): ScriptedModel {
  return scriptedModel(({ prompt }) =>
    prompt.at(-1)?.role === "tool" ? "Done." : calling(call("echo", "c", { value: 1 })),
  );
}

function agentOf(given: Partial<Agent> = {}): Agent {
  return { model: working(), tools: { echo }, prepareStep, ...given };
}

async function say(session: Session, ...texts: readonly string[]): Promise<void> {
  for (const text of texts) expect((await (await session.send(text)).result).text).toBe("Done.");
}

async function find(log: EventLog, type: SessionEvent["type"], nth = 0): Promise<number> {
  const found = (await storedEvents(log, "s")).filter((event) => event.type === type).at(nth);
  expect(found, type).toBeDefined();
  return found?.position ?? 0;
}

/** The prompt of each step as the log has it; `verify` finds nothing wrong. */
async function prompts(log: EventLog, session = "s"): Promise<readonly ModelMessage[][]> {
  expect(await verifySession(log, session, { every: 1 })).toMatchObject({ problems: [] });
  const started = (await storedEvents(log, session)).filter(({ type }) => type === "step.started");
  const views = started.map(({ position }) => viewSession(log, session, position - 1));
  return (await Promise.all(views)).map(({ prompt }) => [...prompt.messages]);
}

const has = (prompt: readonly ModelMessage[] | undefined, text: string): boolean =>
  JSON.stringify(prompt).includes(text);

describe("a redaction", () => {
  it("of a prepared step takes its words, and its prompts are those of the history", async () => {
    const stored = await openMemoryLog();
    const log = encryptedLog(stored, memoryKeys());
    await using open = await openSession(agentOf(), { log });
    await say(open.session, "One.", "Two.");
    const position = await find(log, "step.prepared");
    // Its text is an event of its own.
    await open.session.redact([position - 1, position]);
    const events = await open.events();
    expect(events.filter(isRedacted).map((event) => event.position)).toEqual([
      position - 1,
      position,
    ]);
    expect(JSON.stringify(events.slice(0, position))).not.toContain(SECRET);
    const [first, second, third] = await prompts(log);
    expect([first, second, third].map((prompt) => has(prompt, SECRET))).toEqual([
      false,
      false,
      true,
    ]);
    expect(first).toMatchObject([{ role: "user", content: "One." }]);
    await say(open.session, "Three.");
    await prompts(log);
  });

  it("of a message leaves what was added beside it", async () => {
    const log = encryptedLog(await openMemoryLog(), memoryKeys());
    await using open = await openSession(agentOf(), { log });
    await say(open.session, "A secret message.", "Two.");
    await open.session.redact(await find(log, "message.queued"));
    const [first] = await prompts(log);
    expect([has(first, "A secret message."), has(first, SECRET)]).toEqual([false, true]);
    await say(open.session, "Three.");
    await prompts(log);
  });
});

describe("a fork", () => {
  it("right after a step was prepared sends what was prepared, and asks nobody again", async () => {
    const given = working();
    await using open = await openSession(agentOf({ model: given }));
    await say(open.session, "One.", "Two.");
    const position = await find(open.log, "step.prepared", 2);
    const model = working();
    let asked = 0;
    const counted: PrepareStep = (options) => {
      asked += 1;
      return options.stepNumber === 0 ? { messages: [reminder] } : {};
    };
    await using next = await openSession(agentOf({ model, prepareStep: counted }), {
      log: open.log,
      recovery: "continue",
    });
    const fork = await next.session.fork({ id: "f", position });
    await fork.idle();
    expect(model.calls[0]?.prompt).toEqual(given.calls[2]?.prompt);
    // Only for the step behind the tool.
    expect(asked).toBe(1);
    await say(fork, "Three.");
    expect(asked).toBe(3);
    const [, , third] = await prompts(open.log, "f");
    expect(third).toEqual((await prompts(open.log))[2]);
  });

  it("that stops there has the messages of the history in its next turn", async () => {
    await using open = await openSession(agentOf());
    await say(open.session, "One.", "Two.");
    const position = await find(open.log, "step.prepared", 2);
    const fork = await open.session.fork({ id: "f", position });
    await fork.idle();
    await fork.resume();
    await say(fork, "Three.");
    expect((await fork.view()).prompt.messages.filter(({ role }) => role === "user")).toHaveLength(
      3,
    );
    await prompts(open.log, "f");
  });
});

describe("a file that prepareStep adds", () => {
  const shot = png({ width: 200, height: 100, seed: 1 });
  const picture = {
    role: "user",
    content: [{ type: "file", mediaType: "image/png", data: shot.toString("base64") }],
  } as const satisfies ModelMessage;
  const showing: PrepareStep = ({ messages, stepNumber }) =>
    stepNumber === 0 ? { messages: [...messages, picture] } : {};

  it("is stored once beside the log, and the model is shown it in each step of the turn", async () => {
    const model = working();
    await using open = await openSession(agentOf({ model, prepareStep: showing }));
    await say(open.session, "One.", "Two.");
    const events = await open.events();
    const blobs = events.flatMap(({ type, data }) => (type === "blob.stored" ? [data.sha256] : []));
    expect(blobs).toHaveLength(1);
    const base64 = shot.toString("base64");
    expect(JSON.stringify(events)).not.toContain(base64.slice(0, 100));
    expect(
      model.calls.map(({ prompt }) => JSON.stringify(prompt).split(base64).length - 1),
    ).toEqual([1, 1, 1, 1]);
    const [first] = await prompts(open.log);
    expect(has(first, blobReference(blobs[0] ?? ""))).toBe(true);
    const position = (await find(open.log, "step.started")) - 1;
    const shown = await promptWithMedia(open.log, "s", { position });
    expect(JSON.stringify(shown)).toContain(base64.slice(0, 100));
  });

  it("comes along with an export, and is shown again after the import", async () => {
    await using open = await openSession(agentOf({ prepareStep: showing }));
    await say(open.session, "One.");
    const lines = await Array.fromAsync(exportSession(open.log, "s"));
    const log = await openMemoryLog();
    await importSession(log, lines);
    expect(await storedEvents(log, "s")).toEqual(await open.events());
    const model = working();
    await using copy = await openSession(agentOf({ model, prepareStep: showing }), { log });
    await say(copy.session, "Two.");
    expect(JSON.stringify(model.calls[0]?.prompt)).toContain(shot.toString("base64").slice(0, 100));
    await prompts(log);
  });
});

describe("an export of a session with prepared steps", () => {
  it("is read again with the same prompts, and the session continues", async () => {
    await using open = await openSession(agentOf());
    await say(open.session, "One.", "Two.");
    const log = await openMemoryLog();
    await importSession(log, await Array.fromAsync(exportSession(open.log, "s")), { as: "again" });
    expect(await prompts(log, "again")).toEqual(await prompts(open.log));
    await using next = await openSession(agentOf(), { log });
    await say(await next.runtime.session("again"), "Three.");
    await prompts(log, "again");
  });

  it("as a fixture has no secret, and replays without prepareStep", async () => {
    const key = `sk-ant-api03-${"aB3dE5fG7hJ9".repeat(8)}-AA`;
    const telling: PrepareStep = ({ messages }) => ({
      messages: [{ role: "user", content: `The key is ${key}.` }, ...messages],
      instructions: `Use ${key}.`,
    });
    await using open = await openSession(agentOf({ prepareStep: telling }));
    await say(open.session, "One.", "Two.");
    const lines = await exportFixture(open.log, "s");
    expect(lines.join("")).not.toContain(key.slice(0, 40));
    const { events } = await readSessionFile(lines);
    expect(events.filter(({ type }) => type === "step.prepared")).toHaveLength(4);
    const { prepareStep: _, ...plain } = agentOf();
    for (const agent of [agentOf({ prepareStep: telling }), plain])
      expect(await replay(events, agent)).toEqual({
        events: events.length,
        parts: expect.anything() as unknown,
      });
    const log = await openMemoryLog();
    await importSession(log, lines, { as: "s" });
    await prompts(log);
  });
});
