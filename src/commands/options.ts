/** The options of a session's commands, as programs give them. The commands beside this file have the checks. */

import type { OutputInterface } from "ai";
import type { DeleteOptions, Delivery, FollowOptions, MessageAbout } from "../events/index.ts";
import type { RerunPlace } from "../state/index.ts";
import type { Agent, TurnContext } from "../agent/index.ts";
import type { CompactionStrategy } from "../context/index.ts";
import type { RewindPlace } from "./rewound.ts";
import type { Seen } from "./head.ts";

/** The values of a message for the turn that it begins. Not in the log. */
export interface TurnValues {
  /**
   * The turn's context: `runtimeContext` for approvals, `prepareStep` and callbacks, `toolsContext` for
   * the tools. Default: the runtime's `contextFor`, else the agent's `runtimeContext` and `toolsContext`.
   */
  readonly context?: TurnContext;
  readonly output?: OutputInterface;
  /**
   * Options for the agent's `prepareCall`, validated by its `callOptionsSchema`. After a restart, the
   * runtime's `contextFor` gives them again.
   */
  readonly options?: unknown;
}

/** How the agent of a session changes. */
export interface AgentChanges {
  /** Another agent, or the name of one of the runtime's `agents`. */
  readonly agent?: Agent | string;
  /** Another model. Default: that of the agent, as with the next two. */
  readonly model?: Agent["model"];
  /** Other instructions. */
  readonly instructions?: NonNullable<Agent["instructions"]>;
  /** Other tools, in place of all of the agent's. */
  readonly tools?: NonNullable<Agent["tools"]>;
}

/**
 * Options of `session.send`.
 * @example
 * await session.send("Stop after the tests.", { id: "m-1", delivery: "steer" });
 */
export interface SendOptions<OUTPUT = unknown, PARTIAL = unknown> extends TurnValues {
  /**
   * The structured output of the turn that the message begins, in place of the agent's. It determines the types
   * of `turn.result.output` and `turn.partialOutputs`. It is not logged.
   */
  readonly output?: OutputInterface<OUTPUT, PARTIAL>;
  /**
   * The id of the message. Sending the same message under the same id again delivers nothing twice and returns
   * the message's turn. Different content under a known id is refused (`MESSAGE_CONFLICT`), and so is a different
   * `delivery`: use `reschedule`. Files that can no longer be read are compared by their names. Default: a new
   * id.
   */
  readonly id?: string;
  /** During a turn: deliver at the next step boundary (`steer`) or after the turn (`follow-up`, default). */
  readonly delivery?: Delivery;
  /**
   * Schedules the message: it waits at least until then, and counts as sent at that time. A Date, or an ISO time
   * with its zone; a time that has passed means now. It is delivered by a process that has the session open at
   * that time; `createRuntime({ resume: "all" })` and `resumeAll` find the messages of all sessions. It cannot be
   * combined with `replaces`.
   */
  readonly notBefore?: Date | string;
  /**
   * The id of a delivered message of the active branch that this message edits. The session is rewound to before
   * that message's turn, and this message is sent instead; other messages that began the turn run again. The
   * former messages and replies stay on their branch. `await turn.replaced` tells what was left.
   */
  readonly replaces?: string;
  /** The last turn or message that the sender saw. Refused (`STALE`) if another turn, message or rewind came since. */
  readonly basedOn?: Seen;
  /** The name of the person who sends it, for the log. */
  readonly by?: string;
  /**
   * What the application says about the message, as JSON of at most 64 KB. It is recorded with the message, and no
   * model gets it. `metadata` and `data` are shown again by pages. `context` and `options` are those of the turn that
   * the message begins, in whichever process it runs: `contextFor` gets the context; without `contextFor` it is the
   * `runtimeContext`, and the context of each tool that has a `contextSchema` and no context of the agent's. The
   * option `context` of this call comes first. Ignored if a message of that id was accepted before.
   */
  readonly about?: MessageAbout;
}

