/** What is redacted is gone for good, and everything else is as it was. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encryptingLog, isEncrypted, type EncryptedLog } from "../../src/store/encryption/index.ts";
import type { EventLog, SessionEvent } from "../../src/events/index.ts";
import {
  createRuntime,
  exportSession,
  importSession,
  isRedacted,
  memoryKeys,
  openMemoryLog,
  TurnlogError,
  verifySession,
  viewSession,
  type Agent,
  type KeyStore,
} from "../../src/public/index.ts";
import { gate, scriptedModel, type Script } from "../../src/models/index.ts";
import { replay as replayAgent } from "../../src/replay/index.ts";
import { fixtureNames, readFixture } from "../laws/session-fixture.ts";
import { lawProblems } from "../support/law-problems.ts";
import { replay, storedEvents } from "../support/replay.ts";
import { patience, runs, sampled } from "../support/runs.ts";
import { call, calling, saying } from "../support/script.ts";
import { openSession } from "../support/with-runtime.ts";
import { echo } from "./tools.ts";
import { logProblems } from "../support/log-problems.ts";
import { redactSession } from "../../src/archive/index.ts";

type Steps = Extract<Script, readonly unknown[]>;

function agentOf(...script: Steps): Agent {
  return { model: scriptedModel(script), tools: { echo } };
}

/** A log in memory, encrypted with keys of its own. */
async function open(): Promise<{ log: EncryptedLog; stored: EventLog; keys: KeyStore }> {
  const stored = await openMemoryLog();
  const keys = memoryKeys();
  return { log: encryptingLog(stored, keys), stored, keys };
}

async function find(
  log: EventLog,
  type: SessionEvent["type"],
  nth = 0,
  session = "s",
): Promise<number> {
  const found = (await storedEvents(log, session)).filter((event) => event.type === type)[nth];
  expect(found, `${type} of ${session}`).toBeDefined();
  return found?.position ?? 0;
}

async function text(log: EventLog, session = "s"): Promise<string> {
  return JSON.stringify(await storedEvents(log, session));
}

async function expectSound(log: EventLog): Promise<void> {
  expect(await logProblems(log, { every: 1 })).toEqual([]);
}

const script: Steps = [
  calling(
    {
      type: "reasoning",
      deltas: ["I will ", "echo-think"],
      providerMetadata: { p: { "signed-secret": "x" } },
    },
    call("echo", "c", { value: "tool-secret" }),
  ),
  saying("The answer ", "is answer-", "secret."),
  "Second reply.",
  "Third reply.",
];

describe("an encrypted session", () => {
  it("reads the same live and from the log, and the stored log has nothing of it", async () => {
    const { log, stored } = await open();
    await using one = await openSession(agentOf(...script), { log, hashChain: true });
    await (
      await one.session.send("question-secret")
    ).result;
    await one.runtime.close();
    const events = await storedEvents(log, "s");
    expect(lawProblems(events)).toEqual([]);
    expect(JSON.stringify(events)).toContain("answer-");
    const below = await text(stored);
    for (const said of ["question-secret", "tool-secret", "echo-think", "answer-", "signed-secret"])
      expect(below).not.toContain(said);
    expect(await verifySession(log, "s", { every: 1 })).toMatchObject({ problems: [] });
    expect(await verifySession(log, "s")).not.toHaveProperty("redacted");
  });

  it("cannot be opened, shown or exported without its key, which the error says", async () => {
    const { log, stored } = await open();
    await using one = await openSession(agentOf(...script), { log });
    await (
      await one.session.send("Go.")
    ).result;
    const missing = { code: "KEY_MISSING" };
    const without = encryptingLog(stored, undefined);
    const other = encryptingLog(stored, memoryKeys());
    for (const blind of [without, other]) {
      await expect(viewSession(blind, "s")).rejects.toMatchObject({ ...missing, session: "s" });
      await expect(Array.fromAsync(exportSession(blind, "s"))).rejects.toMatchObject(missing);
    }
    await expect(viewSession(stored, "s")).rejects.toMatchObject(missing);
    await expect(other.append("s", "any", await storedEvents(log, "s"))).rejects.toMatchObject(
      missing,
    );
    await expect(without.delete("s")).rejects.toMatchObject(missing);
    await using runtime = await createRuntime({ log: stored, agent: agentOf("x") });
    await expect(runtime.session("s")).rejects.toMatchObject(missing);
  });

  it("differs from one with the key of another session, however keys were mixed up", async () => {
    const { log, stored, keys } = await open();
    await using one = await openSession(agentOf(...script), { log });
    await (
      await one.session.send("Go.")
    ).result;
    const mixed = memoryKeys();
    const strange = await open();
    await strange.log.append("s", "none", await storedEvents(log, "s"));
    await mixed.save("s", (await strange.keys.load("s")) ?? "");
    const wrong = { code: "KEY_WRONG", session: "s" };
    await expect(viewSession(encryptingLog(stored, mixed), "s")).rejects.toMatchObject(wrong);
    await mixed.save("s", "no key at all");
    await expect(viewSession(encryptingLog(stored, mixed), "s")).rejects.toMatchObject(wrong);
    await mixed.save("s", ((await keys.load("s")) ?? "").replace('"session":"s"', '"session":"t"'));
    await expect(viewSession(encryptingLog(stored, mixed), "s")).rejects.toMatchObject(wrong);
  });

  it("may have begun without encryption, and is encrypted from where it continues", async () => {
    const { log, stored } = await open();
    const plain = await openSession(agentOf("One reply."), { log: stored });
    await (
      await plain.session.send("plain-question")
    ).result;
    await plain.runtime.close();
    await using later = await openSession(agentOf("Two reply."), { log });
    await (
      await later.session.send("secret-question")
    ).result;
    expect(await text(stored)).toContain("plain-question");
    expect(await text(stored)).not.toContain("secret-question");
    await expectSound(log);
    const refusal = { code: "COMMAND_REFUSED", position: 2 };
    await expect(later.session.redact(2)).rejects.toMatchObject(refusal);
    await later.session.redact(await find(log, "message.queued", 1));
    expect(await text(log)).not.toContain("secret-question");
  });
});

