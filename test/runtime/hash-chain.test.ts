/** Sessions with a hash chain: where its links stand, and that it continues wherever the session goes. */
import { describe, expect, it, vi } from "vitest";
import {
  TurnlogError,
  unchained,
  type EventLog,
  type SessionEvent,
} from "../../src/events/index.ts";
import {
  createRuntime,
  exportFixture,
  exportSession,
  importSession,
  openMemoryLog,
  verifySession,
  type Agent,
} from "../../src/public/index.ts";
import { gate, scriptedModel, type Script } from "../../src/models/index.ts";
import { replay, wrapLog } from "../../src/replay/index.ts";
import { storedEvents } from "../support/replay.ts";
import { call, calling, saying } from "../support/script.ts";
import { openSession, reopen, type OpenSession } from "../support/with-runtime.ts";
import { echo } from "./tools.ts";
import { eventually } from "../support/eventually.ts";
import type { SessionVerification } from "../../src/archive/verify/index.ts";

const hashChain = true;

type Steps = Extract<Script, readonly unknown[]>;

function agentOf(...script: Steps): Agent {
  return { model: scriptedModel(script), tools: { echo } };
}

const twoSteps = [calling(call("echo", "c", { value: "x" })), "Done."] as const;

async function ask({ session }: Pick<OpenSession, "session">, text: string): Promise<void> {
  await (
    await session.send(text)
  ).result;
}

/** What a closed session looks like: every event is covered. */
async function expectSound(log: EventLog, session = "s"): Promise<SessionVerification> {
  const found = await verifySession(log, session);
  expect(found.problems).toEqual([]);
  expect(found.chain?.open).toBe(0);
  expect(found.chain?.position).toBe(found.events);
  return found;
}

async function closed(agent: Agent, ...said: readonly string[]): Promise<EventLog> {
  const log = await openMemoryLog();
  await using open = await openSession(agent, { log, hashChain });
  for (const text of said) await ask(open, text);
  return log;
}

/** The same events in another log, of which some are others: every checksum there is right. */
async function rewritten(events: readonly SessionEvent[]): Promise<EventLog> {
  const log = await openMemoryLog();
  await log.append("s", "none", events);
  return log;
}

describe("a session with a hash chain", () => {
  it("has a link at the end of each step and each turn, and one over the rest when it is closed", async () => {
    await using log = await closed(agentOf(...twoSteps), "Go.");
    const events = await storedEvents(log, "s");
    const links = events.flatMap(({ type }, index) =>
      type === "session.chained" ? [events[index - 1]?.type] : [],
    );
    expect(links).toEqual(["step.finished", "step.finished", "turn.ended"]);
    await expectSound(log);
    // A change at rest is covered when the runtime lets go of it.
    await using again = await openSession(agentOf("No."), { log, hashChain });
    await again.session.close("that is all");
    const last = (await again.events()).at(-1);
    expect(last).toMatchObject({ type: "session.closed", data: { reason: "that is all" } });
    await expectSound(log);
  });

  it("has none without the option, and is chained from its first event on when the option comes later", async () => {
    const log = await openMemoryLog();
    await using plain = await openSession(agentOf("One."), { log });
    await ask(plain, "First?");
    expect(await verifySession(log, "s")).not.toHaveProperty("chain");
    await using later = await reopen(plain, agentOf("Two."), { hashChain });
    await ask(later, "Second?");
    await later.runtime.close();
    await expectSound(log);
    const events = await storedEvents(log, "s");
    const at = events.findIndex(({ type }) => type === "part.text-delta");
    await using other = await rewritten(earlier(events, at));
    const { problems } = await verifySession(other, "s");
    expect(problems.map(({ rule }) => rule)).toContain("chain");
  });

  it("continues behind a process that died in the middle of a step", async () => {
    const log = await openMemoryLog();
    const hold = gate();
    const first = await createRuntime({
      log,
      hashChain,
      agent: agentOf(saying("One ", hold, "two.")),
    });
    await (await first.session("s")).send("Go.");
    await eventually(async () => {
      const types = (await storedEvents(log, "s")).map(({ type }) => type);
      expect(types).toContain("part.text-delta");
    });
    const events = await storedEvents(log, "s");
    await using cut = await rewritten(events);
    await using second = await openSession(agentOf("Again."), { log: cut, hashChain });
    await ask(second, "And now?");
    await second.runtime.close();
    await expectSound(cut);
    hold.open();
    await first.close();
    await log.close();
  });

  it("covers what happened at rest before it is put away", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      await using open = await openSession(agentOf("One."), { hashChain, idleAfterMs: 1000 });
      const before = await open.events();
      expect(before.map(({ type }) => type)).toEqual(["session.created"]);
      vi.advanceTimersByTime(1001);
      await eventually(async () => expect(await open.events()).toHaveLength(2));
      await expectSound(open.log);
    } finally {
      vi.useRealTimers();
    }
  });

  it("is carried into forks, and into forks of forks, from the middle of a turn too", async () => {
    const log = await openMemoryLog();
    await using open = await openSession(agentOf(...twoSteps, "Two.", "Three."), {
      log,
      hashChain,
    });
    await ask(open, "Go.");
    const end = (await open.events()).length;
    const middle = await open.session.fork({ id: "f", position: end - 6 });
    await ask({ session: middle }, "Other?");
    const inner = await middle.fork({ id: "g" });
    await ask({ session: inner }, "More?");
    await open.runtime.close();
    for (const session of ["s", "f", "g"]) {
      await expectSound(log, session);
      const events = await storedEvents(log, session);
      expect(await replay(events, agentOf("never asked"))).toEqual({
        events: events.length,
        parts: expect.anything() as unknown,
      });
    }
  });

  it("is carried by an export, and imported under any name; a file that was changed is refused", async () => {
    await using log = await closed(agentOf(...twoSteps), "Go.");
    const lines = await Array.fromAsync(exportSession(log, "s"));
    await using other = await openMemoryLog();
    await importSession(other, lines, { as: "t" });
    const { chain } = await expectSound(other, "t");
    expect(chain).toEqual((await expectSound(log)).chain);
    const at = lines.findIndex((line) => line.includes('"part.text-delta"'));
    const changed = lines.with(at, lines[at]?.replace(/"time":(\d+)/, '"time":1$1') ?? "");
    await expect(importSession(other, changed, { as: "u" })).rejects.toThrow("(chain)");
    expect(await other.revision("u")).toBe(0);
  });

  it("replays, in every position but those of its links, and makes a fixture without them", async () => {
    await using log = await closed(agentOf(...twoSteps, "Two."), "Go.", "And?");
    const events = await storedEvents(log, "s");
    expect(await replay(events, agentOf("never asked"))).toEqual({
      events: events.length,
      parts: expect.anything() as unknown,
    });
    const changed = await replay(events, { ...agentOf("never asked"), instructions: "Other." });
    expect(changed.difference).toMatchObject({ position: 1 });
    const at = events.findIndex(({ type }) => type === "tool.succeeded");
    const succeeded = events[at];
    if (succeeded?.type !== "tool.succeeded") throw new Error("no result");
    const other = { ...succeeded, data: { ...succeeded.data, step: 2 } };
    expect((await replay(events.with(at, other), agentOf("never asked"))).difference).toMatchObject(
      {
        position: at + 1,
      },
    );
    const fixture = await exportFixture(log, "s");
    expect(fixture.join("\n")).not.toContain("session.chained");
    expect(fixture).toHaveLength(1 + unchained(events).length);
  });
});

