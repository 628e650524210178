/** Everything that may be done to a session, as fast-check commands. */

import fc from "fast-check";
import type { RecoveryPolicy } from "../../src/events/index.ts";
import { isStructural } from "../../src/machines/index.ts";
import { foundBy } from "./acts.ts";
import { command, type Command, type Known } from "./command.ts";
import {
  closeAndReopen,
  configure,
  crash,
  crashSoon,
  letTimePass,
  moveLater,
  note,
  sayAgain,
  sendLater,
  setMetadata,
  sleep,
} from "./disturbances.ts";
import { make } from "./finale.ts";
import { haste } from "./haste.ts";
import type { Move } from "./moves.ts";
import { possibleMoves, type Bounds } from "./possible-moves.ts";
import { refused } from "./refusals.ts";
import { moveHead } from "./rewinds.ts";
import type { Situation, World } from "./situation.ts";

/** Mostly nothing; sometimes the process dies in the midst of it, after so many events that count. */
const death = fc.record({
  events: fc.oneof(
    { weight: 6, arbitrary: fc.constant(Number.POSITIVE_INFINITY) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 4 }) },
  ),
  next: fc.constantFrom<RecoveryPolicy[]>("stop", "continue"),
});

/** Makes one of the moves of a type that are possible, whichever it is. */
function moveCommand(type: Move["type"]): fc.Arbitrary<Command> {
  return fc
    .record({ place: fc.nat(11), gainful: fc.boolean(), abrupt: fc.boolean(), death })
    .map(({ place, death: { events, next }, ...manner }) => {
      const choices = ({ situation, world }: Known): readonly Move[] =>
        possibleMoves(situation, world, boundsOf(situation, world)).filter(
          (move) => move.type === type,
        );
      const dying = Number.isFinite(events) ? `, dying after ${events}, ${next}` : "";
      return command(
        `${type} #${place}${dying}`,
        (known) => choices(known).length > 0,
        async (stage, known) => {
          const moves = choices(known);
          const move = moves[place % moves.length];
          if (move === undefined) throw new Error(`No ${type} is possible.`);
          if (Number.isFinite(events)) {
            stage.nextPolicy = next;
            stage.process.log.kill(events, isStructural);
          }
          await make(stage, move, manner);
          return `${Object.values(move).join(" ")}${dying}`;
        },
      );
    });
}

function boundsOf({ kinds }: Situation, { toolConcurrency }: World): Bounds {
  // One at a time: when time passes for one, it passes for all.
  const slow = Object.values(kinds).includes("slow") ? [] : (["slow"] as const);
  // Only where there is always room: a call that is asked about and finds none is asked about again.
  const asking = toolConcurrency > 4 ? (["asking"] as const) : [];
  return {
    kinds: [
      "plain",
      "guarded",
      "missing",
      "remote",
      "searching",
      "repeatable",
      "doubtful",
      ...slow,
      ...asking,
    ],
    callsInStep: 4,
    waitingMessages: 3,
    laterMessages: 0,
    always: true,
  };
}

/** The model says something that is not a call. */
const talk = fc
  .record({
    type: fc.constantFrom("text", "reasoning"),
    deltas: fc.oneof(fc.array(fc.string(), { maxLength: 4 }), fc.constant(['{"done":', "true}"])),
  })
  .map(({ type, deltas }) =>
    command(
      `${type} ${JSON.stringify(deltas)}`,
      ({ situation }) => situation.machine.matches({ streaming: "calling" }),
      async (stage) => {
        const ends = (): number =>
          stage.store.events.filter((event) => event.type === `part.${type}-end`).length;
        const before = ends();
        stage.process.model.say({ type, deltas });
        await stage.until(`the end of the ${type}`, () => ends() > before || !stage.isAlive);
      },
    ),
  );

