/** Makes appends idempotent: finds earlier events with the same ids in the session. */

import { damagedAt } from "../../log-rules/log-errors.ts";
import { idsOf, repeatedAt } from "../../log-rules/append-rules.ts";
import type { NewEvent, Appended, ForkPoint } from "../../../events/index.ts";
import { rowAt, type Database } from "../rows/database.ts";
import { readFailure } from "../rows/failures.ts";
import { idKey } from "../rows/keys.ts";
import { checkedRow } from "../rows/commit-record.ts";
import type { Head, PendingBatch } from "./head.ts";
import type { Lineage } from "./lineage.ts";
import { z } from "zod";

export const positionsSchema: z.ZodType<readonly [position: number, globalPosition: number]> =
  z.tuple([z.int().positive(), z.int().positive()]);

interface Found {
  readonly position: number;
  readonly globalPosition: number;
  readonly batch?: PendingBatch;
}

export interface IdSource {
  readonly database: Database;
  readonly lineage: Lineage;
}

/**
 * What an earlier append of the same events returned, or undefined if none of their ids is known.
 * Ids of shared events count. `link` is the link of a fork that is about to be created.
 * @throws TurnlogError `EVENT_ID_CONFLICT` when only some ids are known, or one id is used twice
 */
export async function findIds(
  source: IdSource,
  head: Head,
  events: readonly NewEvent[],
  link?: ForkPoint,
): Promise<{ readonly appended: Promise<Appended> } | undefined> {
  const ids = idsOf(head, events);
  // A session that is there, or the session itself, is no fork to be: its links would form a circle.
  const isNew = head.revision === 0 && link?.session !== head.session;
  const shared = head.link ?? (isNew ? link : undefined);
  const found = new Map<string, Found>();
  await Promise.all(
    ids.map(async (id) => {
      const place = head.ids.get(id) ?? (await find(source, head, id, shared));
      if (place !== undefined) found.set(id, place);
    }),
  );
  const last = repeatedAt(head, ids, found);
  if (last === undefined) return undefined;
  const appended = { revision: last.position, position: last.globalPosition, repeated: true };
  return { appended: last.batch?.promise(appended) ?? Promise.resolve(appended) };
}

/** The event with this id, in the session itself or in the events that it shares. */
async function find(
  { database, lineage }: IdSource,
  { session }: Head,
  id: string,
  link: ForkPoint | undefined,
): Promise<Found | undefined> {
  for await (const { owner, to } of lineage.of(session, link)) {
    const place = lineage.known(owner)?.ids.get(id) ?? (await stored(database, owner, id));
    if (place !== undefined && place.position <= to) return place;
  }
  return undefined;
}

async function stored(database: Database, session: string, id: string): Promise<Found | undefined> {
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
  return { position: place[0], globalPosition: place[1] };
}
