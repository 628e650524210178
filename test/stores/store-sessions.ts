/** What the stores of a release hold: sessions with every feature, and what becomes of them in a store. */

import { dynamicTool, jsonSchema, tool, type ToolSet, type UIMessage } from "ai";
import { z } from "zod";
import {
  createRuntime,
  dropOldest,
  encryptedLog,
  exportSession,
  importSession,
  importMessages,
  manual,
  summarize,
  type Agent,
  type EventLog,
  type KeyStore,
  type Runtime,
  type RuntimeOptions,
  type Session,
} from "../../src/public/index.ts";
import { gate, scriptedModel, type Script } from "../../src/models/index.ts";
import { refusal, usualTools } from "../laws/recording-parts.ts";
import { recordedScripts } from "../laws/recorded-scripts.ts";
import type { FixtureName } from "../laws/session-fixture.ts";
import { allow, refuse } from "../support/answering.ts";
import { png } from "../support/media.ts";
import { call, calling, saying } from "../support/script.ts";
import { seen } from "../support/seen.ts";
import { stageOn } from "../laws/stage.ts";

/** A log that stores are made in, and how sessions run on it. */
export interface StoreGround {
  readonly log: EventLog;
  /** Where its content is encrypted. */
  readonly keys?: KeyStore;
}

/** The log as it is read: what is encrypted, opened. */
function readable({ log, keys }: StoreGround): EventLog {
  return keys === undefined ? log : encryptedLog(log, keys);
}

const picture = (seed: number): Buffer => png({ width: 70, height: 70, seed });
const page = Array.from({ length: 700 }, (_, line) => `Line ${line}: of the long tale.`).join("\n");

/** The tools of every session here, and of those that go on with it later. */
const storeTools: ToolSet = {
  ...usualTools,
  look: tool({
    inputSchema: z.object({}),
    execute: () => ({ screen: picture(7).toString("base64") }),
  }),
  fetch: tool({ inputSchema: z.object({}), execute: () => page }),
  files__read: dynamicTool({
    description: "As an MCP server has it.",
    inputSchema: jsonSchema({ type: "object", properties: { path: { type: "string" } } }),
    execute: async () => ({
      content: [
        { type: "text", text: "what the file says" },
        { type: "image", data: picture(9).toString("base64"), mimeType: "image/png" },
      ],
    }),
  }),
};

export function storeAgent(script: Script): Agent {
  return {
    instructions: "You are kept.",
    model: scriptedModel(script),
    tools: storeTools,
    toolPolicies: { quick: { idempotent: true } },
    context: {
      compact: false,
      limits: { scripted: { contextWindow: 8000, maxOutputTokens: 500 } },
    },
  };
}

function open(
  { log, keys }: StoreGround,
  agent: Agent,
  more: Partial<Pick<RuntimeOptions, "hashChain">> = {},
): Promise<Runtime> {
  const encryption = keys === undefined ? {} : { encryption: { keys } };
  return createRuntime({ ...encryption, ...more, log, agent, graceMs: 1 });
}

async function say(session: Session, text: string): Promise<void> {
  await (
    await session.send(text)
  ).result;
}

/** The recorded sessions, each under its name; every other one with a hash chain. */
export async function playRecorded(
  { log, keys }: StoreGround,
  names: readonly FixtureName[],
): Promise<void> {
  for (const [index, name] of names.entries()) {
    const options = { session: name, hashChain: index % 2 === 1 };
    const stage = stageOn(log, { ...options, ...(keys === undefined ? {} : { keys }) });
    await (await recordedScripts[name].play(stage)).idle();
  }
}