describe("a redaction", () => {
  it("takes a message, a block with all its deltas, a call with all that it came to, and leaves the rest", async () => {
    const { log, stored, keys } = await open();
    await using one = await openSession(agentOf(...script), { log, hashChain: true });
    const { session } = one;
    for (const said of ["question-secret", "Other?"]) await (await session.send(said)).result;
    const before = await viewSession(log, "s");
    const chain = (await verifySession(log, "s")).chain;
    expect(await session.redact(await find(log, "message.queued"))).toMatchObject({
      ranges: [{ from: 2, to: 2 }],
      summaries: [],
    });
    await session.redact(await find(log, "part.text-delta", 1), {
      reason: "it was private",
      by: "ann",
    });
    const called = await session.redact(await find(log, "tool.succeeded"));
    expect(called.ranges.length).toBeGreaterThan(1);
    await session.redact(await find(log, "part.reasoning-start"));
    for (const said of ["question-secret", "tool-secret", "echo-think", "answer-", "signed-secret"])
      expect(await text(log), said).not.toContain(said);
    expect(await text(log)).toContain("Second reply.");
    const after = await session.view();
    expect(after.usage).toEqual(before.usage);
    // What the model wrote into the call is content too.
    expect(after.toolCalls).toEqual(before.toolCalls.map((call) => ({ ...call, input: {} })));
    expect(after.state).toEqual(before.state);
    const told = JSON.stringify(after.prompt);
    expect(told.match(/\[redacted\]/g)).toHaveLength(3);
    expect(told).not.toContain('"reasoning"');
    expect((await (await session.send("And now?")).result).text).toBe("Third reply.");
    await one.runtime.close();
    const found = await verifySession(log, "s", { every: 1, ...(chain && { chain }) });
    expect(found.problems).toEqual([]);
    expect(found.redacted?.prompts).toBeGreaterThan(0);
    expect(found.redacted?.prompts).toBeLessThan(found.prompts);
    // By the next process that opens it, and by nobody who has the files of the store.
    const again = encryptingLog(stored, keys);
    expect(await storedEvents(again, "s")).toEqual(await storedEvents(log, "s"));
    const reason = (await storedEvents(log, "s")).find(
      ({ type, data }) => type === "session.redacted" && data.reason !== undefined,
    );
    expect(reason?.data).toMatchObject({ reason: "it was private", by: "ann" });
    await expect(replayAgent(await storedEvents(log, "s"), agentOf("x"))).rejects.toMatchObject({
      code: "INVALID_INPUT",
    });
  });

  it("is done once, and refuses what says nothing, what is not there, and what still runs", async () => {
    const { log } = await open();
    const hold = gate();
    await using one = await openSession(agentOf(saying("One ", hold, "two.")), { log });
    const { session } = one;
    const turn = await session.send("Go.");
    await hold.reached;
    await expect(session.redact(2)).rejects.toMatchObject({ code: "COMMAND_REFUSED" });
    hold.open();
    await turn.result;
    await expect(session.redact(1)).rejects.toMatchObject({ code: "INVALID_INPUT" });
    await expect(session.redact(1000)).rejects.toMatchObject({ code: "INVALID_INPUT" });
    const first = await session.redact({ from: 1, to: 4 });
    expect(first.position).toBe(await log.revision("s"));
    const second = await session.redact([2, { from: 1, to: 4 }]);
    expect(second).toEqual({ session: "s", ranges: [], summaries: [] });
    expect(await log.revision("s")).toBe(first.position);
    const plain = await openMemoryLog();
    await using other = await openSession(agentOf("x"), { log: plain });
    await expect(other.session.redact(1)).rejects.toMatchObject({ code: "COMMAND_REFUSED" });
  });

  it("leaves a message that waits and a call that has not ended, in a fork too", async () => {
    const { log } = await open();
    await using one = await openSession(agentOf(...script), { log });
    const { session } = one;
    await (
      await session.send("Go.")
    ).result;
    const refusal = { code: "COMMAND_REFUSED" };
    await log.append("s", "any", [
      { type: "message.queued", time: 1, data: { id: "w", content: "waits", delivery: "steer" } },
    ]);
    const waiting = await log.revision("s");
    await expect(redactSession(log, "s", [waiting])).rejects.toMatchObject(refusal);
    const called = await find(log, "part.tool-call");
    await log.fork("f", [
      { type: "session.forked", time: 1, data: { from: { session: "s", position: called } } },
    ]);
    await expect(redactSession(log, "s", [called])).rejects.toMatchObject({
      ...refusal,
      session: "f",
    });
    await expect(redactSession(log, "f", [called])).rejects.toMatchObject(refusal);
    await log.delete("f");
    await redactSession(log, "s", [called]);
    expect(await text(log)).not.toContain("tool-secret");
  });

  it("leaves a session that was closed closed", async () => {
    const { log } = await open();
    await using one = await openSession(agentOf(...script), { log, hashChain: true });
    const { session } = one;
    await (
      await session.send("closed-secret")
    ).result;
    await session.close("goodbye");
    await session.redact(2);
    expect(await text(log)).not.toContain("closed-secret");
    await expect(session.send("More?")).rejects.toMatchObject({ code: "SESSION_CLOSED" });
    await expectSound(log);
    const fork = await session.fork({ id: "f" });
    expect((await (await fork.send("And you?")).result).text).toBe("Second reply.");
    await expectSound(log);
  });

  it("counts in every fork, live or not, and is done where the event was written", async () => {
    const { log } = await open();
    await using one = await openSession(agentOf(...script), { log });
    const { session } = one;
    await (
      await session.send("question-secret")
    ).result;
    const fork = await session.fork({ id: "f" });
    const inner = await fork.fork({ id: "g" });
    await (
      await inner.send("inner-secret")
    ).result;
    await log.saveSnapshot("g", { projection: "p", version: 1, position: 3, state: "kept" });
    expect((await log.loadSnapshot("g", "p"))?.state).toBe("kept");
    await expect(inner.redact(2)).rejects.toMatchObject({
      code: "COMMAND_REFUSED",
      details: { owner: "s" },
    });
    await session.redact(2);
    for (const name of ["s", "f", "g"]) {
      expect(await text(log, name)).not.toContain("question-secret");
      const view = await (await one.runtime.session(name)).view();
      expect(JSON.stringify(view)).not.toContain("question-secret");
    }
    // What was kept of a fork's state may hold it.
    expect(await log.loadSnapshot("g", "p")).toBeUndefined();
    await inner.redact(await find(log, "message.queued", 1, "g"));
    expect(await text(log, "g")).not.toContain("inner-secret");
    await expectSound(log);
  });

  it("names the summaries that may say again what is gone", async () => {
    const { log } = await open();
    await log.append("s", "none", await readFixture("compactions"));
    const asked = await find(log, "message.queued");
    const delivered = await find(log, "message.delivered");
    const { summaries } = await redactSession(log, "s", [asked]);
    const compacted = (await storedEvents(log, "s")).filter(
      (event) => event.type === "context.compacted",
    );
    const covering = compacted.filter(
      ({ data: { covers, summary } }) =>
        summary !== "" && covers.from <= delivered && delivered <= covers.to,
    );
    expect(covering.length).toBeGreaterThan(0);
    expect(summaries).toEqual(covering.map(({ position }) => position));
    const [summary = 0] = summaries;
    expect((await redactSession(log, "s", [summary])).summaries).not.toContain(summary);
  });
});