/** Options of `session.reschedule`. Absent options stay as they are. */
export interface ScheduleOptions {
  /** During a turn: deliver at the next step boundary (`steer`) or after the turn (`follow-up`). */
  readonly delivery?: Delivery;
  /** Deliver not before this time: a Date, or an ISO time with its zone. A time that has passed means now. */
  readonly notBefore?: Date | string;
}

/** How the head of a session moves. */
export interface MoveOptions {
  /** Whether the next prompt tells the model which effects of the abandoned branch remain. Default: false. */
  readonly tell?: boolean;
  /**
   * The last turn or message that the caller saw. Refused (`STALE`) if another turn, message or rewind came
   * since. After a regeneration name the turn: the id of its message names the first reply.
   */
  readonly basedOn?: Seen;
  /** The name of the person who moves it, for the log. */
  readonly by?: string;
}

/** Options of `session.rewind`: one of `to`, `beforeTurn` and `beforeMessage`. */
export type RewindOptions = RewindPlace & MoveOptions;

export interface RegenerateOptions<OUTPUT = unknown, PARTIAL = unknown> extends TurnValues {
  /** The structured output of the turn, in place of the agent's. As in {@link SendOptions}. */
  readonly output?: OutputInterface<OUTPUT, PARTIAL>;
  /** A message of the turn to run again. Default: the last turn of the active branch. */
  readonly messageId?: string;
  /** The same key again returns the turn of the first call. Default: join a regeneration that runs. */
  readonly idempotencyKey?: string;
  /**
   * The last turn or message that the caller saw. Refused (`STALE`) if another turn, message or rewind came
   * since. After a regeneration name the turn: the id of its message names the first reply.
   */
  readonly basedOn?: Seen;
  /** The name of the person who asks for it, for the log. */
  readonly by?: string;
}

/** Options of `session.fork`: its position and its agent. */
export interface ForkOptions extends AgentChanges {
  /** The last position that the fork shares. Default: the last recorded position. */
  readonly position?: number;
  /** The id of the fork. Default: a new id. */
  readonly id?: string;
}

/** Options of `session.rerun`: its position and its agent. */
export interface RerunOptions extends RerunPlace, AgentChanges {
  /** The id of the fork that runs the turn. Default: a new id. */
  readonly id?: string;
}

export interface DeletionOptions extends Omit<DeleteOptions, "spent"> {
  /** Cancel its turn first, whatever it does or waits for, and withdraw its messages. Default: false. */
  readonly cancel?: boolean;
  /**
   * Whether its spending stays in `runtime.bill` and the limits. `forget` makes all sums again from the log.
   * Default: `keep`.
   */
  readonly bill?: "keep" | "forget";
}

/** Options of `session.setTitle` and `session.markSeen`. */
export interface PersonOptions {
  /** The name of the person, for the log. */
  readonly by?: string;
}

/** Options of `session.withdraw`. */
export interface WithdrawOptions {
  /** Why, for the log. */
  readonly reason?: string;
  /** The name of the person who withdraws it, for the log. */
  readonly by?: string;
}

/** Options of `session.compact`. */
export interface CompactOptions {
  /** The name of the person who asks for it, for the log. */
  readonly by?: string;
}

export interface PreviewOptions {
  /** Default: the agent's strategy. A strategy that calls a model shows its digest without one. */
  readonly compact?: CompactionStrategy;
  /** A position; default: now. */
  readonly position?: number;
}

export interface PositionOptions {
  /** Default: now. */
  readonly position?: number;
}

export interface AppendOptions {
  /**
   * An id that makes the call repeatable: appending the same event under it again does nothing, and a different
   * event is refused (`EVENT_ID_CONFLICT`). 1 to 256 characters, unique in the session and stored without
   * encryption.
   */
  readonly id?: string;
}

export interface RestOptions {
  readonly signal?: AbortSignal;
}

export interface EventsOptions extends FollowOptions {
  /** The session that runs one of the calls of this one. */
  readonly subAgent?: string;
}
