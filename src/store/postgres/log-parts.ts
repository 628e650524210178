/** The parts of a log on PostgreSQL, and how they call each other. */

import { createCodec, type Codec } from "../../events/index.ts";
import type { LiveTail } from "../following/live-tail.ts";
import { PostgresBlobs } from "./blobs/postgres-blobs.ts";
import { retrying } from "./database/failures.ts";
import type { SqlPool } from "./database/rows.ts";
import { Heads } from "./heads/heads.ts";
import { Claims } from "./nodes/claims.ts";
import { Commands } from "./nodes/inbox.ts";
import { Hints } from "./nodes/hints.ts";
import { Following } from "./read/following.ts";
import { Reading } from "./read/reading.ts";
import { Appender } from "./write/appender.ts";
import { Committer } from "./write/committer.ts";

export interface LogPartsOptions {
  readonly pool: SqlPool;
  /** The quoted name of the schema with the tables. */
  readonly schema: string;
  readonly listen: boolean;
  readonly pollingMs: number;
  readonly leaseMs: number;
}

export interface LogParts {
  readonly pool: SqlPool;
  readonly schema: string;
  /** The pool, for statements that may run twice. */
  readonly sql: SqlPool;
  readonly codec: Codec;
  readonly heads: Heads;
  readonly committer: Committer;
  readonly appender: Appender;
  readonly reading: Reading;
  readonly following: Following;
  readonly claims: Claims;
  readonly commands: Commands;
  readonly hints: Hints;
  readonly blobs: PostgresBlobs;
}

export function logParts(options: LogPartsOptions): LogParts {
  const { pool, schema, pollingMs, leaseMs } = options;
  const sql = retrying(pool);
  const source = { sql, schema, codec: createCodec() };
  const tails = new Map<string, LiveTail>();
  const heads = new Heads(sql, schema, tails);
  const reading = new Reading({ source, heads });
  const hints: Hints = new Hints({
    pool,
    schema,
    isOn: options.listen,
    onEvents: (sessions) => {
      following.hint(sessions);
    },
    onCommands: () => {
      commands.hint();
    },
  });
  const listen = (): void => {
    hints.listen();
  };
  const tell = (): void => {
    hints.commands();
  };
  const polled = { ...source, intervalMs: pollingMs, listen };
  const answered = (): Promise<void> => committer.answered();
  const following = new Following({ ...polled, heads, tails, reading, answered });
  const committer: Committer = new Committer({
    pool,
    schema,
    onRefused: (head, appends) => {
      heads.reload(head);
      appender.again(head, appends);
    },
    onWritten: (sessions) => {
      following.notify();
      hints.events(sessions);
    },
    onFailed: (head) => {
      heads.reload(head);
    },
  });
  const appender = new Appender({ ...source, heads, committer });
  const claims = new Claims({
    ...source,
    leaseMs,
    tell,
    between: (session, take) => {
      const head = heads.of(session);
      return appender.line.run(head, async () => {
        await committer.idle();
        const appended = await take();
        // Another process may have written since this one had the session.
        heads.reload(head);
        await head.loaded;
        return { appended };
      });
    },
  });
  const commands: Commands = new Commands({ ...polled, tell, node: () => claims.node });
  return {
    pool,
    schema,
    sql,
    codec: source.codec,
    heads,
    committer,
    appender,
    reading,
    following,
    claims,
    commands,
    hints,
    blobs: new PostgresBlobs(source),
  };
}