describe("verify", () => {
  it("says which stretch was changed, and no other", async () => {
    await using log = await closed(agentOf("One.", "Two.", "Three."), "1", "2", "3");
    const events = await storedEvents(log, "s");
    const at = events.findIndex(({ data }) => JSON.stringify(data).includes("Two"));
    await using changed = await rewritten(earlier(events, at));
    const { problems } = await verifySession(changed, "s");
    const links = events.flatMap(({ position, type }) =>
      type === "session.chained" ? [position] : [],
    );
    const next = links.find((position) => position > at + 1);
    expect(problems).toMatchObject([{ rule: "chain", position: next }]);
  });

  it.each([
    ["the second time", Infinity],
    ["both times", 12],
  ])("reports a fault once at which it cannot read on %s", async (_what, first) => {
    await using log = await closed(agentOf("One."), "1");
    const { chain } = await expectSound(log);
    let readings = 0;
    const broken = wrapLog(log, {
      async *read(session, range) {
        const end = ++readings === 1 ? first : 5;
        for await (const event of log.read(session, range)) {
          if (event.position === end) throw new TurnlogError("LOG_DAMAGED", "It is gone.");
          yield event;
        }
      },
    });
    const { problems } = await verifySession(broken, "s", chain === undefined ? {} : { chain });
    expect(problems).toMatchObject([{ rule: "readable", what: "It is gone." }]);
  });

  it("finds what was cut off at the end, or chained anew, by the end that was noted", async () => {
    await using log = await closed(agentOf("One.", "Two."), "1", "2");
    const { chain } = await expectSound(log);
    if (chain === undefined) throw new Error("no chain");
    expect((await verifySession(log, "s", { chain })).problems).toEqual([]);
    const events = await storedEvents(log, "s");
    const ended = events.findIndex(({ type }) => type === "turn.ended");
    await using shorter = await rewritten(events.slice(0, ended + 2));
    expect((await expectSound(shorter)).problems).toEqual([]);
    expect((await verifySession(shorter, "s", { chain })).problems).toMatchObject([
      { rule: "chain", position: ended + 2 },
    ]);
    await using anew = await closed(agentOf("One.", "Too."), "1", "2");
    const { problems } = await verifySession(anew, "s", { chain });
    expect(problems).toMatchObject([{ rule: "chain", position: chain.position }]);
  });
});

/** A change that only the chain can tell: an event came a little earlier than it did. */
function earlier(events: readonly SessionEvent[], at: number): readonly SessionEvent[] {
  const event = events[at];
  if (event === undefined) throw new Error("no event");
  return events.with(at, { ...event, time: event.time - 1 });
}
