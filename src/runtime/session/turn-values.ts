/**
 * The values of messages for their turns, such as the context. In memory only: passivating a session
 * loses nothing, the end of the process loses all.
 */

import { AsyncLocalStorage } from "node:async_hooks";
import type { MessageAbout } from "../../events/index.ts";
import type { TurnValues } from "../../commands/index.ts";
import { allWaiting } from "../../projections/index.ts";
import type { SessionRecorder } from "../../state/index.ts";

/** The values of a message, and what is recorded about it. */
export interface MessageValues extends TurnValues {
  readonly about?: MessageAbout;
}

/** The values of one message, and the async context of the `send` that gave them. */
export interface HeldMessage {
  readonly values: MessageValues;
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
  hold(session: string, messageId: string, values: MessageValues): void {
    this.#set(session, messageId, { values, run: AsyncLocalStorage.snapshot() });
  }

  /** Adds values to those of a message; its async context stays. */
  add(session: string, messageId: string, values: MessageValues): void {
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
