/** A session as its user holds it. The live actor behind it comes and goes; the handle stays good. */

import type { CompactionStrategy } from "../context/index.ts";
import {
  byId,
  TurnlogError,
  type Delivery,
  type EventLog,
  type RecoveryPolicy,
  type SessionEvent,
} from "../events/index.ts";
import type { QueuedMessage } from "../projections/index.ts";
import { answerEvent, type ApprovalAnswer } from "./approval-answer.ts";
import { requestCancel, type Cancelled, type CancelOptions } from "./cancellation.ts";
import type { ContextFigures } from "./context-figures.ts";
import type { AgentChanges } from "./crews.ts";
import type { CompactionPreview, PreviewOptions } from "./preview.ts";
import { rerunPoint, type RerunPlace } from "./rerun.ts";
import type { SessionActor } from "./session-actor.ts";
import { diffSession, type SessionDiff } from "./session-diff.ts";
import { stateAt, viewOf, viewSession, type SessionView } from "./session-view.ts";
import { createTurn, type Turn } from "./turn.ts";
import { turnOutcome, turnRemains, type TurnOutcome } from "./turn-outcome.ts";
import { toStoredContent, type UserInput } from "./user-input.ts";

export interface SendOptions {
  /** Sending the same id again delivers nothing twice. Default: a new one. */
  readonly id?: string;
  /** While a turn runs: at the next step boundary, or (default) after the turn. */
  readonly delivery?: Delivery;
}

export interface ForkOptions extends AgentChanges {
  /** The last position that the fork shares. Default: the end, as far as it is recorded. */
  readonly at?: number;
  /** The fork's name. Default: a new one. */
  readonly id?: string;
  /**
   * Sent in place of the last message that was delivered (up to `at`): the fork branches off before
   * that one. The answer is under way when the fork is there.
   */
  readonly edit?: UserInput;
  /**
   * The fork branches off before the last turn that had begun (up to `at`): what was said in it is
   * not said there. Not together with `edit`.
   */
  readonly undo?: boolean;
}

/** Where a turn is run again from, and by whom. */
export interface RerunOptions extends RerunPlace, AgentChanges {
  /** The name of the fork in which it happens. Default: a new one. */
  readonly id?: string;
}

export interface Rerun {
  /** The fork. */
  readonly session: Session;
  /** The turn that is gone on with, from its beginning on. */
  readonly turn: Turn;
}

export interface Session {
  readonly id: string;
  /**
   * Accepts a message; durable when this resolves. Starts a turn, or waits for its place.
   * @throws TurnlogError `INVALID_INPUT`, `SESSION_CLOSED`, `SESSION_FAILED`
   */
  send(input: UserInput, options?: SendOptions): Promise<Turn>;
  /**
   * The turn that took a message up, or will: as `send` answered it, also to another process.
   * @throws TurnlogError `INVALID_INPUT` when the session never accepted such a message
   */
  turn(messageId: string): Promise<Turn>;
  /** Stops the running turn, waits until it has ended, and says what is kept. Idle: does nothing and says so. */
  cancel(options?: CancelOptions): Promise<Cancelled>;
  /** Lets a call run that waits for approval. @throws TurnlogError `COMMAND_REFUSED` */
  approve(callId: string, answer?: ApprovalAnswer): Promise<void>;
  /** Refuses a call that waits for approval; the model is told why. @throws TurnlogError `COMMAND_REFUSED` */
  deny(callId: string, answer?: ApprovalAnswer): Promise<void>;
  /** Takes messages back that were not delivered yet. @throws TurnlogError `COMMAND_REFUSED` */
  withdraw(messageId: string, reason?: string): Promise<void>;
  /** Moves a waiting message to the other kind of delivery. @throws TurnlogError `COMMAND_REFUSED` */
  reschedule(messageId: string, delivery: Delivery): Promise<void>;
  /** Delivers waiting messages that a cancelled, failed or interrupted turn has held back. */
  resume(): Promise<void>;
  /**
   * Compacts between turns, as the agent is set up to or as is said here; answers the event that
   * says what came of it. @throws TurnlogError `COMMAND_REFUSED`
   */
  compact(strategy?: CompactionStrategy): Promise<CompactionEvent>;
  /**
   * Undoes the pruning, cut or compaction whose event is at that position (default: the newest that
   * is not undone yet): the prompt is byte for byte what it was without it.
   * @throws TurnlogError `COMMAND_REFUSED`
   */
  restore(position?: number): Promise<void>;
  /**
   * What a compaction would leave of the prompt, now or at a position: nothing is written.
   * @throws TurnlogError `INVALID_INPUT` for a position that there is not.
   */
  preview(options?: PreviewOptions): Promise<CompactionPreview>;
  /**
   * How large the next prompt is and what it is made of, and what was spent so far: now, or as it
   * was at a position (default: now) for the agent that runs the session today.
   * @throws TurnlogError `INVALID_INPUT` for a position that there is not.
   */
  context(options?: { readonly at?: number }): Promise<ContextFigures>;
  /** The session as it stands now. */
  view(): Promise<SessionView>;
  /** The session as it stood at a position. @throws TurnlogError `INVALID_INPUT` */
  at(position: number): Promise<SessionView>;
  /** What the model is shown at one position and not at another. @throws TurnlogError `INVALID_INPUT` */
  diff(before: number, after: number): Promise<SessionDiff>;
  /**
   * A new session that shares this one's events up to a position, by reference, and goes its own way
   * from there: nothing that happens in one of them shows in the other. A turn that ran there is
   * recovered as after a crash right behind that position: a partial reply is kept as interrupted,
   * calls that had started are unknown, by the runtime's `recovery` and the tools' policies.
   *
   * A fork takes back nothing that was done in the world. What a call did after the position, it
   * did: the fork does not know of it, and may do it again. A call that the model had made before
   * has the same effect id in both, so that an idempotent tool does it once.
   *
   * With another model, instructions or tools the fork is run so by this runtime; the runtime of the
   * next process runs it with its own agent, and either is recorded.
   * @throws TurnlogError `INVALID_INPUT` (a position that there is not, no message to edit, no
   * turn to undo),
   * `REVISION_CONFLICT` (there is a session of this name)
   */
  fork(options?: ForkOptions): Promise<Session>;
  /**
   * Goes on live, in a fork, from the middle of a turn that was: with the model and the tools of
   * this runtime, or others. By default the last turn is run again from its first step on; `step`
   * names the step to begin with, `at` any position in a turn. Nothing is asked of the log but what
   * the model had been shown there; what is done in the world is done again.
   * @throws TurnlogError `INVALID_INPUT` where no turn was under way, and as {@link Session.fork}
   */
  rerun(options?: RerunOptions): Promise<Rerun>;
  /** Events from a position (default 1) on: those that were, then live, without a gap. */
  events(options?: {
    readonly from?: number;
    readonly signal?: AbortSignal;
  }): AsyncIterable<SessionEvent>;
  /** Waits until the session is idle. */
  idle(): Promise<void>;
  /** Ends the session for good; its log stays. @throws TurnlogError `COMMAND_REFUSED` while a turn runs */
  close(reason?: string): Promise<void>;
}