/** Content beside the log: sent, answered by tools, made by the model; a long result that is read in pages. */
export async function playMedia(ground: StoreGround): Promise<void> {
  const data = { type: "data", data: picture(3).toString("base64") } as const;
  const file = { type: "file", data, mediaType: "image/png" } as const;
  const agent = storeAgent([
    { parts: [{ type: "raw-part", part: file }, call("look", "1"), call("files__read", "2")] },
    "Seen.",
    calling(call("fetch", "1")),
    calling(call("read_tool_output", "2", { call: "3.1", from: 100, length: 50 })),
    "Read.",
  ]);
  await using runtime = await open(ground, agent, { hashChain: true });
  const session = await runtime.session("media");
  const message = { type: "file", data: picture(1), mediaType: "image/png" } as const;
  await (
    await session.send([{ type: "text", text: "Look." }, message])
  ).result;
  await say(session, `Read this: ${"a letter that is long; ".repeat(250)}`);
}

/** Forks, forks of forks, an edit, an undone turn, a turn run again, a fork in the middle of a turn. */
export async function playForks(ground: StoreGround, from: string, turn: string): Promise<void> {
  await using runtime = await open(
    ground,
    storeAgent(() => "Another way."),
  );
  const session = await runtime.session(from);
  const fork = await session.fork({ id: "fork" });
  await say(fork, "Here I go another way.");
  const second = await fork.fork({ id: "fork-of-fork" });
  await say(second, "And here yet another.");
  const third = await second.fork({ id: "fork-of-fork-of-fork" });
  const { state } = await third.view();
  await third.rewind({ beforeTurn: state.context.turn });
  const edited = await session.fork({ id: "edited" });
  const said = (await edited.view()).history.findLast((item) => item.kind === "user");
  if (said?.kind === "user")
    await (
      await edited.send("Say it otherwise.", { replaces: said.id })
    ).result;
  const rerun = await session.rerun({ id: "run-again" });
  await rerun.turn.result;
  const events = await Array.fromAsync(readable(ground).read(turn));
  const middle = events.find(({ type }) => type === "tool.started");
  const asked = events.find(({ type }) => type === "tool.approval-requested");
  const source = await runtime.session(turn);
  if (middle !== undefined) await source.fork({ id: "fork-in-a-turn", position: middle.position });
  if (asked !== undefined) {
    const waiting = await source.fork({ id: "fork-that-asks", position: asked.position });
    await (await waiting.fork({ id: "fork-of-fork-that-asks" })).atRest();
  }
}

/** A session that is gone, and the fork of it that was given its own copy. */
export async function playDeleted(ground: StoreGround): Promise<void> {
  await using runtime = await open(
    ground,
    storeAgent(() => "Short is my life."),
  );
  const session = await runtime.session("deleted");
  await say(session, "Live.");
  const fork = await session.fork({ id: "fork-of-deleted" });
  await say(fork, "Live on.");
  await runtime.delete("deleted", { forks: "copy" });
}

/** Sessions that were brought in from outside. */
export async function playImported(ground: StoreGround, from: string): Promise<void> {
  const log = readable(ground);
  const chat: UIMessage[] = [
    { id: "u1", role: "user", parts: [{ type: "text", text: "Hello from elsewhere." }] },
    { id: "a1", role: "assistant", parts: [{ type: "text", text: "Hello." }] },
  ];
  await importMessages(log, chat, {
    from: "ui-messages",
    as: "from-a-chat",
    time: Date.UTC(2026, 0, 1),
  });
  const lines = await Array.fromAsync(exportSession(log, from));
  await importSession(log, lines, { as: "imported" });
}

/** An event of a type that this release does not know, as a later one may write it. */
export async function playUnknown(ground: StoreGround): Promise<void> {
  {
    await using runtime = await open(
      ground,
      storeAgent(() => "Noted."),
    );
    await say(await runtime.session("unknown-event"), "Note this.");
  }
  const log = readable(ground);
  const said = { type: "notes.taken", version: 3, data: { note: "of a later release" } };
  await log.append(
    "unknown-event",
    await log.revision("unknown-event"),
    [{ type: "unknown", time: Date.UTC(2026, 0, 2), data: said }],
    { origin: "copied" },
  );
}

