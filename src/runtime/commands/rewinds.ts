/**
 * The commands of a session that move its head: `rewind`, `checkout`, `regenerate`, and the edit of a
 * message. A running turn is cancelled first, and a compaction stopped; the rewind itself is one event.
 */

import type { OutputInterface } from "ai";
import { isElsewhere, type EventBody, type EventLog } from "../../events/index.ts";
import { acceptedAt } from "../../projections/index.ts";
import {
  assertBasedOn,
  cancel,
  lastMessageId,
  leavingBranch,
  refusal,
  replaceMessage,
  replacing,
  runAgain,
  type CommandTarget,
  type RewindDecision,
  type Rewound,
  type Seen,
  type TurnValues,
} from "../../commands/index.ts";
import { commandEventId, recordedRewind } from "../elsewhere/forwarded-commands.ts";
import type { SessionActor } from "../session/actor.ts";
import type { Turn } from "../session/turn.ts";
import { isAtBoundary, isIdle, sessionBranches, type SessionState } from "../../state/index.ts";
import type { LiveSessions } from "../live/live-sessions.ts";
import type { Session } from "../api/session.ts";

export interface RewindHost {
  readonly id: string;
  readonly log: EventLog;
  readonly live: LiveSessions;
  /** The live actor of a session that is not closed. */
  readonly openActor: (command: string, known?: SessionActor) => Promise<SessionActor>;
  readonly command: string | undefined;
  /** The position of the last event of `command`, if a process executed it. */
  readonly executed: () => Promise<number | undefined>;
  /** The turn that a message has next. */
  readonly turnOf: <OUTPUT, PARTIAL>(
    messageId: string,
    place: TurnPlace,
    output?: OutputInterface<OUTPUT, PARTIAL>,
  ) => Turn<OUTPUT, PARTIAL>;
}

/** Where a message was queued, and from which position on its turn is looked for: by default from there. */
export interface TurnPlace {
  readonly queuePosition: number;
  readonly from?: number;
  readonly queued: boolean;
}

interface Edit {
  readonly replaces: string;
  /** The id of the message that is sent instead. */
  readonly newId: string;
  readonly basedOn: Seen | undefined;
  /** The name of the person who edits. */
  readonly by: string | undefined;
  readonly stored: readonly EventBody<"blob.stored">[];
  readonly values: TurnValues;
}

export type Rewinds = Pick<Session, "branches" | "regenerate"> & {
  /** Moves the head between two turns. */
  readonly move: (
    command: string,
    basedOn: Seen | undefined,
    decide: (target: CommandTarget) => RewindDecision,
  ) => Promise<Rewound>;
  /** Rewinds for an edit; `accept` records the new message in the same moment. */
  readonly edit: <Found>(edit: Edit, accept: (actor: SessionActor) => Found) => Promise<Found>;
  /** What the rewind left that made a message run, from this position on. */
  readonly replaced: (messageId: string, from: number) => Promise<Rewound | undefined>;
};

