/** The parts of a log on PostgreSQL, and how they call each other. */

import { createCodec, type Codec } from "../../events/index.ts";
import type { LiveTail } from "../following/index.ts";
import { retrying, type SqlPool } from "./database/index.ts";
import { Heads } from "./heads/index.ts";
import { Claims, Commands } from "./nodes/index.ts";
import { Following, Reading } from "./read/index.ts";
import { Appender, Committer } from "./write/index.ts";

export interface LogPartsOptions {
  readonly pool: SqlPool;
  /** The quoted name of the schema with the tables. */
  readonly schema: string;
  readonly pollingMs: number;
  readonly leaseMs: number;
}

export interface LogParts {
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
}

export function logParts({ pool, schema, pollingMs, leaseMs }: LogPartsOptions): LogParts {
  const sql = retrying(pool);
  const source = { sql, schema, codec: createCodec() };
  const tails = new Map<string, LiveTail>();
  const heads = new Heads(sql, schema, tails);
  const reading = new Reading({ source, heads });
  const following = new Following({ ...source, heads, tails, reading, intervalMs: pollingMs });
  const committer: Committer = new Committer({
    pool,
    schema,
    onRefused: (head, appends) => {
      heads.reload(head);
      appender.again(head, appends);
    },
    onWritten: () => {
      following.notify();
    },
    onFailed: (head) => {
      heads.reload(head);
    },
  });
  const appender = new Appender({ ...source, heads, committer });
  const claims = new Claims({
    ...source,
    leaseMs,
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
  const commands = new Commands({
    ...source,
    intervalMs: pollingMs,
    node: () => claims.node,
  });
  return {
    sql,
    codec: source.codec,
    heads,
    committer,
    appender,
    reading,
    following,
    claims,
    commands,
  };
}
