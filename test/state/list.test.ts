/** Lists over all sessions: the questions that wait, and rows with what a turn waits for. */

import { expect, it, vi } from "vitest";
import { openMemoryLog, TurnlogError, type EventLog } from "../../src/public/index.ts";
import type { EventBody } from "../../src/events/index.ts";
import { wrapLog } from "../../src/replay/index.ts";
import { inbox, querySessions, timeOf } from "../../src/state/list.ts";
import { listSessions } from "../../src/state/view.ts";
import { agent, asked, called, stepFinished, stepStarted } from "../projections/session-of.ts";

const metadata = { userId: "ada" };
const created: EventBody = { type: "session.created", data: { agent, metadata } };

async function logOf(...bodies: readonly EventBody[]): Promise<EventLog> {
  const log = await openMemoryLog();
  const events = [created, ...asked("Go."), ...bodies];
  await log.append(
    "s",
    "none",
    events.map((body, index) => ({ time: 1000 * index, ...body })),
    { origin: "copied" },
  );
  return log;
}

const requested: readonly EventBody[] = [
  stepStarted(1),
  called("a"),
  stepFinished(1, "tool-calls"),
  { type: "tool.output-requested", data: { step: 1, callId: "a", toolName: "work" } },
];
const held: EventBody = {
  type: "turn.held",
  data: { turn: 1, budget: { of: "turn", unit: "tokens", limit: 10, spent: 12 } },
};

it("a limit that holds a turn waits with its session and the metadata, and its age from the moment it held", async () => {
  await using log = await logOf(held);
  const onUnreadable = vi.fn();
  const [question, ...others] = await inbox(log, { now: 9000, onUnreadable });
  expect(others).toEqual([]);
  expect(question).toMatchObject({
    kind: "budget",
    session: "s",
    metadata,
    askedAt: 4000,
    ageMs: 5000,
    budget: { of: "turn", limit: 10, spent: 12 },
  });
  expect(onUnreadable).not.toHaveBeenCalled();
});

it("a question to a person and a call for a client wait with the same", async () => {
  await using log = await logOf(
    stepStarted(1),
    called("a"),
    called("b"),
    stepFinished(1, "tool-calls"),
    { type: "tool.approval-requested", data: { step: 1, callId: "a", toolName: "work" } },
    { type: "tool.output-requested", data: { step: 1, callId: "b", toolName: "work" } },
  );
  const questions = await inbox(log, { now: 9000, onUnreadable: vi.fn() });
  const about = { session: "s", metadata };
  expect(questions).toMatchObject([
    { kind: "approval", ...about, askedAt: 8000, ageMs: 1000, approval: { callId: "a" } },
    { kind: "output", ...about, askedAt: 9000, ageMs: 0, request: { callId: "b" } },
  ]);
  const later = await inbox(log, { where: { userId: "eve" }, now: 9000, onUnreadable: vi.fn() });
  expect(later).toEqual([]);
});

it("a row has the calls that a client runs, and no list of approvals if there are none", async () => {
  await using log = await logOf(...requested);
  const [row] = await Array.fromAsync(querySessions(log, { status: "awaiting-output" }));
  expect(row).toMatchObject({ session: "s", awaitingOutput: [{ callId: "a", status: "waiting" }] });
  expect(row).not.toHaveProperty("awaitingApproval");
});

it("a session that cannot be read is reported beside the questions; a store that cannot is thrown", async () => {
  await using log = await logOf(...requested);
  /** Its summaries can be read, and then nothing more. */
  const failing = (error: TurnlogError): EventLog => {
    let reads = 0;
    return wrapLog(log, {
      read: async function* (...range) {
        if (reads++ > 0) throw error;
        yield* log.read(...range);
      },
    });
  };
  const options = (onUnreadable: (error: TurnlogError) => void) => ({ now: 9000, onUnreadable });
  const ofSession = new TurnlogError("LOG_DAMAGED", "The event is damaged.", { session: "s" });
  const told: TurnlogError[] = [];
  expect(
    await inbox(
      failing(ofSession),
      options((error) => void told.push(error)),
    ),
  ).toEqual([]);
  expect(told).toEqual([ofSession]);
  const ofStore = new TurnlogError("LOG_CLOSED", "The log is closed.");
  await expect(
    inbox(
      failing(ofStore),
      options(() => {}),
    ),
  ).rejects.toBe(ofStore);
});

it("a list has sessions without a message unless they are left out, and none that was deleted meanwhile", async () => {
  await using log = await openMemoryLog();
  await log.append("empty", "none", [{ time: 1, ...created }]);
  const names = async (rows: AsyncIterable<{ readonly session: string }>): Promise<unknown> =>
    (await Array.fromAsync(rows)).map(({ session }) => session);
  expect(await names(querySessions(log, {}))).toEqual(["empty"]);
  expect(await names(querySessions(log, { empty: false }))).toEqual([]);
  expect(await names(listSessions(log))).toEqual(["empty"]);
  const deleted = wrapLog(log, {
    read: () => {
      throw new TurnlogError("SESSION_DELETED", "It is deleted.", { session: "empty" });
    },
  });
  expect(await names(listSessions(deleted))).toEqual([]);
});

it("a session is no newer than its last event, whatever the clock did", () => {
  expect(timeOf({ createdAt: 5, updatedAt: 3 })).toBe(3);
  expect(timeOf({ createdAt: 1, lastTurnAt: 9, updatedAt: 3 })).toBe(3);
});
