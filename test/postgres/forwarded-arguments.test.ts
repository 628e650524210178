/**
 * Every command with every kind of argument: a process that does not run the session answers as the one that
 * does, and the session's log says the same.
 */

import { isDeepStrictEqual } from "node:util";
import { tool } from "ai";
import { z } from "zod";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { commands, reads } from "../../src/commands/index.ts";
import {
  defineEvents,
  TurnlogError,
  type EventLog,
  type SessionEvent,
} from "../../src/events/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { createRuntime, type Agent, type Runtime, type Session } from "../../src/public/index.ts";
import { openPostgresLog } from "../../src/store/postgres/index.ts";
import { toJson } from "../../src/shared/index.ts";
import { nothing } from "../runtime/tools.ts";
import { call, calling } from "../support/script.ts";
import { sampled } from "../support/runs.ts";
import { serverOfFile } from "./server-of-file.ts";

const { server, several, needs } = await serverOfFile();

class Point {
  readonly x = 1;
  get y(): number {
    return 2;
  }
}

class Seen {
  readonly turn = 1;
}

/** Each made anew, by name. */
const kinds: Readonly<Record<string, () => unknown>> = {
  "a date": () => new Date("2099-01-02T03:04:05.678Z"),
  "a date that has passed": () => new Date(0),
  "no date": () => new Date(Number.NaN),
  "a time": () => "2099-01-02T03:04:05.678+02:00",
  "a URL": () => new URL("https://example.com/a"),
  bytes: () => Uint8Array.of(1, 2, 3),
  "a buffer": () => Buffer.from("abc"),
  "an array buffer": () => Uint8Array.of(1, 2, 3).buffer,
  "a map": () => new Map([["a", 1]]),
  "a set": () => new Set([1]),
  "a big integer": () => 10n,
  "an error": () => new Error("odd"),
  "an instance of a class": () => new Point(),
  "an object without a prototype": () => Object.assign(Object.create(null) as object, { a: 1 }),
  "an inherited field": () => Object.create({ a: 1 }) as unknown,
  "a place in an instance": () => new Seen(),
  "an undefined field": () => ({ a: undefined, b: 1 }),
  "an undefined element": () => [undefined, 1],
  "a hole": () => Array.from({ length: 2 }).concat([1]),
  undefined: () => undefined,
  null: () => null,
  "not a number": () => Number.NaN,
  infinity: () => Infinity,
  "negative zero": () => -0,
  "a fraction": () => 1.5,
  "a number": () => 1,
  "a text": () => "text",
  "an empty text": () => "",
  "half a character": () => "\u{d83d}",
  "a null character": () => "a\u0000b",
  true: () => true,
  "a function": () => () => 1,
  "a symbol": () => Symbol("s"),
  "a pattern": () => /a/u,
  "a text object": () => Object("text") as unknown,
  "an object with toJSON": () => ({ a: 1, toJSON: () => ({ b: 2 }) }),
  "a getter": () => ({
    get a() {
      return 1;
    },
  }),
  "a cycle": () => {
    const self: Record<string, unknown> = {};
    return Object.assign(self, { self });
  },
  "a signal": () => new AbortController().signal,
  "a promise": () => Promise.resolve(1),
};

type Place = (value: unknown) => readonly unknown[];
/** Places of values of the program (contexts, models, tools): what is no JSON is refused, and never changed on the way. */
const ofProgram = new Set<Place>();
function program(place: Place): Place {
  ofProgram.add(place);
  return place;
}
const at = (...keys: readonly string[]): ((value: unknown) => unknown) => {
  const [key, ...inner] = keys;
  return key === undefined ? (value) => value : (value) => ({ [key]: at(...inner)(value) });
};
const first: Place = (value) => [value];
const firstIn =
  (...keys: readonly string[]): Place =>
  (value) => [at(...keys)(value)];
const behind =
  (...before: readonly unknown[]) =>
  (...keys: readonly string[]): Place =>
  (value) => [...before, at(...keys)(value)];
const sent = behind("Text.");
const answered = behind("APPROVAL");
const output = behind("REQUEST");
const noted = behind("app.noted");

