/**
 * The values of messages for their turns, such as the context. In memory only: passivating a session
 * loses nothing, the end of the process loses all.
 */

import { AsyncLocalStorage } from "node:async_hooks";
import type { OutputInterface } from "ai";
import type { TurnContext } from "../../agent/index.ts";
import { allWaiting } from "../../projections/index.ts";
import type { SessionRecorder } from "../../state/index.ts";

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

/** The values of one message, and the async context of the `send` that gave them. */
export interface HeldMessage {
  readonly values: TurnValues;
  readonly run: <Result>(work: () => Result) => Result;
}

/** The context in which this module was loaded, for turns that no `send` of this process began. */
const outside: HeldMessage["run"] = AsyncLocalStorage.snapshot();

/** A message whose `send` is not known here, as after a restart. */
export const unknownMessage: HeldMessage = { values: {}, run: outside };

/** The values of all messages that wait or whose turn runs, by session. */
export class HeldValues {
  readonly #sessions = new Map<string, Map<string, HeldMessage>>();

  of(session: string, messageId: string): HeldMessage | undefined {
    return this.#sessions.get(session)?.get(messageId);
  }

  /** Holds the values of a message together with the caller's async context. */
  hold(session: string, messageId: string, values: TurnValues): void {
    this.#set(session, messageId, { values, run: AsyncLocalStorage.snapshot() });
  }

  /** Adds values to those of a message; its async context stays. */
  add(session: string, messageId: string, values: TurnValues): void {
    const { run, values: before } = this.of(session, messageId) ?? unknownMessage;
    this.#set(session, messageId, { values: { ...before, ...values }, run });
  }

  /** Forgets the values of messages that no longer wait, after the end of a turn. */
  tidy({ session, state }: Pick<SessionRecorder, "session" | "state">): void {
    const held = this.#sessions.get(session);
    const waiting = new Set(allWaiting(state.queue).map(({ id }) => id));
    if (state.machine.matches("closed")) waiting.clear();
    for (const id of held?.keys() ?? []) if (!waiting.has(id)) held?.delete(id);
    if (held?.size === 0) this.forget(session);
  }

  forget(session: string): void {
    this.#sessions.delete(session);
  }

  #set(session: string, messageId: string, message: HeldMessage): void {
    const held = this.#sessions.get(session) ?? new Map<string, HeldMessage>();
    this.#sessions.set(session, held.set(messageId, message));
  }
}