describe("a session of which anything at all is redacted", () => {
  it.each(sampled(fixtureNames, 1))(
    "keeps every law at every position: %s",
    async (name) => {
      const events = await readFixture(name);
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.nat(events.length - 1), { minLength: 1, maxLength: 6 }),
          async (chosen) => {
            const { log, stored } = await open();
            await importSession(log, await linesOf(events), { as: "s" });
            const positions = chosen.map((index) => index + 1);
            const done: number[] = [];
            for (const position of positions) {
              if (await isTaken(redactSession(log, "s", [position]))) done.push(position);
            }
            const read = await storedEvents(log, "s");
            const gone = read.filter(isRedacted).map(({ position }) => position);
            const encrypted = (await storedEvents(stored, "s")).filter(isEncrypted);
            const asked = encrypted
              .filter(({ position }) => done.includes(position))
              .map(({ position }) => position);
            expect(gone).toEqual(expect.arrayContaining(asked));
            expect(lawProblems(read, { cutOff: true })).toEqual([]);
            await expectSound(log);
            // The same from the middle on, and backwards, as from the first event on.
            const middle = positions[0] ?? 1;
            expect(await Array.fromAsync(log.read("s", { from: middle }))).toEqual(
              read.slice(middle - 1),
            );
            expect(await Array.fromAsync(log.read("s", { backwards: true }))).toEqual(
              read.toReversed(),
            );
            const { machine } = replay(read.slice(0, events.length)).last;
            expect(machine.value).toEqual(replay(events).last.machine.value);
            await log.close();
          },
        ),
        runs(2),
      );
    },
    patience,
  );
});

