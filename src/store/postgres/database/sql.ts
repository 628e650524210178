/** The part of a PostgreSQL driver that the log needs. `pg-client.ts` implements it; no other file knows the driver. */

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
