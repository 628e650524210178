/** Rows as the database answers them, checked. Positions are `bigint` there and safe integers here. */

import { z } from "zod";
import { TurnlogError } from "../../../events/index.ts";

/** A position: the driver answers `bigint` as text. */
export const position: z.ZodType<number> = z.coerce.number().pipe(z.int().nonnegative());

/** A value that is stored as the text of JSON. */
export function storedJson<Value>(schema: z.ZodType<Value>): z.ZodType<Value, string> {
  const parsed = z.string().transform((text, context): unknown => {
    try {
      return JSON.parse(text);
    } catch {
      context.addIssue("not JSON");
      return z.NEVER;
    }
  });
  return parsed.pipe(schema);
}

/** @throws TurnlogError `LOG_DAMAGED` if the answer does not have the form that this release's SQL gives */
export function parseRows<Row>(schema: z.ZodType<Row>, rows: readonly unknown[]): readonly Row[] {
  const parsed = z.array(schema).safeParse(rows);
  if (parsed.success) return parsed.data;
  throw new TurnlogError(
    "LOG_DAMAGED",
    "The database returned rows in a form that turnlog does not write. Check whether another program changed its tables.",
    { cause: parsed.error },
  );
}

// The part of a PostgreSQL driver that the log needs. `pg-client.ts` implements it; no other file knows the driver.

/** A statement with `$1`-parameters. Prepared statements are not used: a pooler in transaction mode breaks them. */
export interface Sql {
  query(text: string, values?: readonly unknown[]): Promise<readonly unknown[]>;
}

export interface SqlPool extends Sql {
  /** Runs `work` in one transaction on one connection. Rolls back if it throws. */
  transaction<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result>;
  /**
   * Listens on a connection of its own, which may fall silent at any time without a sign. Undefined behind a pooler:
   * the server would tell whatever client the pooler gives that connection next, and PgBouncer takes what comes
   * during its check of a connection for the end of that check, so that clients get the answers of others.
   */
  listen(channel: string, onMessage: (payload: string) => void): Promise<Listening | undefined>;
  end(): Promise<void>;
}

export interface Listening {
  /** Resolves when the connection has ended. */
  readonly ended: Promise<void>;
  /** Ends the connection without waiting for the server. */
  stop(): void;
}
