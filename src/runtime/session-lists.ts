/** Pages of a runtime's sessions: from the log at first, and from an index in memory once it is built. */

import type { EventLog, SessionEvent } from "../events/index.ts";
import { querySessions, SessionIndex, type SessionQuery, type SessionRow } from "../state/index.ts";
import type { SessionActor } from "./session/index.ts";

export interface SessionListsOptions {
  readonly log: EventLog;
  /** Keys of metadata with lists of their own. */
  readonly indexed: readonly string[] | undefined;
  readonly isLive: (session: string) => boolean;
}

export class SessionLists implements Disposable {
  readonly #options: SessionListsOptions;
  /** Made by the first page: a runtime that lists nothing keeps nothing. */
  #index: SessionIndex | undefined;

  constructor(options: SessionListsOptions) {
    this.#options = options;
  }

  async *page(query: SessionQuery): AsyncGenerator<SessionRow, void, void> {
    const { log, indexed = [], isLive } = this.#options;
    // A log that does not tell its changes, as one of many processes, is asked each time.
    if (log.onChange === undefined) return yield* querySessions(log, query);
    this.#index ??= new SessionIndex(log, indexed, isLive);
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
