/** The index of a runtime's sessions: which changes it notices, and that it reads nothing once it is closed. */

import { expect, it } from "vitest";
import { openMemoryLog, type EventLog, type TurnlogError } from "../../src/public/index.ts";
import { sessionSummary } from "../../src/projections/index.ts";
import { wrapLog } from "../../src/replay/index.ts";
import { SessionLists, summaryKeeper } from "../../src/state/session-index.ts";
import { readSummary } from "../../src/state/view.ts";
import { created } from "../projections/session-of.ts";

async function logOf(...sessions: readonly string[]): Promise<EventLog> {
  const log = await openMemoryLog();
  for (const session of sessions) await log.append(session, "none", [{ time: 1000, ...created }]);
  return log;
}

function listsOf(log: EventLog): SessionLists {
  return new SessionLists({ log, indexed: undefined, isLive: () => true, keep: async () => {} });
}

it("has the status that a live session told last, also where no time has passed", async () => {
  await using log = await logOf("a", "b");
  using lists = listsOf(log);
  const closed = async (): Promise<readonly string[]> =>
    (await Array.fromAsync(lists.page({ status: "closed" }))).map(({ session }) => session);
  expect(await closed()).toEqual([]);
  await log.append("b", 1, [{ time: 1000, type: "session.closed", data: { reason: "done" } }]);
  lists.recorded("b", await readSummary(log, "b", 2), 1000);
  expect(await closed()).toEqual(["b"]);
});

it("reads no further session once it is closed", async () => {
  await using log = await logOf("a", "b", "c");
  const read: string[] = [];
  const onChange = log.onChange?.bind(log);
  const watched = wrapLog(log, {
    ...(onChange === undefined ? {} : { onChange }),
    read: (session, range) => {
      read.push(session);
      lists[Symbol.dispose]();
      return log.read(session, range);
    },
  });
  const lists = listsOf(watched);
  await Array.fromAsync(lists.page({ status: "idle" }));
  expect(read).toEqual(["a"]);
});

it("stores the summaries that it has to fold anew, since an earlier release stored them", async () => {
  await using log = await logOf("a", "b");
  const { name: projection, version } = sessionSummary;
  await log.saveSnapshot("b", { projection, version: version - 1, position: 1, state: {} });
  const kept: string[] = [];
  const keep = async (session: string): Promise<void> => void kept.push(session);
  using lists = new SessionLists({ log, indexed: undefined, isLive: () => true, keep });
  await Array.fromAsync(lists.page({ status: "idle" }));
  expect(kept).toEqual(["b"]);
});

it("a summary that was folded anew is stored, and a failure to store it is a warning", async () => {
  await using log = await logOf("a");
  const warnings: TurnlogError[] = [];
  const warn = (error: TurnlogError): void => void warnings.push(error);
  const snapshot = { projection: "session-summary", version: 1, position: 1, state: {} };
  await summaryKeeper(log, warn)("a", snapshot);
  expect(await log.loadSnapshot("a", "session-summary")).toEqual(snapshot);
  expect(warnings).toEqual([]);
  const cause = new Error("The disk is full.");
  const full = wrapLog(log, { saveSnapshot: async () => Promise.reject(cause) });
  await summaryKeeper(full, warn)("a", snapshot);
  expect(warnings).toMatchObject([{ code: "LOG_FAILED", session: "a", cause }]);
});
