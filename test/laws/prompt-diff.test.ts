/** A diff of two prompts has everything between them, over any two positions of any log. */

import * as fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import type { ModelMessage } from "ai";
import type { SessionEvent } from "../../src/events/index.ts";
import { promptDiff, promptMessages, type PromptDiff } from "../../src/projections/index.ts";
import type { SessionState } from "../../src/state/index.ts";
import { replay, stateAt } from "../support/replay.ts";
import { patience, runs, sampled } from "../support/runs.ts";
import { anyEvents } from "./any-event.ts";
import { Choices } from "./choices.ts";
import { ImaginedSession } from "./imagined-session.ts";
import { fixtureNames, readFixture } from "./session-fixture.ts";

vi.setConfig({ testTimeout: patience });

const promptOf = ({ history, view }: SessionState): readonly ModelMessage[] =>
  promptMessages(history, view);

/** The first prompt with the changes made to it. */
function patched(before: readonly ModelMessage[], { changes }: PromptDiff): ModelMessage[] {
  const removed = new Set(changes.flatMap((one) => (one.kind === "removed" ? [one.index] : [])));
  const messages = before.filter((_, index) => !removed.has(index));
  for (const change of changes) {
    if (change.kind === "added") messages.splice(change.index, 0, change.message);
    if (change.kind === "changed") {
      expect(messages[change.index]).toEqual(change.before);
      messages[change.index] = change.after;
    }
  }
  return messages;
}

function commonLength(one: readonly ModelMessage[], other: readonly ModelMessage[]): number {
  const json = one.map((message) => JSON.stringify(message));
  const index = other.findIndex((message, at) => JSON.stringify(message) !== json[at]);
  return index === -1 ? other.length : index;
}

function expectWholeDiff(one: SessionState, other: SessionState): void {
  const [before, after] = [promptOf(one), promptOf(other)];
  const diff = promptDiff(one, other);
  expect(patched(before, diff)).toEqual(after);
  expect(diff.lengths).toEqual({ before: before.length, after: after.length });
  if (diff.agentChanged) return;
  const common = commonLength(before, after);
  const isBroken = common < Math.min(before.length, after.length);
  expect(diff.cacheBreak).toBe(isBroken ? common : undefined);
}

function expectWholeDiffs(events: readonly SessionEvent[], pairs: readonly [number, number][]) {
  const replayed = replay(events);
  const place = (number: number): SessionState => stateAt(replayed, number % (events.length + 1));
  for (const [one, other] of pairs) expectWholeDiff(place(one), place(other));
}

const pairs = fc.array(fc.tuple(fc.nat(), fc.nat()), { minLength: 1, maxLength: 20 });

describe("the diff of two prompts", () => {
  it.each(fixtureNames)(
    "makes the one out of the other anywhere in the session %s",
    async (name) => {
      const { states } = replay(await readFixture(name));
      for (const [index, one] of states.entries()) {
        expect(promptDiff(one, one).changes).toEqual([]);
        for (const other of sampled(states, 7, index)) {
          expectWholeDiff(one, other);
        }
      }
    },
  );

  it("makes the one out of the other in any log that the runtime may record", () => {
    const imagined = fc
      .array(fc.nat({ max: 2 ** 16 }), { maxLength: 600, size: "max" })
      .map((numbers) => new ImaginedSession(new Choices(numbers)).live());
    fc.assert(fc.property(imagined, pairs, expectWholeDiffs), runs(100, 200));
  });

  it("makes the one out of the other in a log that makes no sense", () => {
    fc.assert(fc.property(anyEvents, pairs, expectWholeDiffs), runs(150, 300));
  });
});