export function sessionRewinds(host: RewindHost): Rewinds {
  const { id, log, live, openActor, turnOf, command: asked, executed } = host;
  const eventId = commandEventId(asked);

  /**
   * Acts between two turns, cancelling one that runs. In the same moment as the look: other commands may
   * begin a turn in any other.
   * @param isDone - Whether nothing is left to cancel a turn for. It throws what the command is refused for: a refused
   *   command cancels no turn.
   */
  async function atRest<Found>(
    command: string,
    isDone: (actor: SessionActor) => boolean,
    act: (actor: SessionActor) => Found,
  ): Promise<Found> {
    for (;;) {
      const actor = await openActor(command);
      if (isAtBoundary(actor.state) || isDone(actor)) return act(actor);
      const cancelling = (state: SessionState): readonly EventBody[] =>
        cancel(state, { reason: `the session is told to ${command}` }).events;
      for (const body of cancelling(actor.state)) actor.record(body);
      // A turn that was about to begin can be cancelled once it has begun.
      const isReady = (state: SessionState): boolean =>
        isAtBoundary(state) || isClosed(state) || cancelling(state).length > 0;
      await live.watch(id, ({ state }) => isReady(state) || undefined);
    }
  }

  /** The turn of a message that runs again since a rewind. */
  function turnAgain<OUTPUT, PARTIAL>(
    { state }: SessionActor,
    messageId: string,
    from: number,
    output?: OutputInterface<OUTPUT, PARTIAL>,
  ): Turn<OUTPUT, PARTIAL> {
    const queuePosition = acceptedAt(state.queue, messageId) ?? from;
    return turnOf(messageId, { queuePosition, from, queued: false }, output);
  }

  async function move(
    command: string,
    basedOn: Seen | undefined,
    decide: (target: CommandTarget) => RewindDecision,
  ): Promise<Rewound> {
    const done = await executed();
    if (done !== undefined) {
      const { before, rewound } = await recordedRewind(log, id, done);
      return priced(await live.actor(id), before, rewound);
    }
    const isDone = (running: SessionActor): boolean => {
      assertBasedOn(running, basedOn);
      decide(running);
      return false;
    };
    const { actor, rewound } = await atRest(command, isDone, (resting) => {
      const { state } = resting;
      assertBasedOn(resting, basedOn);
      const moved = moveHead(resting, decide, { eventId });
      return { actor: resting, rewound: priced(resting, state, moved) };
    });
    await actor.durable();
    return rewound;
  }

  return {
    move,

    async branches() {
      return sessionBranches(await live.state(id));
    },

    async regenerate({ messageId, idempotencyKey, basedOn, by, ...values } = {}) {
      const { output } = values;
      let actor = await openActor("regenerate");
      await actor.turn.assertValid(values, "regenerate");
      actor = await openActor("regenerate", actor);
      const { state } = actor;
      const known = joined(state, messageId, idempotencyKey);
      if (known !== undefined) {
        actor.turn.holdAgain(known.first, values);
        await actor.durable();
        return turnAgain(actor, known.message, known.from, output);
      }
      const done = await executed();
      if (done !== undefined) {
        const message = messageId ?? lastRunAt(state, done);
        return turnAgain(actor, message, done, output);
      }
      assertBasedOn(actor, basedOn);
      const message = messageId ?? lastMessageId(state);
      if (message === undefined) throw refusal(actor, "regenerate", "it has no turn yet");
      const decide = (target: CommandTarget): RewindDecision =>
        runAgain(target, message, idempotencyKey, { by });
      const isDone = (running: SessionActor): boolean => {
        if (joined(running.state, messageId, idempotencyKey) !== undefined) return true;
        assertBasedOn(running, basedOn);
        decide(running);
        return false;
      };
      const { resting, from } = await atRest("regenerate", isDone, (at) => {
        const begun = joined(at.state, messageId, idempotencyKey);
        // Another command with this key was quicker.
        if (begun !== undefined) return { resting: at, from: begun.from };
        assertBasedOn(at, basedOn);
        return { resting: at, from: moveHead(at, decide, { values, eventId }).position };
      });
      await resting.durable();
      return turnAgain(resting, message, from, output);
    },

    async edit({ replaces, newId, basedOn, by, stored, values }, accept) {
      const decide = (target: CommandTarget): RewindDecision =>
        replaceMessage(target, replaces, newId, { by });
      const isDone = (actor: SessionActor): boolean => {
        if (acceptedAt(actor.state.queue, newId) !== undefined) return true;
        assertBasedOn(actor, basedOn);
        actor.blobs.assertWithinQuota(stored);
        decide(actor);
        return false;
      };
      return await atRest("edit", isDone, (actor) => {
        if (!isEditing(actor.state, newId) && !isDone(actor)) moveHead(actor, decide, { values });
        return accept(actor);
      });
    },

    async replaced(messageId, from) {
      const rewind = replacing(await live.state(id), messageId, from);
      if (rewind === undefined) return undefined;
      const { before, rewound } = await recordedRewind(log, id, rewind.position);
      try {
        return priced(await live.actor(id), before, rewound);
      } catch (error) {
        // The prices are those of the agent in the process that runs the session.
        if (!isElsewhere(error)) throw error;
        return rewound;
      }
    },
  };
}

function priced(actor: SessionActor, state: SessionState, rewound: Rewound): Rewound {
  return { ...rewound, cost: actor.prompts.costOf(state, rewound.turns) };
}

/**
 * Records a rewind, unless the session is already at that place.
 * @param options - `values`: held for the first message that it runs again, which begins the turn. `eventId`: of
 *   the event.
 */
function moveHead(
  actor: SessionActor,
  decide: (target: CommandTarget) => RewindDecision,
  { values, eventId }: { readonly values?: TurnValues; readonly eventId?: string | undefined },
): Rewound {
  const here = decide(actor);
  if (here.event === undefined) return here.rewound;
  const [first] = here.event.data.again ?? [];
  if (first !== undefined && values !== undefined) actor.turn.hold(first, values);
  const leaving = leavingBranch(actor.state);
  for (const body of leaving) actor.record(body);
  // They moved the position.
  const { event, rewound } = leaving.length > 0 ? decide(actor) : here;
  if (event !== undefined) actor.record(event, eventId);
  return rewound;
}

/** Whether the process died after the rewind of an edit, and before its message. */
function isEditing(
  { branches: { all, switches }, boundaries }: SessionState,
  newId: string,
): boolean {
  const active = all.find((branch) => branch.id === switches.at(-1)?.branch);
  return active?.edit?.by === newId && boundaries.from === active.id;
}

/** The last message that the rewind at a position runs again. */
function lastRunAt({ branches }: SessionState, position: number): string {
  return branches.all.find(({ id }) => id === position)?.again?.at(-1) ?? "";
}

function isClosed({ machine }: SessionState): boolean {
  return machine.matches("closed");
}

/** An earlier regeneration that this call joins: one with the same key, or the running one. */
function joined(
  state: SessionState,
  messageId: string | undefined,
  key: string | undefined,
): { readonly message: string; readonly first: string; readonly from: number } | undefined {
  const { history, branches } = state;
  const { all, switches } = branches;
  const isActive = (id: number): boolean => switches.at(-1)?.branch === id;
  const hasEnded = (id: number): boolean =>
    history.items.some(({ kind, position }) => kind === "turn-end" && position > id);
  const runs = (id: number): boolean => isActive(id) && !isIdle(state) && !hasEnded(id);
  for (const { id, again = [], key: used } of all.toReversed()) {
    const message = messageId ?? again.at(-1);
    if (message === undefined || !again.includes(message)) continue;
    if (key === undefined ? runs(id) : used === key)
      return { message, first: again[0] ?? message, from: id };
  }
  return undefined;
}
