/** What a user holds of a session: everything that can be said to one and asked of it. */

import type { CompactionStrategy } from "../context/index.ts";
import type { Delivery, SessionEvent } from "../events/index.ts";
import type {
  ApprovalAnswer,
  ApprovalRecorded,
  Cancelled,
  CancelOptions,
  Turn,
} from "./session/index.ts";
import type { ContextFigures, CompactionPreview, PreviewOptions } from "./prompt/index.ts";
import type { AgentChanges } from "./agent-registry.ts";
import type { RerunPlace, SessionDiff, SessionView } from "../state/index.ts";
import type { Redacted, RedactionTarget, RedactOptions } from "../archive/index.ts";
import type { UserInput } from "../media/index.ts";

/** How a message is delivered. */
export interface SendOptions {
  /**
   * Sending the same message under the same id again delivers nothing twice and answers with its turn.
   * Other content under a known id is refused (`MESSAGE_CONFLICT`), and so is another `delivery`: move
   * the message by `reschedule`. Files that cannot be read any more are compared by their names.
   * Default: a new id.
   */
  readonly id?: string;
  /** While a turn runs: at the next step boundary, or (default) after the turn. */
  readonly delivery?: Delivery;
}

/** Where a fork branches off, and by whom it is run. */
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

/** A turn that is run again. */
interface Rerun {
  /** The fork. */
  readonly session: Session;
  /** The turn that is gone on with, from its beginning on. */
  readonly turn: Turn;
}

/**
 * One conversation of one agent. The handle stays good while what is behind it sleeps and wakes up.
 */
export interface Session {
  readonly id: string;
  /**
   * Accepts a message; durable when this resolves. Starts a turn, or waits for its place.
   * @throws TurnlogError `INVALID_INPUT`, `MESSAGE_CONFLICT`, `SESSION_CLOSED`, `SESSION_FAILED`
   */
  send(input: UserInput, options?: SendOptions): Promise<Turn>;
  /**
   * The turn that took a message up, or will: as `send` answered it, also to another process.
   * @throws TurnlogError `INVALID_INPUT` when the session never accepted such a message
   */
  turn(messageId: string): Promise<Turn>;
  /** Stops the running turn, waits until it has ended, and says what is kept. Idle: does nothing and says so. */
  cancel(options?: CancelOptions): Promise<Cancelled>;
  /**
   * Lets a call run that waits for approval. The same answer again does nothing and says so.
   * @param approvalId - As `view().approvals` and `atRest()` give it: not the call id, which a
   * provider may use again.
   * @throws TurnlogError `APPROVAL_ANSWERED` when it was answered otherwise, `COMMAND_REFUSED` when
   * there is no such approval or it no longer waits, `SESSION_CLOSED`
   *
   * @example
   * ```ts
   * const { approvals } = await session.atRest();
   * for (const { status, approvalId } of approvals)
   *   if (status === "waiting") await session.approve(approvalId, { by: "ann@example.com" });
   * ```
   */
  approve(approvalId: string, answer?: ApprovalAnswer): Promise<ApprovalRecorded>;
  /** Refuses a call that waits for approval; the model is told why. Otherwise as {@link Session.approve}. */
  deny(approvalId: string, answer?: ApprovalAnswer): Promise<ApprovalRecorded>;
  /**
   * Takes back what was answered for good (`always`) about a tool, yes or no: its next call that needs
   * approval is asked about again. @throws TurnlogError `COMMAND_REFUSED` where there is no such answer
   */
  forgetApproval(toolName: string): Promise<void>;
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
  /**
   * Redacts what stands at positions, for good: an event says it, then the keys of that content are
   * erased, here and in all forks. What goes together goes: a block with all its deltas, a call with
   * its input and its outcome. Summaries that may repeat it are named in the answer. Needs `encryption`.
   * @throws TurnlogError as {@link redactSession}; `COMMAND_REFUSED` while a turn runs, here or in a
   * session that shares events with this one
   */
  redact(
    what: RedactionTarget | readonly RedactionTarget[],
    options?: RedactOptions,
  ): Promise<Redacted>;
  /** Events from a position (default 1) on: those that were, then live, without a gap. */
  events(options?: {
    readonly from?: number;
    readonly signal?: AbortSignal;
  }): AsyncIterable<SessionEvent>;
  /** Waits until the session is idle: also for people who have a call to approve. */
  idle(): Promise<void>;
  /**
   * Waits until nothing goes on by itself, and says how it stands: the session is idle, or all that its
   * turn has left is calls that people are to approve or deny (`toolCalls` with the status
   * `awaiting-approval`). What a server answers with, which cannot wait for people.
   * @throws TurnlogError `SESSION_FAILED`, `RUNTIME_CLOSED`
   */
  atRest(): Promise<SessionView>;
  /** Ends the session for good; its log stays. Who waits for a message that waits is told that it has no turn. @throws TurnlogError `COMMAND_REFUSED` while a turn runs */
  close(reason?: string): Promise<void>;
}

/** What came of a compaction. */
type CompactionEvent = SessionEvent<"context.compacted" | "context.compaction-rejected">;
