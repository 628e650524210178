/** Statements on the tables of the log, and their answers, checked. Positions are `bigint` there and safe integers here. */

import { setTimeout } from "node:timers/promises";
import { z } from "zod";
import { TurnlogError } from "../../../events/index.ts";
import { databaseFailure, isUnknownOutcome } from "./failures.ts";

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

/** A statement whose values are parameters. In its text, `turnlog.` stands for the schema. */
type Statement<Answer> = (
  text: TemplateStringsArray,
  ...values: readonly unknown[]
) => Promise<Answer>;

/** Statements on the tables. `doing`: what their errors say. */
export class Statements {
  readonly #sql: Sql;
  readonly #schema: string;

  /** `schema`: its quoted name. */
  constructor(sql: Sql, schema: string) {
    this.#sql = sql;
    this.#schema = schema;
  }

  rows<Row>(schema: z.ZodType<Row>, doing?: string): Statement<readonly Row[]> {
    return async (text, ...values) => parseRows(schema, await this.#ask(doing, text, values));
  }

  run(doing?: string): Statement<void> {
    return async (text, ...values) => void (await this.#ask(doing, text, values));
  }

  async #ask(
    doing: string | undefined,
    text: TemplateStringsArray,
    values: readonly unknown[],
  ): Promise<readonly unknown[]> {
    const numbered = text.reduce((all, part, index) => `${all}$${index}${part}`);
    try {
      return await this.#sql.query(numbered.replaceAll("turnlog.", `${this.#schema}.`), values);
    } catch (error) {
      throw doing === undefined ? error : databaseFailure(error, doing);
    }
  }
}

export class Database extends Statements {
  readonly pool: SqlPool;
  readonly schema: string;

  constructor(pool: SqlPool, schema: string) {
    super(pool, schema);
    this.pool = pool;
    this.schema = schema;
  }

  async transaction<Result>(
    doing: string,
    work: (sql: Statements) => Promise<Result>,
  ): Promise<Result> {
    try {
      return await this.pool.transaction((sql) => work(new Statements(sql, this.schema)));
    } catch (error) {
      throw databaseFailure(error, doing);
    }
  }
}

// Repeats statements whose connection broke: only those that change nothing when they run twice.

/** Three seconds in all: a server that is restarted is back by then. */
const WAITS_MS: readonly number[] = [20, 60, 120, 300, 500, 1000, 1000];

/** The same pool, for statements that may run twice. */
export function retrying(pool: SqlPool): SqlPool {
  return {
    query: (text, values) => repeated(() => pool.query(text, values)),
    transaction: (work) => repeated(() => pool.transaction(work)),
    listen: (channel, onMessage) => pool.listen(channel, onMessage),
    end: () => pool.end(),
  };
}

async function repeated<Result>(run: () => Promise<Result>): Promise<Result> {
  for (const wait of WAITS_MS) {
    try {
      return await run();
    } catch (error) {
      if (!isUnknownOutcome(error)) throw error;
      await setTimeout(wait);
    }
  }
  return await run();
}
