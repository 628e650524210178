/**
 * What is kept of a fork and made of its origin's events: after each change of an origin it shows what the log has.
 * Each way to read is asked before the change, so that it keeps whatever it keeps.
 */

import { describe, expect, it } from "vitest";
import {
  createRuntime,
  encryptedLog,
  exportSession,
  memoryKeys,
  openMemoryLog,
  type Runtime,
  type Session,
} from "../../src/public/index.ts";
import { createServer } from "../../src/public/server.ts";
import { gate, scriptedModel, type ScriptedModel } from "../../src/models/index.ts";
import { wrapLog } from "../../src/replay/index.ts";
import { readSummary } from "../../src/state/index.ts";

const word = "the password is pin-1234-pin";
const depths = [
  "a fork",
  "a fork of a fork",
  "a fork that a fork made of what both share",
] as const;

interface Family extends AsyncDisposable {
  readonly runtime: Runtime;
  readonly origin: Session;
  /** Held open all the time. */
  readonly fork: Session;
  readonly model: ScriptedModel;
  readonly get: (path: string) => Promise<string>;
}

async function family(depth: (typeof depths)[number]): Promise<Family> {
  const model = scriptedModel(() => "Understood.");
  const encryption = { keys: memoryKeys() };
  const runtime = await createRuntime({ memory: true, agent: { model }, encryption });
  const server = createServer(runtime, { token: false, studio: true });
  const get = async (path: string): Promise<string> => {
    const answer = await server.fetch(new Request(`http://localhost${path}`));
    expect(answer.status).toBe(200);
    return await answer.text();
  };
  const origin = await runtime.session("s", { metadata: { tenant: "t-1" } });
  await (
    await origin.send(`Remember: ${word}.`)
  ).result;
  let fork = await origin.fork({ id: "f" });
  const shared = (await origin.view()).position;
  if (depth === "a fork of a fork") {
    await (
      await fork.send("Between.")
    ).result;
    fork = await fork.fork({ id: "g" });
  } else if (depth !== "a fork") fork = await fork.fork({ id: "g", position: shared });
  await (
    await fork.send("Go on.")
  ).result;
  return {
    runtime,
    origin,
    fork,
    model,
    get,
    [Symbol.asyncDispose]: () => runtime.close(),
  };
}

type Read = (family: Family) => Promise<string>;

const text = (value: unknown): string => JSON.stringify(value) ?? "";

const reads: Readonly<Record<string, Read>> = {
  "the page": ({ get, fork }) => get(`/api/chat/${fork.id}/messages`),
  "the view of a handle": async ({ fork }) => text(await fork.view()),
  "the state at a position": async ({ fork }) =>
    text(await fork.at((await fork.view()).position - 1)),
  "the events": async ({ runtime, fork }) => text(await Array.fromAsync(runtime.log.read(fork.id))),
  "a follower's events": async ({ fork }) => {
    const { position } = await fork.view();
    const seen: unknown[] = [];
    for await (const event of fork.events()) {
      seen.push(event);
      if (event.position === position) break;
    }
    return text(seen);
  },
  "the list": async ({ runtime, fork }) => {
    const rows = await Array.fromAsync(runtime.sessions());
    const { title, metadata } = rows.find(({ session }) => session === fork.id) ?? {};
    return text({ title, metadata });
  },
  "a page of the list": async ({ runtime, fork }) => {
    const rows = await Array.fromAsync(runtime.sessions({ limit: 9 }));
    const { title, metadata } = rows.find(({ session }) => session === fork.id) ?? {};
    return text({ title, metadata });
  },
  "the stored summary": async ({ runtime: { log }, fork }) => {
    const { title, metadata } = await readSummary(log, fork.id, await log.revision(fork.id));
    return text({ title, metadata });
  },
  "an export": async ({ runtime, fork }) => {
    // Its header names the origin.
    const [, ...lines] = await Array.fromAsync(exportSession(runtime.log, fork.id));
    return text(lines);
  },
  "the studio's prompt": ({ get, fork }) => get(`/api/studio/sessions/${fork.id}/prompt`),
  "the studio's prompt at a position": async ({ get, fork }) =>
    await get(
      `/api/studio/sessions/${fork.id}/prompt?position=${(await fork.view()).position - 1}`,
    ),
  "the studio's state": ({ get, fork }) => get(`/api/studio/sessions/${fork.id}/state`),
  "the studio's newest turns": ({ get, fork }) => get(`/api/studio/sessions/${fork.id}/newest`),
};

