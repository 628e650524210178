/**
 * All features on a log whose methods fail, each in turn and all together: what the caller asked for is refused or
 * waits, nothing is rejected where nobody looks, and afterwards everything continues.
 */

import { tool } from "ai";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import {
  agentTool,
  createRuntime,
  defineEvents,
  openMemoryLog,
  type Agent,
  type EventLog,
  type Runtime,
  type Session,
  type TurnlogError,
} from "../../src/public/index.ts";
import type { Claim, Inbox } from "../../src/events/index.ts";
import { createServer } from "../../src/server/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { memoryBlobs } from "../../src/store/blobs/index.ts";
import { wrapLog } from "../../src/replay/index.ts";
import { verifySession } from "../../src/archive/verify/index.ts";
import { call, calling } from "../support/script.ts";
import { eventually } from "../support/eventually.ts";
import { failingLog, logMethods, type FailingLog, type LogMethod } from "../support/failing-log.ts";
import { lawProblems } from "../support/law-problems.ts";
import { sampled } from "../support/runs.ts";
import { storedEvents } from "../support/replay.ts";
import { systemTimer, type Timer } from "../../src/shared/index.ts";

const events = defineEvents({ "app.noted": z.object({ n: z.number() }) });
/** Too large for an event. */
const file = Buffer.alloc(100_000, "%PDF-1.7 ");

/** What was rejected or thrown where nobody looks. */
const unheld: unknown[] = [];
const hold = (error: unknown): void => void unheld.push(error);
beforeEach(() => {
  unheld.length = 0;
  process.on("unhandledRejection", hold);
  process.on("uncaughtException", hold);
});
afterEach(() => {
  process.off("unhandledRejection", hold);
  process.off("uncaughtException", hold);
});

/** Waits between tries are short, so that many tries take no time. */
const hasty: Timer = (milliseconds, due, wait) =>
  systemTimer(wait.kind === "background" && milliseconds <= 10_000 ? 1 : milliseconds, due, wait);

const read = tool({ inputSchema: z.object({}), execute: () => "text ".repeat(50) });
const pay = tool({ inputSchema: z.object({}), execute: () => 1 });
const child: Agent = { model: scriptedModel(() => "Researched.") };

function agent(): Agent {
  const model = scriptedModel(({ prompt }) => {
    const last = JSON.stringify(prompt.at(-1));
    if (prompt.at(-1)?.role !== "user") return "Done.";
    if (last.includes("Read")) return calling(call("read", "1"));
    if (last.includes("Pay")) return calling(call("pay", "2"));
    if (last.includes("Research")) return calling(call("research", "3", { task: "Look." }));
    return "Fine.";
  });
  const research = agentTool({ agent: child, description: "Researches." });
  return { model, tools: { read, pay, research }, toolApproval: { pay: "user-approval" } };
}

/** A log in memory with all optional parts of the port: one process that claims, an inbox without commands. */
async function fullLog(): Promise<EventLog> {
  const log = await openMemoryLog();
  const claim: Claim = {
    epoch: undefined,
    lost: new AbortController().signal,
    assertHeld: () => {},
    release: async () => {},
  };
  const inbox: Inbox = {
    post: async () => {},
    answerOf: async () => await new Promise(() => {}),
    unanswered: async () => [],
    answer: async () => {},
    onDue: () => ({ [Symbol.dispose]: () => {} }),
  };
  return wrapLog(log, {
    ownership: { claim: async () => claim, taken: async () => new Set() },
    inbox,
    blobs: memoryBlobs(),
    loadSnapshots: async (sessions, projection) =>
      await Promise.all(sessions.map((session) => log.loadSnapshot(session, projection))),
  });
}

type Feature = (runtime: Runtime, session: Session, round: number) => Promise<unknown>;

const text = async (session: Session, input: string): Promise<unknown> =>
  await (
    await session.send(input)
  ).result;