/** The provider answers a call of its own. */
const find = fc.constant("find").map((name) =>
  command(
    name,
    ({ situation: { machine, searches } }) =>
      machine.matches({ streaming: "calling" }) && searches.waiting.length > 0,
    async (stage) => {
      const [id = ""] = stage.situation.searches.waiting;
      stage.process.model.say(foundBy(id));
      const isThere = (): boolean => !stage.situation.searches.waiting.includes(id);
      await stage.until("the provider's answer", () => isThere() || !stage.isAlive);
      return `find ${id}`;
    },
  ),
);

/** A whole answer of the model that leads to tools. */
const callTools = fc
  .record({ places: fc.array(fc.nat(11), { minLength: 1, maxLength: 3 }), reason: fc.nat(1) })
  .map(({ places, reason }) =>
    command(
      `${places.length} calls`,
      ({ situation }) => situation.machine.matches({ streaming: "calling" }),
      async (stage) => {
        const told: string[] = [];
        for (const place of places) {
          if (!stage.isAlive) break;
          const { situation, world } = stage;
          const { kinds } = boundsOf(situation, world);
          const kind = kinds[place % kinds.length] ?? "plain";
          told.push(kind);
          await make(stage, { type: "part.tool-call", kind });
        }
        const finishReason = reason === 0 ? "stop" : "tool-calls";
        if (stage.isAlive) await make(stage, { type: "step.finished", finishReason });
        return `calls of ${told.join(", ")}, then ${finishReason}`;
      },
    ),
  );

/** Any command. Most of them lead on, so that sessions get far; some cut them short. */
export const anyCommand: fc.Arbitrary<Command> = fc.oneof(
  { weight: 6, arbitrary: moveCommand("message.queued") },
  { weight: 8, arbitrary: callTools },
  { weight: 2, arbitrary: moveCommand("part.tool-call") },
  { weight: 4, arbitrary: moveCommand("step.finished") },
  { weight: 2, arbitrary: moveCommand("step.retrying") },
  { weight: 3, arbitrary: moveCommand("step.started") },
  { weight: 1, arbitrary: moveCommand("step.failed") },
  { weight: 6, arbitrary: moveCommand("tool.succeeded") },
  { weight: 2, arbitrary: moveCommand("tool.failed") },
  { weight: 2, arbitrary: moveCommand("tool.unknown") },
  { weight: 6, arbitrary: moveCommand("tool.approval-answered") },
  { weight: 2, arbitrary: moveCommand("tool.approval-requested") },
  { weight: 2, arbitrary: moveCommand("tool.started") },
  { weight: 3, arbitrary: talk },
  { weight: 3, arbitrary: find },
  { weight: 2, arbitrary: moveCommand("message.withdrawn") },
  { weight: 2, arbitrary: moveCommand("message.rescheduled") },
  { weight: 1, arbitrary: moveCommand("turn.limit-reached") },
  { weight: 2, arbitrary: moveCommand("tool.skipped") },
  { weight: 2, arbitrary: moveCommand("session.resumed") },
  { weight: 3, arbitrary: moveCommand("turn.cancel-requested") },
  { weight: 1, arbitrary: moveCommand("context.compaction-started") },
  { weight: 4, arbitrary: moveHead },
  { weight: 2, arbitrary: crash },
  { weight: 2, arbitrary: crashSoon },
  { weight: 1, arbitrary: closeAndReopen },
  { weight: 1, arbitrary: sleep },
  { weight: 2, arbitrary: note },
  { weight: 1, arbitrary: configure },
  { weight: 1, arbitrary: setMetadata },
  { weight: 2, arbitrary: sendLater },
  { weight: 2, arbitrary: letTimePass },
  { weight: 3, arbitrary: moveLater },
  { weight: 1, arbitrary: sayAgain },
  { weight: 2, arbitrary: refused },
  { weight: 4, arbitrary: haste },
  {
    weight: 1,
    arbitrary: fc.nat(3).chain((one) => (one === 0 ? moveCommand("session.closed") : talk)),
  },
);