/** The places of arguments of every command that another process may execute. */
const places: Readonly<Record<string, readonly Place[]>> = {
  send: [
    first,
    (value) => [[value]],
    (value) => [[{ type: "text", text: value }]],
    (value) => [[{ type: "text", text: "a", providerOptions: { p: { a: value } } }]],
    (value) => [[{ type: "file", data: value, mediaType: "image/png" }]],
    (value) => [[{ type: "file", data: { type: "data", data: value }, mediaType: "image/png" }]],
    (value) => [[{ type: "image", image: value }]],
    (value) => [[{ type: "file", data: "AAAA", mediaType: value }]],
    (value) => [{ text: value, files: [] }],
    (value) => [{ text: "a", files: [value] }],
    sent(),
    ...["id", "delivery", "notBefore", "replaces", "basedOn", "by"].map((key) => sent(key)),
    ...["context", "output", "options"].map((key) => program(sent(key))),
    program(sent("context", "runtimeContext")),
    program(sent("context", "runtimeContext", "a")),
    program(sent("context", "toolsContext")),
    program(sent("context", "toolsContext", "ask")),
    program(sent("options", "a")),
    sent("basedOn", "turn"),
    sent("basedOn", "messageId"),
  ],
  regenerate: [
    first,
    ...["messageId", "idempotencyKey", "basedOn", "by"].map((key) => firstIn(key)),
    ...["context", "options"].map((key) => program(firstIn(key))),
    program(firstIn("context", "runtimeContext", "a")),
    program(firstIn("options", "a")),
  ],
  cancel: [first, ...["mode", "reason", "withdraw", "by"].map((key) => firstIn(key))],
  approve: [first, answered(), ...["reason", "always", "by"].map((key) => answered(key))],
  deny: [first, answered(), ...["reason", "always", "by"].map((key) => answered(key))],
  answerCall: [
    first,
    output(),
    output("output"),
    output("output", "a"),
    (value) => ["REQUEST", { output: [value] }],
    output("error"),
    (value) => ["REQUEST", { output: 1, by: value }],
  ],
  allow: ["tokens", "dollars", "by"].map((key) => firstIn(key)),
  forgetApproval: [first],
  withdraw: [first, ...[[], ["reason"], ["by"]].map((keys) => behind("later")(...keys))],
  reschedule: [first, ...[[], ["delivery"], ["notBefore"]].map((keys) => behind("later")(...keys))],
  resume: [first],
  compact: [program((value) => [value]), behind(undefined)(), behind(undefined)("by")],
  restore: [first],
  rewind: [
    first,
    ...["to", "beforeTurn", "beforeMessage", "tell", "basedOn", "by"].map((key) => firstIn(key)),
    ...["tell", "basedOn", "by"].map((key): Place => (value) => [{ beforeTurn: 1, [key]: value }]),
  ],
  checkout: [first, ...[[], ["tell"], ["basedOn"], ["by"]].map((keys) => behind(1)(...keys))],
  preview: [first, firstIn("position"), program(firstIn("compact"))],
  context: [first, firstIn("position")],
  bill: [
    first,
    firstIn("position"),
    ...[["without"], ["caching"], ["model"]].map((keys) => firstIn("whatIf", ...keys)),
  ],
  configure: [
    first,
    ...["agent", "model", "instructions", "tools"].map((key) => program(firstIn(key))),
  ],
  setTitle: [first, behind(1)("by")],
  markSeen: [first, firstIn("by")],
  setMetadata: [first, firstIn("a"), firstIn("a", "b"), (value) => [{ a: [value] }]],
  append: [
    first,
    noted(),
    noted("note"),
    noted("note", "a"),
    (value) => ["app.noted", { note: [value] }],
    (value) => ["app.dated", { at: value }],
    (value) => ["app.noted", { note: 1 }, value],
    (value) => ["app.noted", { note: 1 }, { id: value }],
  ],
  redact: [first, (value) => [[value]], firstIn("from"), behind(1)(), behind(1)("reason")],
  close: [first],
  subAgents: [],
};

it("has places for every command that another process may execute", () => {
  const forwarded = [...commands, ...reads].filter(({ isForwarded }) => isForwarded);
  expect(Object.keys(places).toSorted()).toEqual(forwarded.map(({ name }) => name).toSorted());
});

const events = defineEvents({
  "app.noted": z.object({ note: z.unknown() }),
  "app.dated": z.object({ at: z.coerce.date() }),
});
const agent: Agent = {
  model: scriptedModel(({ prompt }) => {
    const said = JSON.stringify(prompt.at(-1));
    if (said.includes("Ask.")) return calling(call("ask", "c1"));
    return said.includes("Act.") ? calling(call("act", "c2")) : "Done.";
  }),
  tools: {
    ask: tool({ inputSchema: nothing }),
    act: tool({ inputSchema: nothing, execute: () => "acted" }),
  },
  toolApproval: { act: "user-approval" },
};

let opened: { readonly log: EventLog; readonly runtime: Runtime }[] = [];
beforeAll(async () => {
  if (!several) return;
  const { connectionString = "" } = server ?? {};
  opened = await Promise.all(
    [1, 2].map(async () => {
      const log = await openPostgresLog({ connectionString, schema: "forwarded" });
      const runtime = await createRuntime({ log, agent, events, idleAfterMs: 600_000 });
      return { log, runtime };
    }),
  );
});
afterAll(async () => {
  for (const { runtime } of opened) await runtime.close();
  for (const { log } of opened) await log.close();
});