/** Not of what says nothing, nor of what is not over. */
async function isTaken(redacting: Promise<unknown>): Promise<boolean> {
  try {
    await redacting;
    return true;
  } catch (error) {
    const code = TurnlogError.isInstance(error) ? error.code : undefined;
    if (code === "INVALID_INPUT" || code === "COMMAND_REFUSED") return false;
    throw error;
  }
}

async function linesOf(events: readonly SessionEvent[]): Promise<readonly string[]> {
  await using log = await openMemoryLog();
  await log.append("s", "none", events);
  return await Array.fromAsync(exportSession(log, "s"));
}

describe("the file of an encrypted session", () => {
  it("is in plain text, with a chain that holds there, and says what was redacted", async () => {
    const { log } = await open();
    await using one = await openSession(agentOf(...script), { log, hashChain: true });
    await (
      await one.session.send("question-secret")
    ).result;
    await one.session.redact(await find(log, "tool.succeeded"));
    await one.runtime.close();
    const lines = await Array.fromAsync(exportSession(log, "s"));
    expect(lines.join("\n")).toContain("question-secret");
    await using plain = await openMemoryLog();
    await importSession(plain, lines, { as: "t" });
    const found = await verifySession(plain, "t", { every: 1 });
    expect(found).toMatchObject({ problems: [], redacted: { prompts: 1 } });
    expect(found.chain?.position).toBe(found.events);
    const other = await open();
    await importSession(other.log, lines);
    expect(await storedEvents(other.log, "s")).toHaveLength(found.events);
    expect(await text(other.stored)).not.toContain("question-secret");
    expect((await verifySession(other.log, "s")).problems).toEqual([]);
  });

  it("is as it is stored where that is asked for, and read again with the same keys alone", async () => {
    const { log, keys } = await open();
    await using one = await openSession(agentOf(...script), { log, hashChain: true });
    await (
      await one.session.send("question-secret")
    ).result;
    await one.runtime.close();
    const lines = await Array.fromAsync(exportSession(log.stored, "s"));
    expect(lines.join("\n")).not.toContain("question-secret");
    const stored = await openMemoryLog();
    await expect(importSession(stored, lines, { as: "t" })).rejects.toThrow(
      "must keep its name, s",
    );
    await importSession(stored, lines);
    expect(await storedEvents(encryptingLog(stored, keys), "s")).toEqual(
      await storedEvents(log, "s"),
    );
    await expect(viewSession(stored, "s")).rejects.toMatchObject({ code: "KEY_MISSING" });
  });
});

describe("verification without any key", () => {
  it("checks order, calls, figures and the hash chain of what is stored, and finds a change", async () => {
    const { log, stored } = await open();
    await using one = await openSession(agentOf(...script), { log, hashChain: true });
    await (
      await one.session.send("Go.")
    ).result;
    await one.runtime.close();
    const blind = encryptingLog(stored, undefined, { withoutKey: "redact" });
    const found = await verifySession(blind, "s", { every: 1 });
    expect(found.problems).toEqual([]);
    expect(found.chain).toEqual((await verifySession(log, "s")).chain);
    const events = await storedEvents(stored, "s");
    const delta = events.findIndex(({ type }) => type === "part.text-delta");
    await using changed = await openMemoryLog();
    const other = events.map((event, index) =>
      index === delta && event.type === "part.text-delta"
        ? {
            ...event,
            data: {
              ...event.data,
              text: event.data.text.replace(/^./, (one) => (one === "A" ? "B" : "A")),
            },
          }
        : event,
    );
    await changed.append("s", "none", other);
    const told = await verifySession(
      encryptingLog(changed, undefined, { withoutKey: "redact" }),
      "s",
    );
    expect(told.problems.map(({ rule }) => rule)).toContain("chain");
  });
});
