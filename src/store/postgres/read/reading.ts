/** Reads a session by position, wherever its events are stored, up to the last committed one. */

import { z } from "zod";
import type { ReadRange, SessionEvent } from "../../../events/index.ts";
import { decodeRow } from "../../event-rows/index.ts";
import { spanOf } from "../../log-rules/reading-rules.ts";
import { deletedError, inSession } from "../../log-rules/log-errors.ts";
import { databaseFailure } from "../database/failures.ts";
import { parseRows, position } from "../database/rows.ts";
import type { Heads } from "../heads/heads.ts";
import type { StoredSession } from "../heads/stored-sessions.ts";
import { ancestors, readSpan, type RowSource } from "./span.ts";

export interface ReadingOptions {
  readonly source: RowSource;
  readonly heads: Heads;
}

const foundSchema = z.object({ asked: position, position, line: z.string(), owner: z.string() });

export class Reading {
  readonly #options: ReadingOptions;

  constructor(options: ReadingOptions) {
    this.#options = options;
  }

  /** @throws TurnlogError as `EventLog.read` */
  async *read(session: string, range: ReadRange): AsyncGenerator<SessionEvent> {
    const stored = await this.#options.heads.stored(session);
    yield* this.#span(session, stored, spanOf(range, stored.revision));
  }

  /** @throws TurnlogError as `EventLog.readAt` */
  async readAt(session: string, positions: readonly number[]): Promise<readonly SessionEvent[]> {
    const { source, heads } = this.#options;
    const stored = await heads.stored(session);
    const asked = positions.filter((at) => at >= 1 && at <= stored.revision);
    if (asked.length === 0) return [];
    const { sql, schema, codec } = source;
    const ranges = await ancestors(sql, schema, { session, ...stored }, stored.revision);
    const rows = await sql
      .query(
        `SELECT a.position AS asked, e.position, e.line, r.owner
         FROM unnest($1::bigint[]) AS a (position)
         JOIN unnest($2::text[], $3::bigint[], $4::bigint[], $5::bigint[]) AS r (owner, number, first, last)
           ON a.position BETWEEN r.first AND r.last
         JOIN LATERAL (
           SELECT position, line FROM ${schema}.events
           WHERE session = r.number AND position >= a.position ORDER BY position LIMIT 1
         ) e ON true`,
        [
          [...new Set(asked)],
          ranges.map(({ owner }) => owner),
          ranges.map(({ number }) => number),
          ranges.map(({ from }) => from),
          ranges.map(({ to }) => to),
        ],
      )
      .catch((error: unknown) => {
        throw databaseFailure(error, `Reading session ${session}`);
      });
    const found = new Map<number, SessionEvent>();
    for (const row of parseRows(foundSchema, rows)) {
      const events = decodeRow(codec, row.line, { session: row.owner, position: row.position });
      const event = events[row.asked - row.position + events.length - 1];
      if (event !== undefined) found.set(row.asked, event);
    }
    return asked.flatMap((at) => found.get(at) ?? []);
  }

  async *#span(
    session: string,
    stored: StoredSession,
    { from, to, backwards }: ReturnType<typeof spanOf>,
  ): AsyncGenerator<SessionEvent> {
    const { source, heads } = this.#options;
    let rest = { from, to };
    let known = stored;
    while (rest.from <= rest.to) {
      const ranges = await ancestors(source.sql, source.schema, { session, ...known }, rest.to);
      const line = backwards ? ranges : ranges.toReversed();
      try {
        for (const range of line) {
          const part = {
            ...range,
            from: Math.max(rest.from, range.from),
            to: Math.min(rest.to, range.to),
          };
          for await (const event of readSpan(source, part, backwards)) {
            yield event;
            const { position: at } = event;
            rest = backwards ? { ...rest, to: at - 1 } : { ...rest, from: at + 1 };
          }
        }
        return;
      } catch (error) {
        const now = await heads.stored(session);
        if (now.isDeleted) throw deletedError(session);
        // A session whose events this one shared has been deleted in the meantime: they have been copied
        // elsewhere.
        const hasMoved = now.link?.session !== known.link?.session;
        if (!hasMoved) throw inSession(session, error);
        known = now;
      }
    }
  }
}