/** What a session needs for its command to do something. */
async function prepared(owner: Runtime, id: string, command: string): Promise<Session> {
  const session = await owner.session(id);
  await (
    await session.send("Hello.", { id: "m" })
  ).result;
  if (command === "answerCall") await (await session.send("Ask.")).untilRest();
  if (command === "approve" || command === "deny") await (await session.send("Act.")).untilRest();
  if (command === "withdraw" || command === "reschedule")
    await session.send("Later.", { id: "later", notBefore: new Date("2098-01-01T00:00:00Z") });
  return session;
}

/** A value as text, without what differs by the session and the time. */
function comparable(value: unknown, id: string): string {
  return JSON.stringify(toJson(value))
    .replaceAll(id, "ID")
    .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "UUID")
    .replaceAll(/\b\d{13}\b/g, "TIME");
}

/** The model's parts come as they come. */
function isOurs({ type }: SessionEvent): boolean {
  return !/^(part|step|turn)\./.test(type);
}

interface Asked {
  readonly answer: string;
  /** What the command left in the log. */
  readonly stored: string;
  readonly isRefused: boolean;
}

interface Side {
  /** The runtime that is asked. */
  readonly through: Runtime;
  readonly owner: Runtime;
  readonly log: EventLog;
  readonly id: string;
}

async function asked(
  { through, owner, log, id }: Side,
  session: Session | undefined,
  command: string,
  given: readonly unknown[],
): Promise<Asked> {
  if (session === undefined) throw new Error("no session");
  const { approvals, outputRequests, position } = await session.view();
  const args = given.map((argument) => {
    if (argument === "APPROVAL") return approvals[0]?.approvalId;
    return argument === "REQUEST" ? outputRequests[0]?.requestId : argument;
  });
  const handle = await through.session(id);
  const method: unknown = Reflect.get(handle, command);
  if (typeof method !== "function") throw new Error(`no method ${command}`);
  let answer: unknown;
  let isRefused = false;
  try {
    const value: unknown = await Reflect.apply(method, handle, args);
    const isTurn = typeof value === "object" && value !== null && "untilRest" in value;
    answer = isTurn && "messageId" in value ? value.messageId : value;
  } catch (error) {
    isRefused = true;
    answer = TurnlogError.isInstance(error) ? { code: error.code, message: error.message } : error;
  }
  await owner.session(id).then((own) => own.atRest());
  const events = await Array.fromAsync(log.read(id, { from: position + 1 }));
  const stored = events.filter(isOurs).map(({ type, data }) => ({ type, data }));
  return { answer: comparable(answer, id), stored: comparable(stored, id), isRefused };
}

describe.skipIf(!several)(`a command with an argument of any kind${needs}`, () => {
  it.each(Object.keys(places))(
    "%s does the same here and from another process",
    async (command) => {
      const [here, there] = opened;
      if (here === undefined || there === undefined) throw new Error("not open");
      const all = (places[command] ?? []).flatMap((place, index) =>
        Object.entries(kinds).map(([kind, make]) => ({ place, index, kind, make })),
      );
      const cases = [...sampled(all, 8)];
      const problems: unknown[] = [];
      const one = async (who: number): Promise<void> => {
        const sides: readonly Side[] = [here, there].map(({ runtime, log }, side) => ({
          through: runtime,
          owner: here.runtime,
          log,
          id: `${command}.${side}.${who}.`,
        }));
        let round = 0;
        let isFresh = false;
        let named = sides;
        let sessions: readonly Session[] = [];
        for (let next = cases.pop(); next !== undefined; next = cases.pop()) {
          const { place, index, kind, make } = next;
          if (!isFresh) {
            round++;
            named = sides.map((side) => ({ ...side, id: `${side.id}${round}` }));
            sessions = await Promise.all(
              named.map(({ id }) => prepared(here.runtime, id, command)),
            );
          }
          const [local, sent] = await Promise.all(
            named.map((side, at) => asked(side, sessions[at], command, place(make()))),
          );
          isFresh = local?.isRefused === true && sent?.isRefused === true;
          const isKept = ofProgram.has(place) && sent?.answer.includes('"SESSION_ELSEWHERE"');
          if (isKept !== true && !isDeepStrictEqual(local, sent))
            problems.push({ index, kind, local, sent });
        }
      };
      await Promise.all([0, 1, 2, 3].map(one));
      expect(problems).toEqual([]);
    },
  );
});
