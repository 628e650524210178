/** The public interface of a session. `commands/handle.ts` makes it from the catalogue of commands. */

import type { BillOptions, SessionBill } from "../../bill/index.ts";
import type { CompactionStrategy } from "../../context/index.ts";
import type {
  Delivery,
  EventSchemas,
  JsonObject,
  SessionEvent,
  AppEventInput,
  AppEventType,
} from "../../events/index.ts";
import type {
  AgentChanges,
  Allowance,
  ApprovalAnswer,
  ApprovalRecorded,
  CallAnswer,
  CallAnswered,
  Cancelled,
  CancelOptions,
  CompactOptions,
  EventsOptions,
  ForkOptions,
  MoveOptions,
  PersonOptions,
  PositionOptions,
  PreviewOptions,
  RegenerateOptions,
  RerunOptions,
  RestOptions,
  RewindOptions,
  Rewound,
  ScheduleOptions,
  SendOptions,
  WithdrawOptions,
  AppendOptions,
} from "../../commands/index.ts";
import type { Turn } from "../session/turn.ts";
import type { ContextFigures } from "../prompt/context-figures.ts";
import type { CompactionPreview } from "../prompt/compaction-end.ts";
import type {
  SessionBranch,
  SessionDiff,
  SessionView,
  SubAgents,
  Projected,
} from "../../state/index.ts";
import type { Redacted, RedactionTarget, RedactOptions } from "../../archive/index.ts";
import type { UserInput } from "../../media/index.ts";
import type { Projection } from "../../projections/index.ts";

interface Rerun<Events extends EventSchemas> {
  readonly session: Session<Events>;
  /** The turn that continues in the fork, with its events from its beginning. */
  readonly turn: Turn;
  /** The last position that both sessions share. */
  readonly position: number;
}

/**
 * One conversation of one agent. The handle stays valid while the runtime passivates and activates the session.
 * `Events`: the events of your program, from `createRuntime({ events })`.
 * @example
 * const session: Session = await runtime.session("s-1");
 * await session.send("Which tests failed?");
 */
