/** What a list says of a session that cannot be read, and which errors end the list instead. */

import { expect, it } from "vitest";
import { TurnlogError } from "../../src/events/index.ts";
import { sessionSummary } from "../../src/projections/index.ts";
import { openMemoryLog } from "../../src/public/index.ts";
import { wrapLog } from "../../src/replay/index.ts";
import { withQuestions } from "../../src/state/list.ts";
import { problemOf } from "../../src/state/view.ts";

it("names the code, the message and, if the error has one, the position", () => {
  const damaged = new TurnlogError("LOG_DAMAGED", "The event is damaged.", {
    session: "s",
    position: 3,
  });
  expect(problemOf(damaged)).toEqual({
    code: "LOG_DAMAGED",
    message: "The event is damaged.",
    position: 3,
  });
  const deleted = new TurnlogError("SESSION_DELETED", "It is deleted.", { session: "s" });
  expect(problemOf(deleted)).toEqual({ code: "SESSION_DELETED", message: "It is deleted." });
});

it("takes a failed read of one session as its problem, and rethrows one of the whole store", () => {
  const ofSession = new TurnlogError("LOG_FAILED", "It cannot be read.", { session: "s" });
  expect(problemOf(ofSession)).toMatchObject({ code: "LOG_FAILED" });
  const ofStore = new TurnlogError("LOG_FAILED", "The disk is gone.");
  expect(() => problemOf(ofStore)).toThrow(ofStore);
  const closed = new TurnlogError("LOG_CLOSED", "The log is closed.", { session: "s" });
  expect(() => problemOf(closed)).toThrow(closed);
  const foreign = new TypeError("A slip.");
  expect(() => problemOf(foreign)).toThrow(foreign);
});

it("is said of a session that waits, too: what it waits for cannot be read", async () => {
  const times = { createdAt: 1, updatedAt: 2 };
  const row = {
    ...sessionSummary.initial,
    ...times,
    session: "s",
    revision: 9,
    status: "awaiting-approval",
  } as const;
  const damaged = wrapLog(await openMemoryLog(), {
    revision: () => Promise.resolve(9),
    loadSnapshot: () =>
      Promise.reject(new TurnlogError("LOG_DAMAGED", "It is damaged.", { session: "s" })),
  });
  const problem = { code: "LOG_DAMAGED", message: "It is damaged." };
  expect(await withQuestions(damaged, row)).toEqual({ ...row, problem });
});
