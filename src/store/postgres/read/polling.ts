/**
 * Asks the database for what other processes wrote, as long as somebody follows: one query for all
 * followed sessions, at an interval or after a hint. A hint may be lost; the interval is the truth.
 */

import { z } from "zod";
import { parseRows, position } from "../database/rows.ts";
import type { Sql } from "../database/sql.ts";

/** The entry of a followed session as it is now. */
interface Moved {
  readonly id: string;
  readonly revision: number;
  readonly is_deleted: boolean;
}

const movedSchema: z.ZodType<Moved> = z.object({
  id: z.string(),
  revision: position,
  is_deleted: z.boolean(),
});

export interface PollingOptions {
  readonly sql: Sql;
  readonly schema: string;
  readonly intervalMs: number;
  /** Resolves when this process's appends that the database may have written have resolved. */
  readonly answered: () => Promise<void>;
  readonly followed: () => readonly string[];
  /** Whether somebody follows all sessions. */
  readonly followsAll: () => boolean;
  readonly onMoved: (moved: readonly Moved[]) => void;
  readonly onGlobal: () => void;
}

export class Polling {
  readonly #options: PollingOptions;
  #timer: NodeJS.Timeout | undefined;
  #asking: Promise<void> | undefined;
  #again = false;
  #ended = false;

  constructor(options: PollingOptions) {
    this.#options = options;
  }

  /** Begins if it has not begun. It ends by itself when nobody follows. */
  start(): void {
    if (this.#timer !== undefined || this.#ended) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.hint();
    }, this.#options.intervalMs);
  }

  /** Asks now: another process has said that it wrote. */
  hint(): void {
    if (this.#asking === undefined) this.#asking = this.#ask();
    else this.#again = true;
  }

  async end(): Promise<void> {
    this.#ended = true;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.#asking;
  }

  async #ask(): Promise<void> {
    // Callers that ask in the same tick share one query.
    await Promise.resolve();
    const { sql, schema, answered, followed, followsAll, onMoved, onGlobal } = this.#options;
    do {
      this.#again = false;
      const sessions = followed();
      if (followsAll()) onGlobal();
      if (sessions.length === 0) break;
      try {
        const rows = await sql.query(
          `SELECT id, revision, is_deleted FROM ${schema}.sessions WHERE id = ANY ($1)`,
          [sessions],
        );
        await answered();
        if (!this.#isEnded()) onMoved(parseRows(movedSchema, rows));
      } catch {
        // A database that does not answer now is asked again at the next interval.
      }
    } while (this.#again);
    this.#asking = undefined;
    if (followed().length > 0 || followsAll()) this.start();
  }

  #isEnded(): boolean {
    return this.#ended;
  }
}
