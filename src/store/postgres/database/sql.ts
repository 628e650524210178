/** The part of a PostgreSQL driver that the log needs. `pg-client.ts` implements it; no other file knows the driver. */

/** A statement with `$1`-parameters. Prepared statements are not used: a pooler in transaction mode breaks them. */
export interface Sql {
  query(text: string, values?: readonly unknown[]): Promise<readonly unknown[]>;
}

export interface SqlPool extends Sql {
  /** Runs `work` in one transaction on one connection. Rolls back if it throws. */
  transaction<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result>;
  /** Listens on a connection of its own, which may fall silent at any time without a sign. */
  listen(channel: string, onMessage: (payload: string) => void): Promise<Listening>;
  end(): Promise<void>;
}

export interface Listening {
  /** Resolves when the connection has ended. */
  readonly ended: Promise<void>;
  /** Ends the connection without waiting for the server. */
  stop(): void;
}