export type CompactionEvent = SessionEvent<"context.compacted" | "context.compaction-rejected">;

/** What the runtime lends to its sessions. */
export interface SessionHost {
  readonly log: EventLog;
  readonly newId: () => string;
  /** Resolves when everything is loaded that a step needs. */
  ready(): Promise<void>;
  /** Makes a fork of what is in the log, and wakes it up. */
  fork(session: string, options: ForkOptions, recovery?: RecoveryPolicy): Promise<Session>;
  /** The live actor, woken up from the log if need be. */
  actor(session: string): Promise<SessionActor>;
  /** Resolves with what `look` finds once it finds something; it looks after every event. */
  watch<Found>(actor: SessionActor, look: () => Found | undefined): Promise<Found>;
}

export function createSession(id: string, host: SessionHost): Session {
  const { log } = host;

  /** The live actor of a session that is not closed: nothing is recorded after `session.closed`. */
  async function opened(command: string): Promise<SessionActor> {
    await host.ready();
    const actor = await host.actor(id);
    if (actor.state.machine.matches("closed")) throw actor.refusal(command, "it is closed");
    return actor;
  }

  async function answer(callId: string, approved: boolean, options: ApprovalAnswer): Promise<void> {
    const command = approved ? "approve" : "deny";
    const actor = await opened(command);
    const answered = answerEvent(actor.state, callId, approved, options);
    if (answered === undefined) {
      throw actor.refusal(command, `call ${callId} does not wait for approval`);
    }
    actor.record(answered);
    await actor.durable();
  }

  function turnOf(messageId: string, position: number, queued: boolean): Turn {
    const outcome = async (): Promise<TurnOutcome> => {
      const live = await host.actor(id);
      return await host.watch(live, () => turnOutcome(live.state, messageId));
    };
    return createTurn({ session: id, messageId, queued, position, log, outcome });
  }

  return {
    id,

    async send(input, { id: messageId = host.newId(), delivery = "follow-up" } = {}) {
      const content = toStoredContent(id, input);
      const actor = await opened("accept messages");
      const queued = !actor.isIdle;
      if (byId(actor.state.queue.accepted, messageId) === undefined) {
        actor.record({ type: "message.queued", data: { id: messageId, content, delivery } });
      } else if (waits(actor, messageId)) {
        // Said again by a client that never heard the answer: it is to be delivered now.
        release(actor);
      }
      const position = byId(actor.state.queue.accepted, messageId) ?? actor.state.position;
      await actor.durable();
      return turnOf(messageId, position, queued);
    },

    async turn(messageId) {
      const actor = await host.actor(id);
      const position = byId(actor.state.queue.accepted, messageId);
      if (position !== undefined) return turnOf(messageId, position, waits(actor, messageId));
      throw new TurnlogError(
        "INVALID_INPUT",
        `Session ${id} never accepted a message ${messageId}. Send one, or name one of \`message.queued\`.`,
        { session: id },
      );
    },

    async cancel(options = {}) {
      const actor = await host.actor(id);
      const requested = requestCancel(actor, options);
      const remains = await host.watch(actor, () => {
        const { machine } = actor.state;
        return machine.matches("idle") || machine.matches("closed")
          ? turnRemains(actor.state, requested.turn)
          : undefined;
      });
      return { ...requested, ...remains };
    },

    approve: (callId, options = {}) => answer(callId, true, options),
    deny: (callId, options = {}) => answer(callId, false, options),

    async withdraw(messageId, reason) {
      const actor = await opened("withdraw");
      findWaiting(actor, "withdraw", messageId);
      actor.record({
        type: "message.withdrawn",
        data: { ids: [messageId], ...(reason === undefined ? {} : { reason }) },
      });
      await actor.durable();
    },

    async reschedule(messageId, delivery) {
      const actor = await opened("reschedule");
      // Asked for twice, it is moved once.
      if (findWaiting(actor, "reschedule", messageId).delivery !== delivery) {
        actor.record({ type: "message.rescheduled", data: { id: messageId, delivery } });
      }
      await actor.durable();
    },

    async resume() {
      const actor = await opened("resume");
      release(actor);
      await actor.durable();
    },

    async compact(strategy) {
      const actor = await opened("compact");
      const from = actor.state.position + 1;
      actor.compact(strategy);
      // Not until it is idle: what came meanwhile may start a turn at once.
      await host.watch(actor, () => (actor.state.machine.matches("compacting") ? undefined : true));
      for await (const event of log.read(id, { from })) {
        if (event.type === "context.compacted" || event.type === "context.compaction-rejected") {
          return event;
        }
      }
      throw new TurnlogError("SESSION_FAILED", `The compaction of session ${id} left no trace.`, {
        session: id,
      });
    },

    async restore(position) {
      const actor = await opened("restore");
      actor.restore(position);
      await actor.durable();
    },

    async preview({ compact, at } = {}) {
      await host.ready();
      const actor = await host.actor(id);
      if (at === undefined) return actor.prompts.preview(actor.state, compact);
      await actor.durable();
      return actor.prompts.preview(await stateAt(log, id, at), compact);
    },

    async context({ at } = {}) {
      await host.ready();
      const actor = await host.actor(id);
      if (at === undefined) return actor.prompts.figures();
      await actor.durable();
      return actor.prompts.figures(await stateAt(log, id, at));
    },

    async view() {
      const actor = await host.actor(id);
      await actor.durable();
      return viewOf(id, actor.state);
    },

    async fork(options = {}) {
      await (await host.actor(id)).durable();
      return await host.fork(id, options);
    },

    async rerun({ at, step, ...changes } = {}) {
      await (await host.actor(id)).durable();
      const point = await rerunPoint(log, id, {
        ...(at === undefined ? {} : { at }),
        ...(step === undefined ? {} : { step }),
      });
      const session = await host.fork(id, { ...changes, at: point.at }, "continue");
      return { session, turn: await session.turn(point.messageId) };
    },

    at: (position) => viewSession(log, id, position),
    diff: (before, after) => diffSession(log, id, before, after),
    events: (options) => log.subscribe(id, options),
    idle: async () => untilIdle(await host.actor(id), host),

    async close(reason) {
      const actor = await host.actor(id);
      if (actor.state.machine.matches("closed")) return;
      if (!actor.isIdle) throw actor.refusal("close", "it is running a turn; cancel it or wait");
      actor.record({ type: "session.closed", data: reason === undefined ? {} : { reason } });
      await actor.durable();
    },
  };
}

function waits(actor: SessionActor, messageId: string): boolean {
  return actor.state.queue.waiting.some((message) => message.id === messageId);
}

/** The message, as long as it was not delivered; refuses the command otherwise. */
function findWaiting(actor: SessionActor, command: string, messageId: string): QueuedMessage {
  const found = actor.state.queue.waiting.find((message) => message.id === messageId);
  if (found !== undefined) return found;
  throw actor.refusal(command, `message ${messageId} does not wait`);
}

function release(actor: SessionActor): void {
  const { held, queue } = actor.state.machine.context;
  if (held && queue.length > 0) actor.record({ type: "session.resumed", data: {} });
}

async function untilIdle(actor: SessionActor, host: SessionHost): Promise<void> {
  await host.watch(actor, () => (actor.isIdle ? true : undefined));
}
