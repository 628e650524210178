/** The driver `pg`: a pool of connections, loaded when a log is opened. */

import type * as Pg from "pg";
import { z } from "zod";
import { TurnlogError } from "../../../events/index.ts";
import { closedError } from "../../log-rules/log-errors.ts";
import { driverFailure } from "./failures.ts";
import { parseRows, type Listening, type Sql, type SqlPool } from "./statements.ts";

export interface PgOptions {
  readonly connectionString: string;
  /** The most connections of this process. Default: 4. */
  readonly connections: number;
}

const processSchema = z.object({ process: z.int() });

/** The most that it takes to begin to listen. */
const LISTEN_MS = 10_000;

/** @throws TurnlogError `INVALID_INPUT` if `pg` is not installed */
export async function connectPg({ connectionString, connections }: PgOptions): Promise<SqlPool> {
  const { default: pg } = await loadPg();
  const pool = new pg.Pool({ connectionString, max: connections, application_name: "turnlog" });
  // A connection that breaks while it is idle leaves the pool on its own; the next query opens another.
  pool.on("error", () => {});
  // A client in use, or just given up, emits its errors itself; unheard, they end the process.
  pool.on("connect", (client) => {
    client.on("error", () => {});
  });
  // A pool that ends forgets requests that wait for a connection, so they are answered first.
  const running = new Set<Promise<unknown>>();
  let isEnding = false;
  const run = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    if (isEnding) throw closedError();
    const done = work();
    running.add(done);
    return await done.finally(() => running.delete(done));
  };
  return {
    query: (text, values) => run(() => answerOf(pool, text, values)),
    transaction: (work) => run(() => inTransaction(work)),
    listen,
    async end() {
      isEnding = true;
      while (running.size > 0) await Promise.allSettled(running);
      await fromDriver(() => pool.end());
    },
  };

  async function listen(
    channel: string,
    onMessage: (payload: string) => void,
  ): Promise<Listening | undefined> {
    const client = new pg.Client({
      connectionString,
      application_name: "turnlog",
      connectionTimeoutMillis: LISTEN_MS,
      query_timeout: LISTEN_MS,
    });
    const ended = new Promise<void>((resolve) => {
      client.on("end", resolve);
      client.on("error", () => {
        resolve();
      });
    });
    client.on("notification", ({ payload }) => {
      onMessage(payload ?? "");
    });
    const stop = (): void => {
      // A server that is silent would not answer the goodbye.
      client.connection.stream.destroy();
    };
    try {
      await client.connect();
      if (await isPooled(client)) {
        stop();
        return undefined;
      }
      await client.query(`LISTEN "${channel}"`);
    } catch (error) {
      stop();
      throw driverFailure(error, "Listening");
    }
    return { ended, stop };
  }

  async function inTransaction<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result> {
    const client = await fromDriver(() => pool.connect());
    const sql: Sql = { query: (text, values) => answerOf(client, text, values) };
    let failure: Error | undefined;
    try {
      await sql.query("BEGIN");
      const result = await work(sql);
      await sql.query("COMMIT");
      return result;
    } catch (error) {
      await client.query("ROLLBACK").catch((again: unknown) => {
        failure = again instanceof Error ? again : new Error(String(again));
      });
      throw error;
    } finally {
      client.release(failure);
    }
  }
}

/** A pooler names a process of its own in the greeting, since it passes queries to several of the server's. */
async function isPooled(client: Pg.Client): Promise<boolean> {
  const { rows } = await client.query("SELECT pg_backend_pid() AS process");
  const [row] = parseRows(processSchema, rows);
  return !("processID" in client) || client.processID !== row?.process;
}

/** Every statement passes here, except those of the connection that listens. @throws TurnlogError only */
async function answerOf(
  driver: Pg.Pool | Pg.PoolClient,
  text: string,
  values: readonly unknown[] = [],
): Promise<readonly unknown[]> {
  const answer: { readonly rows: readonly unknown[] } = await fromDriver(() =>
    driver.query(text, [...values]),
  );
  return answer.rows;
}

async function fromDriver<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  try {
    return await ask();
  } catch (error) {
    throw driverFailure(error);
  }
}

async function loadPg(): Promise<typeof Pg> {
  try {
    return await import("pg");
  } catch (error) {
    throw new TurnlogError(
      "INVALID_INPUT",
      "The log on PostgreSQL needs the package `pg`. Install it: `npm install pg@8`.",
      { cause: error },
    );
  }
}