/** What was said in a secret turn is redacted, also for the fork that shares it. */
export async function playRedacted(ground: StoreGround): Promise<void> {
  const agent = storeAgent([
    calling(call("lookUp", "1", { word: "secret" })),
    "It is 4711.",
    "Yes.",
  ]);
  await using runtime = await open(ground, agent, { hashChain: true });
  const session = await runtime.session("redacted");
  await say(session, "Look up the secret.");
  const { position } = await session.view();
  await session.fork({ id: "fork-of-redacted" });
  await say(session, "Forget it.");
  await session.redact({ from: 2, to: position }, { reason: "it was a secret" });
}

/** Sessions in every state that a process can die in. Resolves when all of them are there. */
export async function playToTheDeath(ground: StoreGround): Promise<void> {
  const [speaking, writing] = [gate(), gate()];
  const runtimeOf = (script: Script, more: Partial<Agent> = {}): Promise<Runtime> =>
    open(ground, { ...storeAgent(script), ...more });
  const at = async (id: string, script: Script, more?: Partial<Agent>): Promise<Session> =>
    await (await runtimeOf(script, more)).session(id);

  const told = await at("killed-speaking", [saying("Once ", "upon ", speaking, "a time.")]);
  await told.send("Tell me a story.", { id: "m1" });
  await speaking.reached;
  await told.send("A long one.", { id: "m2", delivery: "steer" });
  await told.send("With a cat.", { id: "m3" });
  await told.send("No cat.", { id: "m4" });
  await told.withdraw("m4", "cats are fine");
  await seen(told, "part.text-delta", ({ text }) => text === "upon ");

  const working = await at("killed-working", [
    calling(call("quick", "1"), call("deaf", "2"), call("lookUp", "3", { word: "log" })),
  ]);
  await working.send("Work.");
  await seen(working, "tool.started", ({ callId }) => callId === "2");
  await seen(working, "tool.succeeded", ({ callId }) => callId === "3");

  const refused = await at("killed-waiting", [{ failure: refusal(503, "Overloaded", 20_000) }]);
  await refused.send("Try.");
  await seen(refused, "step.retrying");

  const asking = await at("asking", [
    calling(...["Ulm", "Bonn", "Jena"].map((city) => call("book", city, { city }))),
  ]);
  await asking.send("Book three beds.");
  await seen(asking, "tool.approval-requested", ({ callId }) => callId === "Jena");
  await allow(asking, "Ulm", { reason: "within the budget" });
  await refuse(asking, "Bonn", { reason: "too far" });
  await seen(asking, "tool.succeeded", ({ callId }) => callId === "Ulm");

  const always = await at("asking-after-always", [
    calling(call("book", "1", { city: "Ulm" })),
    "Booked.",
    calling(call("book", "2", { city: "Bonn" }), call("deaf", "3")),
  ]);
  const booked = await always.send("Book.");
  await seen(always, "tool.approval-requested");
  await allow(always, "1", { always: true });
  await booked.result;
  await always.send("Book again.");
  await seen(always, "tool.started", ({ callId }) => callId === "3");

  const how = summarize({ model: scriptedModel([saying("## Goal\n", writing)]), keepTokens: 50 });
  const summed = await at("killed-compacting", ["A tale. ".repeat(80), "Another. ".repeat(80)], {
    context: { prune: false, compact: { when: manual(), how } },
  });
  await say(summed, "Tell.");
  await say(summed, "Tell more.");
  const { position } = await summed.view();
  void summed.compact();
  await seen(summed, "context.compaction-started", () => true, position);
  await writing.reached;

  const dropped = await at("compacted", ["One. ".repeat(80), "Two. ".repeat(80), "Three."]);
  await say(dropped, "Tell.");
  await say(dropped, "Tell more.");
  await dropped.compact(dropOldest({ keepTurns: 1 }));
  await say(dropped, "What did I ask?");
}