export interface Session<Events extends EventSchemas = EventSchemas> extends ProgramEvents<Events> {
  readonly id: string;
  /**
   * Sends a message: it is durable when this resolves. It starts a turn, or waits in the queue behind the running
   * one.
   * @throws TurnlogError `INVALID_INPUT`, `MESSAGE_CONFLICT`, `STALE`, `COMMAND_REFUSED` (no such message to
   * replace), `SESSION_CLOSED`, `SESSION_FAILED`
   */
  send<OUTPUT = unknown, PARTIAL = unknown>(
    message: UserInput,
    options?: SendOptions<OUTPUT, PARTIAL>,
  ): Promise<Turn<OUTPUT, PARTIAL>>;
  /**
   * The turn that delivers a message, as `send` returned it, even if another process sent the message.
   * @throws TurnlogError `INVALID_INPUT` if the session never accepted a message of this id
   */
  turn(messageId: string): Promise<Turn>;
  /**
   * Cancels the running turn. Waits until it has ended, and returns what is kept of it. Does nothing if no turn
   * runs.
   */
  cancel(options?: CancelOptions): Promise<Cancelled>;
  /**
   * Approves a call that waits for approval. The same answer again is a no-op (`already-answered`).
   * @param approvalId - From `view().approvals` or `atRest()`. Not the call id, which a provider may
   * use again.
   * @throws TurnlogError `APPROVAL_ANSWERED` if another answer was recorded, `COMMAND_REFUSED` if the
   * approval does not exist or no longer waits, `SESSION_CLOSED`
   * @example
   * const { approvals } = await session.atRest();
   * for (const { status, approvalId } of approvals)
   *   if (status === "waiting") await session.approve(approvalId, { by: "ann@example.com" });
   */
  approve(approvalId: string, answer?: ApprovalAnswer): Promise<ApprovalRecorded>;
  /** Denies a call that waits for approval; the model gets the reason. Otherwise as {@link Session.approve}. */
  deny(approvalId: string, answer?: ApprovalAnswer): Promise<ApprovalRecorded>;
  /**
   * Gives the output of a call whose tool has no `execute`, or the text of an error, and the turn continues. The
   * output is checked by the tool's `outputSchema`, and `toModelOutput` applies. The same answer again is a no-op
   * (`already-answered`).
   * @param requestId - From `view().outputRequests` or `atRest()`. A call id is accepted too while only one such
   * call of the session has it, since a provider may reuse ids.
   * @throws TurnlogError `INVALID_INPUT` if the output does not fit (the call still waits),
   * `CALL_ANSWERED` if another answer was recorded, `COMMAND_REFUSED` if no such call waits or several
   * have the call id, `SESSION_CLOSED`
   * @example
   * const { outputRequests } = await session.atRest();
   * for (const { status, requestId, input } of outputRequests)
   *   if (status === "waiting") await session.answerCall(requestId, { output: await ask(input) });
   */
  answerCall(requestId: string, answer: CallAnswer): Promise<CallAnswered>;
  /**
   * Continues a turn that a limit of spending with `hold` holds: so much more counts on top of that limit until the
   * turn ends, for its sub-agents too. In the unit of the limit.
   * @throws TurnlogError `COMMAND_REFUSED` if no limit holds the turn, `SESSION_CLOSED`
   * @example
   * const { budget } = await session.atRest();
   * if (budget?.unit === "dollars") await session.allow({ dollars: 2, by: "ann@example.com" });
   */
  allow(more: Allowance): Promise<void>;
  /**
   * Removes the answer with `always` for a tool, so that its next call asks for approval again.
   * @throws TurnlogError `COMMAND_REFUSED` if there is no such answer
   */
  forgetApproval(toolName: string): Promise<void>;
  /** Withdraws a message that was not delivered yet. @throws TurnlogError `COMMAND_REFUSED` */
  withdraw(messageId: string, reasonOrOptions?: string | WithdrawOptions): Promise<void>;
  /**
   * Changes when a waiting message is delivered. A scheduled message has no place in the queue; it joins the end
   * of the queue when its time comes. @throws TurnlogError `COMMAND_REFUSED`
   */
  reschedule(messageId: string, to: Delivery | ScheduleOptions): Promise<void>;
  /** Delivers the messages that wait behind a cancelled, failed or interrupted turn. */
  resume(): Promise<void>;
  /**
   * Compacts the context between turns: by the agent's strategy or the given one. Returns the event that ends the
   * compaction. @throws TurnlogError `COMMAND_REFUSED` while a turn runs
   */
  compact(strategy?: CompactionStrategy, options?: CompactOptions): Promise<CompactionEvent>;
  /**
   * Undoes the pruning, cut, reduction or compaction whose event has that position (default: the newest that is
   * not undone yet). The prompt is then, byte for byte, what it would be without that event.
   * @throws TurnlogError `COMMAND_REFUSED`
   */
  restore(position?: number): Promise<void>;
  /**
   * Goes back to the end of an earlier turn: later events leave the active branch and stay in the log. A running
   * turn is cancelled first. History and next prompt are then those of that position. Turn and step numbers keep
   * counting. Effects in the world are not undone; the answer lists them.
   * @throws TurnlogError `COMMAND_REFUSED` if the place is within a turn or not on the active branch,
   * `STALE`, `SESSION_CLOSED`
   * @example
   * const { effects } = await session.rewind({ beforeTurn: 3, tell: true });
   * for (const { toolName, status } of effects) console.log(toolName, status);
   */
  rewind(options: RewindOptions): Promise<Rewound>;
  /**
   * Makes another branch the active one, in the state in which it was left. `branches` lists the branches. Does
   * nothing for the active branch. @throws TurnlogError `COMMAND_REFUSED`, `STALE`, `SESSION_CLOSED`
   */
  checkout(branch: number, options?: MoveOptions): Promise<Rewound>;
  /** The branches of the session, oldest first. Each rewind begins one. */
  branches(): Promise<readonly SessionBranch[]>;
  /**
   * Runs a turn of the active branch again for another reply: its messages are delivered again, on a new branch.
   * Later turns leave the active branch. A running turn is cancelled first, unless it is such a regeneration,
   * which this call then joins. The `context`, `output` and `options` of the former turn's message are not kept:
   * give them again. `await turn.replaced` tells what was left.
   * @throws TurnlogError `COMMAND_REFUSED` without such a turn, `STALE`, `SESSION_CLOSED`
   */
  regenerate<OUTPUT = unknown, PARTIAL = unknown>(
    options?: RegenerateOptions<OUTPUT, PARTIAL>,
  ): Promise<Turn<OUTPUT, PARTIAL>>;
  /**
   * The prompt that a compaction would leave, now or at a position. Writes nothing.
   * @throws TurnlogError `INVALID_INPUT` if the position does not exist
   */
  preview(options?: PreviewOptions): Promise<CompactionPreview>;
  /**
   * The size of the next prompt, its parts, and the tokens and cost spent so far: now or at a
   * position, in both cases for the agent that runs the session now.
   * @throws TurnlogError `INVALID_INPUT` if the position does not exist
   */
  context(options?: PositionOptions): Promise<ContextFigures>;
  /**
   * What the session paid and for what: every call, each part of its prompts over its life, what the provider's
   * cache did not read and why; with `whatIf`, also what it would have cost otherwise. By the prices of the agent
   * that runs the session now.
   * @throws TurnlogError `INVALID_INPUT` if a position does not exist, or is no compaction or pruning
   */
  bill(options?: BillOptions): Promise<SessionBill>;
  /** The session now: its state, history, prompt, usage, calls, approvals and queue. */
  view(): Promise<SessionView>;
  /** The session at a position. @throws TurnlogError `INVALID_INPUT` */
  at(position: number): Promise<SessionView>;
  /** The difference between the prompts at two positions. @throws TurnlogError `INVALID_INPUT` */
  diff(before: number, after: number): Promise<SessionDiff>;
  /**
   * Creates a session that shares this one's events up to a position, by reference. Later events of
   * one do not appear in the other. A turn that ran at that position is recovered as after a crash:
   * a partial reply is kept as interrupted, and calls that had started are unknown, by the runtime's
   * `recovery` and the tools' policies.
   *
   * A fork undoes no effect in the world. The fork does not know what a call did after the position,
   * and may do it again. A call that the model made before it has the same effect id in both
   * sessions, so that an idempotent tool runs it once.
   *
   * A changed model, instructions or tools apply while this runtime is open. Another runtime runs the fork with
   * its own agent. Both agents are recorded.
   * @throws TurnlogError `INVALID_INPUT` (the position does not exist), `REVISION_CONFLICT` (the id is taken)
   */
  fork(options?: ForkOptions): Promise<Session<Events>>;
  /**
   * Runs an earlier turn again in a fork, from a position inside it, with the model and tools of this
   * runtime or others. Default: the last turn from its first step. `step` names the first step to run,
   * `position` any position in a turn. Model and tools are called again, with their effects in the world.
   * @throws TurnlogError `INVALID_INPUT` if no turn ran at the position, and as {@link Session.fork}
   */
  rerun(options?: RerunOptions): Promise<Rerun<Events>>;
  /**
   * Changes the agent that runs the session, between turns: to one of the runtime's `agents` by its name,
   * or by another model, instructions or tools. The change is recorded. Other runtimes follow the name; the
   * rest applies while this runtime is open. @throws TurnlogError `INVALID_INPUT`, `COMMAND_REFUSED` while
   * a turn runs, `SESSION_CLOSED`
   * @example
   * await session.configure({ agent: "coder" });
   */
  configure(changes: AgentChanges): Promise<void>;
  /**
   * Replaces the metadata of the session, even during a turn. Rewinds do not change them.
   * @throws TurnlogError `INVALID_INPUT`, `SESSION_CLOSED`
   * @example
   * const { summary } = await session.view();
   * await session.setMetadata({ ...summary.metadata, topic: "refund" });
   */
  setMetadata(metadata: JsonObject): Promise<void>;
  /**
   * Gives the session a title in lists, in place of the beginning of its first message. Rewinds do not change it.
   * @throws TurnlogError `INVALID_INPUT`, `SESSION_CLOSED`
   */
  setTitle(title: string, options?: PersonOptions): Promise<void>;
  /**
   * Records that a person has seen all turns that have ended: `seen[by]` of the session's row in lists. A row at
   * rest with more `turns` has something unread for them.
   * @throws TurnlogError `INVALID_INPUT` without `by`, `SESSION_CLOSED`
   */
  markSeen(options?: PersonOptions): Promise<void>;
  /**
   * Permanently redacts the content at positions: records an event, then erases the keys of that content, here
   * and in all forks. A block is redacted with all its deltas, and a call with its input and outcome. The answer
   * names the summaries that may repeat the content. Needs `encryption`.
   * @throws TurnlogError `INVALID_INPUT` (no such position, no content there), `COMMAND_REFUSED` (without encryption;
   * while a turn runs or a call waits, here or in a session that shares events with this one; another session,
   * `details.owner`, wrote it), `KEY_MISSING`
   */
  redact(
    what: RedactionTarget | readonly RedactionTarget[],
    options?: RedactOptions,
  ): Promise<Redacted>;
  /**
   * The events from a position (default 1): stored events, then live ones, without a gap. With `subAgent`, the
   * events of the session that runs one of its calls (`view().toolCalls`, `child`).
   */
  events(options?: EventsOptions): AsyncIterable<SessionEvent>;
  /**
   * The sessions that run the calls of `agentTool` tools, with the usage and the cost of each and of all together.
   * The figures of this session (`context`, `turn.result`) do not include them.
   * @example
   * const { totalCost, subAgents } = await session.subAgents();
   * for (const { session: id, toolName, cost } of subAgents) console.log(id, toolName, cost.dollars);
   * if (totalCost.unpriced > 0) console.log("Some models have no known price.");
   */
  subAgents(): Promise<SubAgents>;
  /** Waits until the session is idle, even while calls wait for approvals or outputs. */
  idle(): Promise<void>;
  /**
   * Waits until the session is at rest and returns its view: it is idle, or all open calls of its turn
   * wait for approval (`awaiting-approval`) or for a client's output (`awaiting-output`), or a limit of spending holds
   * its turn. It is meant for servers
   * that respond before a person has answered. Rejects with the reason of `signal` when it aborts.
   * @throws TurnlogError `SESSION_FAILED`, `RUNTIME_CLOSED`
   */
  atRest(options?: RestOptions): Promise<SessionView>;
  /**
   * Ends the session permanently; its log stays. The turns of messages that still wait reject.
   * @throws TurnlogError `COMMAND_REFUSED` while a turn runs
   */
  close(reason?: string): Promise<void>;
}

