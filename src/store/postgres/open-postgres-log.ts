/** Opens the log on PostgreSQL. */

import { z } from "zod";
import { TurnlogError, type EventLog } from "../../events/index.ts";
import { checkedLog } from "../engine/index.ts";
import { check, flag, milliseconds, name, optionsOf } from "../../validation/index.ts";
import { assertTables, createTables, hasTables, schemaSql } from "./database/schema.ts";
import { connectPg } from "./database/pg-client.ts";
import { databaseFailure } from "./database/failures.ts";
import { Database, retrying } from "./database/statements.ts";
import { postgresEngine } from "./postgres-engine.ts";

/**
 * Options of {@link openPostgresLog}.
 * @example
 * const log = await openPostgresLog({ connectionString: process.env["DATABASE_URL"] ?? "", migrate: false });
 */
export interface PostgresLogOptions {
  /** As `pg` takes it: `postgres://user:password@host:5432/database`. TLS and roles are the driver's. */
  readonly connectionString: string;
  /** The schema with turnlog's tables: lower-case letters, digits and `_`. Default: `turnlog`. */
  readonly schema?: string;
  /** Create the tables. Default: true. Otherwise they must be there, else `LOG_FOREIGN`. */
  readonly migrate?: boolean;
  /** The most connections of this process. Default: 4. */
  readonly connections?: number;
  /** Milliseconds between two looks for what other processes wrote, while somebody follows. Default: 250. */
  readonly pollingMs?: number;
  /**
   * Tell other processes of new events and commands by `NOTIFY`, and hear of theirs by `LISTEN` on one more
   * connection. Default: true. Behind a pooler this process does not listen, and polling finds all.
   */
  readonly listen?: boolean;
  /**
   * Milliseconds after which other processes take the sessions of this one, when it has died or the database
   * does not hear of it. Renewed three times as often. Default: 5,000.
   */
  readonly leaseMs?: number;
}

const optionsSchema: z.ZodType = optionsOf<PostgresLogOptions>(
  {
    schema: name,
    migrate: flag,
    connections: z.int().positive(),
    listen: flag,
    pollingMs: milliseconds,
    leaseMs: milliseconds,
  },
  { connectionString: name },
);

/**
 * Opens the log on PostgreSQL 15 or later, and creates its tables when they are missing.
 * @example
 * const log = await openPostgresLog({ connectionString: "postgres://localhost/agents" });
 * await using runtime = await createRuntime({ log, agent });
 * @throws TurnlogError `INVALID_INPUT` (options, `pg` is not installed), `LOG_FAILED` (no connection),
 * `LOG_FOREIGN`, `LOG_TOO_NEW`
 */
export async function openPostgresLog(options: PostgresLogOptions): Promise<EventLog> {
  check(optionsSchema, options, "openPostgresLog", { name: "options" });
  const {
    connectionString,
    connections = 4,
    pollingMs = 250,
    leaseMs = 5000,
    listen = true,
  } = options;
  const schema = quotedSchema(options.schema ?? "turnlog");
  const pool = await connectPg({ connectionString, connections });
  try {
    const sql = retrying(pool);
    await (options.migrate === false ? assertTables(sql, schema) : createTables(sql, schema));
    return checkedLog(postgresEngine(new Database(pool, schema), { listen, pollingMs, leaseMs }));
  } catch (error) {
    await pool.end();
    throw databaseFailure(error, "Opening the log");
  }
}

/**
 * The SQL that creates turnlog's tables, for a database role that may not do so itself. Open the log with
 * `migrate: false` then.
 * @throws TurnlogError `INVALID_INPUT` for a name of other characters
 */
export function postgresSchemaSql({
  schema = "turnlog",
}: { readonly schema?: string } = {}): string {
  return schemaSql(quotedSchema(schema));
}

/** The SQL that a database lacks; empty if it has the tables. @throws TurnlogError as {@link openPostgresLog} */
export async function missingSchemaSql(connectionString: string): Promise<string> {
  const schema = quotedSchema("turnlog");
  const pool = await connectPg({ connectionString, connections: 1 });
  try {
    return (await hasTables(retrying(pool), schema)) ? "" : schemaSql(schema);
  } catch (error) {
    throw databaseFailure(error, "Reading the version of the tables");
  } finally {
    await pool.end();
  }
}

/** Part of SQL texts, which have no parameters for names. */
function quotedSchema(schema: string): string {
  if (/^[a-z_][a-z0-9_]{0,40}$/.test(schema)) return `"${schema}"`;
  throw new TurnlogError(
    "INVALID_INPUT",
    `The schema ${JSON.stringify(schema)} is not a name of lower-case letters, digits and \`_\`. Choose another one.`,
  );
}
