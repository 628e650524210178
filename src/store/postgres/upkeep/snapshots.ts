/**
 * Snapshots: a cache. One that cannot be read counts as missing. Those over all sessions have the number 0. And the
 * positions that consumers have reached.
 */

import { z } from "zod";
import type { CursorStore, Snapshot } from "../../../events/index.ts";
import { deletedError } from "../../log-rules/log-errors.ts";
import { parsedSnapshot } from "../../log-rules/snapshot-rows.ts";
import { position, type Statements } from "../database/statements.ts";
import { type Heads, unknownSession } from "../heads/heads.ts";
import { ancestors } from "../read/reading.ts";

const rowSchema = z.object({ snapshot: z.string() });
const ownedSchema = rowSchema.extend({ id: z.string() });

export function postgresSnapshots(sql: Statements, heads: Heads) {
  const storedOf = async (session: string) =>
    session === "" ? unknownSession : await heads.stored(session);
  return {
    async save(session: string, snapshot: Snapshot): Promise<void> {
      const { number, isDeleted } = await storedOf(session);
      if (isDeleted) throw deletedError(session);
      // No session, no state.
      if (number === 0 && session !== "") return;
      // JSON writes no character that a text of PostgreSQL cannot hold.
      const [name, text] = [JSON.stringify(snapshot.projection), JSON.stringify(snapshot)];
      await sql.run(`Saving a snapshot of ${session}`)`
        INSERT INTO turnlog.snapshots AS s (session, projection, position, snapshot)
        VALUES (${number}, ${name}, ${snapshot.position}, ${text})
        ON CONFLICT (session, projection) DO UPDATE SET position = excluded.position, snapshot = excluded.snapshot
        WHERE s.session <> 0 OR s.position <= excluded.position`;
    },

    /** The newest one of the session or of what it shares, that no event is missing of. */
    async load(session: string, projection: string): Promise<Snapshot | undefined> {
      const stored = await storedOf(session);
      if (stored.revision === 0 && session !== "") return undefined;
      const ranges =
        session === ""
          ? [{ number: 0, to: Number.MAX_SAFE_INTEGER }]
          : await ancestors(sql, { session, ...stored }, stored.revision);
      const [row] = await sql.rows(rowSchema, `Reading a snapshot of ${session}`)`
        SELECT n.snapshot
        FROM unnest(${ranges.map(({ number }) => number)}::bigint[], ${ranges.map(({ to }) => to)}::bigint[])
          WITH ORDINALITY AS r (number, last, depth)
        JOIN turnlog.snapshots n ON n.session = r.number AND n.position <= r.last
        WHERE n.projection = ${JSON.stringify(projection)} ORDER BY r.depth LIMIT 1`;
      return row && parsedSnapshot(row.snapshot);
    },

    async loadMany(sessions: readonly string[], projection: string) {
      const rows = await sql.rows(ownedSchema, "Reading snapshots")`
        SELECT s.id, n.snapshot FROM turnlog.sessions s JOIN turnlog.snapshots n ON n.session = s.number
        WHERE s.id = ANY(${sessions}::text[]) AND n.projection = ${JSON.stringify(projection)}`;
      const found = new Map(rows.map(({ id, snapshot }) => [id, parsedSnapshot(snapshot)]));
      return sessions.map((session) => found.get(session));
    },
  };
}

const cursorSchema = z.object({ position });
const CURSOR = "The position of a consumer";

/** One row for each name. */
export function postgresCursors(sql: Statements): CursorStore {
  // Connections do not keep the order of calls.
  let saving: Promise<unknown> = Promise.resolve();
  return {
    async load(consumer) {
      const name = Buffer.from(consumer);
      const [row] = await sql.rows(cursorSchema, CURSOR)`
        SELECT position FROM turnlog.cursors WHERE name = ${name}`;
      return row?.position;
    },
    async save(consumer, reached) {
      const saved = saving.then(
        () => sql.run(CURSOR)`INSERT INTO turnlog.cursors (name, position)
          VALUES (${Buffer.from(consumer)}, ${reached}) ON CONFLICT (name) DO UPDATE SET position = excluded.position`,
      );
      saving = saved.catch(() => {});
      await saved;
    },
  };
}
