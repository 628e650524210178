/** Forks that undo the last turn or edit the last message, of logs that the runtime may record. */

import * as fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import type { SessionEvent } from "../../src/events/index.ts";
import {
  lastMessage,
  lastTurn,
  pointBefore,
  promptMessages,
  type BranchPoint,
  type HistoryItem,
  type Retraction,
} from "../../src/projections/index.ts";
import type { SessionState } from "../../src/state/index.ts";
import { lawProblems } from "../support/law-problems.ts";
import { replay, stateAt } from "../support/replay.ts";
import { patience, runs } from "../support/runs.ts";
import { Choices } from "./choices.ts";
import { ImaginedSession } from "./imagined-session.ts";

const imagined: fc.Arbitrary<readonly SessionEvent[]> = fc
  .array(fc.nat({ max: 2 ** 16 }), { maxLength: 400, size: "max" })
  .map((numbers) => new ImaginedSession(new Choices(numbers)).live())
  // A message may be delivered in several branches of a rewound session.
  .filter((events) => !events.some(({ type }) => type === "session.rewound"));

vi.setConfig({ testTimeout: patience });

/** The position of what is not to have happened. */
function startOf(events: readonly SessionEvent[], { before }: Retraction): number {
  if (before.kind === "delivery") return before.position;
  const started = events.find(
    ({ type, data }) => type === "turn.started" && data.turn === before.turn,
  );
  return started?.position ?? Number.NaN;
}

/** The log of the fork, as it is before anybody opens it. */
function forked(
  events: readonly SessionEvent[],
  { position, waiting }: BranchPoint,
): readonly SessionEvent[] {
  const from = { session: "parent", position };
  const link = { position: position + 1, time: 0, type: "session.forked", data: { from } } as const;
  const data = { ids: waiting, reason: "the session was forked to say something else" };
  const taken = { position: position + 2, time: 0, type: "message.withdrawn", data } as const;
  return [...events.slice(0, position), link, ...(waiting.length === 0 ? [] : [taken])];
}

const isTold = ({ kind }: HistoryItem): boolean => kind === "user";

const promptOf = ({ history, view }: SessionState): string =>
  JSON.stringify(promptMessages(history, view));

/** Each other point that comes of looking at a session at all of its positions, with what it is for. */
function pointsOf(
  events: readonly SessionEvent[],
  retract: typeof lastTurn,
): readonly (readonly [Retraction, number, BranchPoint])[] {
  const points = new Map<string, readonly [Retraction, number, BranchPoint]>();
  for (const state of replay(events).states) {
    const retraction = retract(state);
    if (retraction === undefined) continue;
    const start = startOf(events, retraction);
    const point = pointBefore(retraction, start, state.queue);
    points.set(JSON.stringify([retraction.messages, point]), [retraction, start, point]);
  }
  return [...points.values()];
}

function expectClean(
  events: readonly SessionEvent[],
  [{ messages }, start, point]: readonly [Retraction, number, BranchPoint],
): void {
  const log = forked(events, point);
  expect(lawProblems(log, { cutOff: true })).toEqual([]);
  expect(point.position).toBeLessThan(start);
  const before = events.slice(0, point.position);
  const delivered = before.flatMap((event) =>
    event.type === "message.delivered" ? event.data.ids : [],
  );
  expect(point.waiting.filter((id) => delivered.includes(id))).toEqual([]);
  // What it is for is gone: neither said, nor about to be.
  const after = replay(log).last;
  const said = after.history.items.flatMap((item) => (item.kind === "user" ? [item.id] : []));
  const waits = after.queue.waiting.map(({ id }) => id);
  expect(messages.filter((id) => said.includes(id) || waits.includes(id))).toEqual([]);
  expect(promptOf(after)).toBe(promptOf(stateAt(replay(events), start - 1)));
}

describe("a fork from any position", () => {
  it("that undoes the last turn is where the turn had not begun, by every law", () => {
    fc.assert(
      fc.property(imagined, (events) => {
        const replayed = replay(events);
        for (const point of pointsOf(events, lastTurn)) {
          expectClean(events, point);
          const { machine } = stateAt(replayed, point[2].position);
          expect(machine.matches("streaming") || machine.matches("tools")).toBe(false);
        }
        const refused = replayed.states.filter((state) => lastTurn(state) === undefined);
        expect(refused.flatMap(({ history }) => history.items).filter(isTold)).toEqual([]);
      }),
      runs(150),
    );
  });

  it("that edits the last message is where it had not been delivered, by every law", () => {
    fc.assert(
      fc.property(imagined, (events) => {
        for (const point of pointsOf(events, lastMessage)) expectClean(events, point);
      }),
      runs(150),
    );
  });
});