/** The event that ends a compaction. */
type CompactionEvent = SessionEvent<"context.compacted" | "context.compaction-rejected">;

// The part of {@link Session} for the user's own events and projections.

/** The place of an appended event. */
interface AppendedEvent {
  readonly position: number;
  /** True if the session had an event of this id with the same type and data: nothing was appended. */
  readonly repeated: boolean;
}

export interface ProgramEvents<Events extends EventSchemas> {
  /**
   * Appends an event of your program to the log in any state of the session, even while a turn runs or waits or
   * the context is being compacted. The event is durable when this resolves. Subscribers and your projections see
   * it; the model does not. Like every event it is encrypted, redacted, exported and shared with forks, and
   * belongs to a branch.
   * @param type - A name of `createRuntime({ events })`.
   * @param data - Must fit the event's schema; at most 1 MiB of JSON. Stored as it is given.
   * @throws TurnlogError `INVALID_INPUT`, `EVENT_ID_CONFLICT`, `SESSION_CLOSED`
   * @example
   * await session.append("app.ticket-opened", { ticket: "T-1" }, { id: "webhook-77" });
   */
  append<Type extends keyof Events & AppEventType>(
    type: Type,
    data: AppEventInput<Events[Type]>,
    options?: AppendOptions,
  ): Promise<AppendedEvent>;
  /**
   * The state of a projection at a position; by default now, with every event that was recorded before the call.
   * It is folded from the log. A snapshot is stored every 2,000 events, and is ignored once the projection has
   * another version. A projection of the branch never sees the events of a branch that was left.
   * @throws TurnlogError `INVALID_INPUT` if the position does not exist, `CALLBACK_FAILED` if the fold throws,
   * `EVENT_INVALID` if an event does not fit its schema
   * @example
   * const { state, position } = await session.project(openTickets);
   */
  project<State extends object>(
    projection: Projection<State>,
    options?: PositionOptions,
  ): Promise<Projected<State>>;
  /**
   * The states of a projection: the present one, then one after each event that changes it, in order and without
   * a gap. After a rewind, a projection of the branch has the state of the branch that is now active. Ends when
   * the signal aborts or the runtime closes. Throws as `project`.
   * @example
   * for await (const { state } of session.follow(openTickets, { signal })) render(state);
   */
  follow<State extends object>(
    projection: Projection<State>,
    options?: RestOptions,
  ): AsyncIterable<Projected<State>>;
}
