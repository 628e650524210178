/** The part of a PostgreSQL driver that the log needs. `pg-client.ts` implements it; no other file knows the driver. */

/** A statement with `$1`-parameters. Prepared statements are not used: a pooler in transaction mode breaks them. */
export interface Sql {
  query(text: string, values?: readonly unknown[]): Promise<readonly unknown[]>;
}

export interface SqlPool extends Sql {
  /** Runs `work` in one transaction on one connection. Rolls back if it throws. */
  transaction<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result>;
  end(): Promise<void>;
}