async function all(family: Family): Promise<Readonly<Record<string, string>>> {
  const shown: Record<string, string> = {};
  for (const [name, read] of Object.entries(reads)) shown[name] = await read(family);
  return shown;
}

async function positionOf(session: Session): Promise<number> {
  for await (const { type, position } of session.events())
    if (type === "message.queued") return position;
  throw new Error("It has no message.");
}

function showing(shown: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(shown).flatMap(([name, said]) =>
    said.includes("pin-1234-pin") ? [name] : [],
  );
}

describe.each(depths)("%s", (depth) => {
  it("shows nowhere what was redacted in its origin, nor tells it to a model", async () => {
    await using open = await family(depth);
    const { fork, origin, model } = open;
    const before = showing(await all(open));
    expect(before).toContain("the page");
    expect(before).toContain("the list");
    await origin.redact(await positionOf(origin));
    expect(showing(await all(open))).toEqual([]);
    await (
      await fork.send("What was it?")
    ).result;
    expect(text(model.calls.at(-1)?.prompt)).not.toContain("pin-1234-pin");
    expect(showing(await all(open))).toEqual([]);
  });

  it("shows nowhere what was redacted in it after its origins were deleted and left it their events", async () => {
    await using open = await family(depth);
    const { runtime, fork } = open;
    await all(open);
    await runtime.delete("s", { forks: "copy" });
    if (depth === "a fork of a fork") await runtime.delete("f", { forks: "copy" });
    await all(open);
    await fork.redact(await positionOf(fork));
    expect(showing(await all(open))).toEqual([]);
  });

  it.each<[string, (family: Family) => Promise<unknown>]>([
    ["was deleted and left it its events", ({ runtime }) => runtime.delete("s", { forks: "copy" })],
    ["was rewound", ({ origin }) => origin.rewind({ beforeTurn: 1 })],
    ["got other metadata", ({ origin }) => origin.setMetadata({ tenant: "t-2" })],
    ["went on", async ({ origin }) => await (await origin.send("More.")).result],
    ["was closed", ({ origin }) => origin.close()],
  ])("shows the same everywhere when its origin %s", async (_, change) => {
    await using open = await family(depth);
    const before = await all(open);
    await change(open);
    expect(await all(open)).toEqual(before);
    const again = await open.fork.send("Still there?");
    expect((await again.result).text).toBe("Understood.");
  });
});

it("shows the page of a session anew once its own content was redacted", async () => {
  await using open = await family("a fork");
  const { origin, get } = open;
  expect(await get("/api/chat/s/messages")).toContain("pin-1234-pin");
  await origin.redact(await positionOf(origin));
  expect(await get("/api/chat/s/messages")).not.toContain("pin-1234-pin");
});

it("shows nobody who sees a redaction what it names, though its key is not erased yet", async () => {
  const memory = await openMemoryLog();
  const held = gate();
  let isHeld = false;
  const below = wrapLog(memory, {
    // The erasure of a key looks for forks first.
    list: async function* list(options) {
      if (isHeld && options === undefined) await held.until;
      yield* memory.list(options);
    },
  });
  await using log = encryptedLog(below, memoryKeys());
  const agent = { model: scriptedModel(() => "Understood.") };
  await using runtime = await createRuntime({ log, agent });
  const origin = await runtime.session("s");
  await (
    await origin.send(`Remember: ${word}.`)
  ).result;
  const fork = await origin.fork({ id: "f" });
  const position = await positionOf(origin);
  const { position: last } = await origin.view();
  await fork.view();
  isHeld = true;
  const redacting = origin.redact(position);
  for await (const { type } of log.subscribe("s", { from: last + 1 }))
    if (type === "session.redacted") break;
  expect(text(await Array.fromAsync(log.read("f")))).not.toContain("pin-1234-pin");
  held.open();
  await redacting;
  expect(text(await Array.fromAsync(log.read("f")))).not.toContain("pin-1234-pin");
});
