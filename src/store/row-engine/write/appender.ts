/**
 * Gives appends, forks and sessions that come in parts their positions, and passes their rows to the committer.
 */

import type {
  NewEvent,
  Codec,
  Appended,
  AppendOptions,
  ExpectedRevision,
  ForkEvents,
  ForkPoint,
} from "../../../events/index.ts";
import type { EventRow } from "../../event-rows/index.ts";
import { AppendQueue } from "../../log-rules/append-queue.ts";
import type { IdPlace } from "../../log-rules/heads.ts";
import { checkForkPoint, checkRevision, rowsToAppend } from "../../log-rules/append-rules.ts";
import { deletedError, damagedAt } from "../../log-rules/log-errors.ts";
import type { Head, Heads } from "../heads/heads.ts";
import type { Lineage } from "../heads/lineage.ts";
import { checkedRow, positionsSchema } from "../rows/commit-record.ts";
import { type RowStore, rowAt } from "../rows/row-store.ts";
import { readFailure } from "../rows/failures.ts";
import { idKey } from "../rows/keys.ts";
import type { Committer } from "./committer.ts";

export interface AppenderOptions {
  readonly database: RowStore;
  readonly codec: Codec;
  readonly heads: Heads;
  readonly lineage: Lineage;
  readonly committer: Committer;
}

export class Appender {
  readonly #options: AppenderOptions;
  readonly #line: AppendQueue<Head>;

  constructor(options: AppenderOptions) {
    this.#options = options;
    this.#line = new AppendQueue<Head>({
      look: async ({ session }, ids, link) => {
        const found = ids.map(async (id) => [id, await find(options, session, id, link)] as const);
        return (await Promise.all(found)).flatMap(([id, place]) => (place ? [[id, place]] : []));
      },
      assertUsable: () => {
        const { failure } = options.committer;
        if (failure !== undefined) throw failure;
      },
      queue: (head, expected, events, { origin }) =>
        this.#queue(head, expected, events, { origin }),
    });
  }

  append(
    session: string,
    expected: ExpectedRevision,
    events: readonly NewEvent[],
    options: AppendOptions,
  ): Promise<Appended> {
    return this.#line.append(this.#options.heads.of(session), expected, events, options);
  }

  /** Creates a session that shares another session's events up to the position that its first event names. */
  fork(session: string, link: ForkPoint, events: ForkEvents): Promise<Appended> {
    const { heads } = this.#options;
    const head = heads.of(session);
    return this.#line.run<Appended>(head, async () => {
      await heads.load(link.session);
      const repeated = await this.#line.repeated(head, events, link);
      if (repeated !== undefined) return repeated;
      let parent: Head | undefined;
      // No await after the last check: the session cannot be deleted before the fork is queued.
      for (; parent === undefined; parent = heads.unlocked(link.session))
        await heads.whenUnlocked(link.session);
      if (head.isDeleted) throw deletedError(session);
      checkRevision(head, "none");
      checkForkPoint(parent, link, session);
      return { appended: this.#queue(head, "none", events, { link, origin: "copied" }) };
    });
  }

  async alone<Result>(head: Head, act: () => Promise<Result>): Promise<Result> {
    return await this.#line.run<Result>(head, async () => ({ appended: await act() }));
  }

  async appendParts(
    session: string,
    parts: AsyncIterable<readonly NewEvent[]>,
    { origin }: AppendOptions,
  ): Promise<Appended> {
    const { heads, committer, codec } = this.#options;
    const head = heads.of(session);
    const rowsOf = async function* (): AsyncGenerator<readonly EventRow[]> {
      let revision = 0;
      for await (const part of parts) {
        const known = { session, revision, isDeleted: false };
        yield rowsToAppend(codec, known, "any", part, { origin });
        revision += part.length;
      }
    };
    return await this.alone(head, async () => {
      if (head.isDeleted) throw deletedError(session);
      checkRevision(head, "none");
      return await committer.appendParts(head, rowsOf());
    });
  }

  async settled(): Promise<void> {
    await this.#line.settled();
  }

  /** From here on the events have their positions. */
  #queue(
    head: Head,
    expected: ExpectedRevision,
    events: readonly NewEvent[],
    {
      link,
      origin,
    }: { readonly origin?: AppendOptions["origin"] | undefined; readonly link?: ForkPoint },
  ): Promise<Appended> {
    const { committer, codec } = this.#options;
    if (committer.failure !== undefined) throw committer.failure;
    const base = link?.position ?? head.revision;
    const rows = rowsToAppend(codec, head, expected, events, { origin, base });
    if (link !== undefined) Object.assign(head, { link, revision: base });
    return committer.append(head, rows);
  }
}

/** The event with this id, in the session itself or in the events that it shares. */
async function find(
  { database, lineage }: AppenderOptions,
  session: string,
  id: string,
  link: ForkPoint | undefined,
): Promise<IdPlace | undefined> {
  for await (const { owner, to } of lineage.of(session, link)) {
    const place = lineage.known(owner)?.ids.get(id) ?? (await stored(database, owner, id));
    if (place !== undefined && place.position <= to) return place;
  }
  return undefined;
}

async function stored(
  database: RowStore,
  session: string,
  id: string,
): Promise<IdPlace | undefined> {
  const key = idKey(session, id);
  let row: string | undefined;
  try {
    row = await rowAt(database, key);
  } catch (error) {
    throw readFailure(error, session, 0);
  }
  if (row === undefined) return undefined;
  const place = checkedRow(key, row, positionsSchema);
  if (place === undefined)
    throw damagedAt(session, 0, `the row of event id ${JSON.stringify(id)} is altered`);
  const [position, globalPosition] = place;
  return { position, written: async () => globalPosition };
}
