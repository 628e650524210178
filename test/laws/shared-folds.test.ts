/** The machine, the projections and the list of sessions say the same of what waits and of each call. */

import * as fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { entriesOf } from "../../src/events/index.ts";
import { allWaiting, type CallPart } from "../../src/projections/index.ts";
import type { SessionState } from "../../src/state/index.ts";
import { replay } from "../support/replay.ts";
import { patience, runs } from "../support/runs.ts";
import { Choices } from "./choices.ts";
import { ImaginedSession } from "./imagined-session.ts";

const imagined = fc
  .array(fc.nat({ max: 2 ** 16 }), { maxLength: 600, size: "max" })
  .map((numbers) => new ImaginedSession(new Choices(numbers)).live());

vi.setConfig({ testTimeout: patience });

function assertEverywhere(check: (state: SessionState) => void): void {
  fc.assert(
    fc.property(imagined, (events) => {
      for (const state of replay(events).states) check(state);
    }),
    runs(15),
  );
}

describe("at every position of a log that the runtime may record", () => {
  it("the same messages wait, in the same order of delivery", () => {
    assertEverywhere(({ machine: { context }, queue, history, summary }) => {
      const due = queue.waiting.map(({ id, delivery }) => ({ id, delivery }));
      expect(context.queue).toEqual(due);
      expect(context.later.toSorted()).toEqual(queue.later.map(({ id }) => id).toSorted());
      const ids = allWaiting(queue)
        .map(({ id }) => id)
        .toSorted();
      expect((summary.waiting ?? []).map(({ id }) => id).toSorted()).toEqual(ids);
      expect(
        entriesOf(history.waiting)
          .map(([id]) => id)
          .toSorted(),
      ).toEqual(ids);
    });
  });

  it("each open call of the running step has the same status", () => {
    assertEverywhere(({ machine: { context }, toolCalls, history, summary }) => {
      const machine = entriesOf(context.calls).filter(([, status]) => status !== "ended");
      const open = toolCalls.open.map(({ callId, status }) => [callId, status]);
      const parts = history.open?.parts.filter((part): part is CallPart => part.kind === "call");
      const shown = (parts ?? []).map(({ callId, outcome }) => [callId, outcome.status]);
      expect(machine).toEqual(open);
      expect(shown).toEqual(expect.arrayContaining(open));
      const awaiting = open.map(([callId, status]) => ({
        callId,
        status: status?.startsWith("awaiting-") === true ? status : "open",
      }));
      expect(summary.openCalls ?? []).toEqual(awaiting);
    });
  });
});
