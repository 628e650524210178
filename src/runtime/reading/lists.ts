/** Pages of a runtime's sessions: from the log at first, and from an index in memory once it is built. */

import { TurnlogError, type EventLog, type SessionEvent } from "../../events/index.ts";
import {
  querySessions,
  SessionIndex,
  type KeepSummary,
  type SessionQuery,
  type SessionRow,
} from "../../state/index.ts";
import type { SessionActor } from "../session/actor.ts";

export interface SessionListsOptions {
  readonly log: EventLog;
  /** Keys of metadata with lists of their own. */
  readonly indexed: readonly string[] | undefined;
  readonly isLive: (session: string) => boolean;
  readonly keep: KeepSummary;
}

/** Stores summaries after an upgrade, so that no later list folds them again. A cache: a failure is a warning. */
export function summaryKeeper(
  log: EventLog,
  onWarning: (error: TurnlogError) => void,
): KeepSummary {
  return async (session, snapshot) => {
    try {
      await log.saveSnapshot(session, snapshot);
    } catch (cause) {
      const why = `The summary of session ${session} could not be stored. Until it is, lists read all events of the session.`;
      onWarning(new TurnlogError("LOG_FAILED", why, { session, cause }));
    }
  };
}

export class SessionLists implements Disposable {
  readonly #options: SessionListsOptions;
  /** Made by the first page: a runtime that lists nothing keeps nothing. */
  #index: SessionIndex | undefined;

  constructor(options: SessionListsOptions) {
    this.#options = options;
  }

  async *page(query: SessionQuery): AsyncGenerator<SessionRow, void, void> {
    const { log, indexed = [], isLive, keep } = this.#options;
    // A log that does not report its changes, such as one that many processes share, is queried each time.
    if (log.onChange === undefined) return yield* querySessions(log, query);
    this.#index ??= new SessionIndex(log, indexed, isLive, keep);
    const isQuick = query.where === undefined && query.status === undefined;
    if (this.#index.isBuilt || !isQuick) return yield* this.#index.page(query);
    // The first page does not wait for the summaries of all sessions. The next one tells why they failed.
    this.#index.build().catch(() => {});
    yield* querySessions(log, query);
  }

  /** Called after each structural event of a live session. */
  recorded({ session, state }: SessionActor, { time }: SessionEvent): void {
    this.#index?.recorded(session, state.summary, time);
  }

  [Symbol.dispose](): void {
    this.#index?.[Symbol.dispose]();
  }
}
