/** Reads a session by position, wherever its events are stored, up to the last written one. */

import { assertPositions, deletedError } from "../../log-rules/log-errors.ts";
import { type SessionEvent, TurnlogError, type ReadRange } from "../../../events/index.ts";
import { isDeleted } from "../rows/session-rows.ts";
import type { Heads } from "../heads/heads.ts";
import { readPositions } from "./position-reader.ts";
import { readShared, type SharedSource } from "./shared-reader.ts";

export interface ReadingOptions {
  readonly source: SharedSource;
  readonly heads: Heads;
  /** @throws TurnlogError `LOG_CLOSED` */
  readonly assertOpen: () => void;
}

export class Reading {
  readonly #options: ReadingOptions;

  constructor(options: ReadingOptions) {
    this.#options = options;
  }

  /** @throws TurnlogError as `EventLog.read` */
  async *read(session: string, range: ReadRange): AsyncGenerator<SessionEvent> {
    const { source, heads, assertOpen } = this.#options;
    assertOpen();
    assertPositions(session, [range.from, range.to, range.limit]);
    const head = await heads.load(session);
    const { committed } = head;
    const { from = 1, to = committed, backwards = false, limit = Number.POSITIVE_INFINITY } = range;
    const first = Math.max(from, 1);
    const last = Math.min(to, committed);
    try {
      const rows = readShared(source, head, {
        from: backwards ? Math.max(first, last - limit + 1) : first,
        to: backwards ? last : Math.min(last, first + limit - 1),
        backwards,
      });
      for await (const events of rows) for (const event of events) yield event;
    } catch (error) {
      throw await this.#reason(session, error);
    }
  }

  /** Reads written events, also while the log closes. */
  async *span(session: string, from: number, to: number): AsyncGenerator<SessionEvent> {
    const { source, heads } = this.#options;
    try {
      const rows = readShared(source, await heads.load(session), { from, to, backwards: false });
      for await (const events of rows) for (const event of events) yield event;
    } catch (error) {
      throw await this.#reason(session, error);
    }
  }

  /** @throws TurnlogError as `EventLog.readAt` */
  async readAt(session: string, positions: readonly number[]): Promise<readonly SessionEvent[]> {
    const { source, heads, assertOpen } = this.#options;
    assertOpen();
    assertPositions(session, positions);
    try {
      return await readPositions(source, await heads.load(session), positions);
    } catch (error) {
      throw await this.#reason(session, error);
    }
  }

  /** Replaces apparent damage by `SESSION_DELETED` if the session was deleted meanwhile. */
  async #reason(session: string, error: unknown): Promise<unknown> {
    const isDamage = TurnlogError.isInstance(error) && error.code === "LOG_DAMAGED";
    if (!isDamage || error.details["owner"] !== undefined) return error;
    const { database } = this.#options.source;
    return (await isDeleted(database, session)) ? deletedError(session) : error;
  }
}