/** Each may be refused. */
const features: Readonly<Record<string, Feature>> = {
  send: (_, session) => text(session, "Hello."),
  tools: (_, session) => text(session, "Read."),
  approvals: async (_, session) => {
    const turn = await session.send("Pay.");
    turn.result.catch(() => {});
    await session.atRest();
    const [asked] = (await session.view()).approvals;
    if (asked !== undefined) await session.approve(asked.approvalId);
    await turn.result;
  },
  "sub-agents": (_, session) => text(session, "Research."),
  later: (_, session, round) =>
    session.send("Later.", { id: `later-${round}`, notBefore: new Date(Date.now() + 1) }),
  files: (_, session) =>
    session
      .send([{ type: "file", mediaType: "application/pdf", data: file }])
      .then((turn) => turn.result),
  append: (_, session) => session.append("app.noted", { n: 1 }),
  compaction: (_, session) => session.compact(),
  rewind: async (_, session) => {
    const turn = await session.send("Take this back.");
    await turn.result;
    await session.rewind({ beforeMessage: turn.messageId });
  },
  fork: async (runtime, session, round) => {
    const fork = await session.fork({ id: `fork-${round}` });
    await text(fork, "Hello.");
    await runtime.delete(fork.id);
  },
  lists: async (runtime) => {
    await Array.fromAsync(runtime.sessions({ limit: 5 }));
    await runtime.approvals();
    await runtime.resumeAll();
  },
  blobs: (runtime) => runtime.collectBlobs(),
  consumer: async (runtime, _, round) => {
    await (await runtime.consume(`round-${round}`, () => {})).stop();
  },
  follower: async (_runtime, session) => {
    for await (const _ of session.events()) break;
  },
  page: async (runtime, session) => {
    const server = createServer(runtime, { token: false });
    for (const path of ["view", "messages", "events"]) {
      const response = await server.fetch(
        new Request(`http://localhost/api/sessions/${session.id}/${path}`),
      );
      await response.body?.cancel();
    }
    const chat = await server.fetch(
      new Request(`http://localhost/api/chat/${session.id}/messages`),
    );
    await chat.text();
    server.close();
  },
};

async function inFault(
  fault: (log: FailingLog) => void,
  rounds = 1,
): Promise<{ readonly warnings: readonly TurnlogError[] }> {
  const real = await fullLog();
  const failing = failingLog(real);
  const warnings: TurnlogError[] = [];
  const runtime = await createRuntime({
    log: failing.log,
    agent: agent(),
    events,
    idleAfterMs: 2,
    graceMs: 1,
    resume: "all",
    recovery: "continue",
    onWarning: (warning) => void warnings.push(warning),
    testing: { timer: hasty },
  });
  const handled = new Set<number>();
  const consumer = await runtime.consume("all", ({ position }) => void handled.add(position));
  const session = await runtime.session("s");
  await text(session, "Begin.");
  for (let round = 0; round < rounds; round++)
    for (const feature of Object.values(features)) {
      fault(failing);
      const within = feature(runtime, session, round);
      const mended = new Promise((resolve) => setTimeout(resolve, 10)).then(() => failing.back());
      await Promise.allSettled([within, mended]);
    }
  failing.back();
  // The same handle continues.
  await session.cancel();
  expect(await text(session, "And now?")).toMatchObject({ text: "Fine." });
  const all = await Array.fromAsync(real.readAll(), ({ position }) => position);
  // Also those of the fork that was deleted since.
  await eventually(() => expect(all.filter((position) => !handled.has(position))).toEqual([]));
  await consumer.stop();
  await consumer.done;
  await runtime.close();
  for await (const { session: id } of real.list()) {
    expect((await verifySession(real, id)).problems).toEqual([]);
    expect(lawProblems(await storedEvents(real, id))).toEqual([]);
  }
  await real.close();
  return { warnings };
}

describe("a log that fails", () => {
  it.each(sampled(logMethods, 3))(
    "once at each use of %s ends nothing for good",
    async (method: LogMethod) => {
      await inFault((log) => log.fails(method, 1));
      expect(unheld).toEqual([]);
    },
  );

  it.each(sampled(logMethods, 3, 1))(
    "for a while in %s ends nothing for good",
    async (method: LogMethod) => {
      await inFault((log) => log.fails(method));
      expect(unheld).toEqual([]);
    },
  );

  it("for a while in all of them ends nothing for good", async () => {
    const { warnings } = await inFault((log) => log.outage());
    expect(warnings.length).toBeGreaterThan(0);
    expect(unheld).toEqual([]);
  });
});
