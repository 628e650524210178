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
import { type RowStore, rowsAt } from "../rows/row-store.ts";
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
      look: ({ session }, ids, link) => find(options, session, ids, link),
      assertUsable: (head) => options.committer.assertUsable(head),
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
    committer.assertUsable(head);
    const base = link?.position ?? head.revision;
    const rows = rowsToAppend(codec, head, expected, events, { origin, base });
    if (link !== undefined) Object.assign(head, { link, revision: base });
    return committer.append(head, rows);
  }
}

/** The events with these ids, in the session itself or in the events that it shares. */
async function find(
  { database, lineage }: AppenderOptions,
  session: string,
  ids: readonly string[],
  link: ForkPoint | undefined,
): Promise<ReadonlyMap<string, IdPlace>> {
  const found = new Map<string, IdPlace>();
  for await (const { owner, to } of lineage.of(session, link)) {
    const queued = lineage.known(owner)?.ids;
    const missing = ids.filter((id) => !found.has(id));
    const others = missing.filter((id) => queued?.has(id) !== true);
    const places = await stored(database, owner, others);
    for (const id of missing) {
      const place = queued?.get(id) ?? places.get(id);
      if (place !== undefined && place.position <= to) found.set(id, place);
    }
    if (found.size === ids.length) break;
  }
  return found;
}

async function stored(
  database: RowStore,
  session: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, IdPlace>> {
  const places = new Map<string, IdPlace>();
  const keys = ids.map((id) => idKey(session, id));
  let rows: readonly (string | undefined)[];
  try {
    rows = await rowsAt(database, keys);
  } catch (error) {
    throw readFailure(error, session, 0);
  }
  for (const [index, id] of ids.entries()) {
    const [key, row] = [keys[index] ?? "", rows[index]];
    if (row === undefined) continue;
    const place = checkedRow(key, row, positionsSchema);
    if (place === undefined)
      throw damagedAt(session, 0, `the row of event id ${JSON.stringify(id)} is altered`);
    const [position, globalPosition] = place;
    places.set(id, { position, written: async () => globalPosition });
  }
  return places;
}
