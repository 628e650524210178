/**
 * The sessions whose events a fork shares. A session owns the events behind its link; its ancestors store the
 * earlier ones. Walks backwards, only as far as the caller reads.
 */

import { sharedDamage } from "../../log-rules/log-errors.ts";
import type { TurnlogError, ForkPoint } from "../../../events/index.ts";
import { rowAt, type RowStore } from "../rows/row-store.ts";
import { readFailure } from "../rows/failures.ts";
import { readIndex } from "../rows/session-rows.ts";
import { sessionKey } from "../rows/keys.ts";
import type { Head, Heads } from "./heads.ts";

/** Events of a session that are stored under one name, both ends included. Empty if `from` > `to`. */
export interface OwnedRange {
  readonly owner: string;
  readonly from: number;
  readonly to: number;
}

export class Lineage {
  readonly #database: RowStore;
  readonly #heads: Heads;

  constructor(database: RowStore, heads: Heads) {
    this.#database = database;
    this.#heads = heads;
  }

  /** Newest first: its own, then the shared ones. @throws TurnlogError `LOG_DAMAGED` if an ancestor is missing */
  async *of(
    session: string,
    link: ForkPoint | undefined,
    to = Number.POSITIVE_INFINITY,
  ): AsyncGenerator<OwnedRange> {
    yield { owner: session, from: ownFrom(link), to };
    const seen = new Set([session]);
    let last = to;
    for (let next = link; next !== undefined;) {
      const { session: owner, position } = next;
      last = Math.min(last, position);
      if (seen.has(owner)) {
        throw sharedDamage(session, last, owner, "the links of these forks form a circle");
      }
      seen.add(owner);
      next = await this.#linkOf(owner, session, last);
      yield { owner, from: ownFrom(next), to: last };
    }
  }

  known(session: string): Head | undefined {
    return this.#heads.known(session);
  }

  async linkOf(session: string): Promise<ForkPoint | undefined> {
    return (await this.#heads.load(session)).link;
  }

  /** Reads the index row only: other damage in an ancestor does not matter to its forks. */
  async #linkOf(owner: string, session: string, position: number): Promise<ForkPoint | undefined> {
    const head = this.#heads.known(owner);
    if (head !== undefined) return head.link;
    let row: string | undefined;
    try {
      row = await rowAt(this.#database, sessionKey(owner));
    } catch (error) {
      throw readFailure(error, session, position);
    }
    const entry = row === undefined ? undefined : readIndex(owner, row);
    if (entry === undefined) throw lost(session, position, owner);
    return entry.link;
  }
}

export function ownFrom(link: ForkPoint | undefined): number {
  return (link?.position ?? 0) + 1;
}

function lost(session: string, position: number, owner: string): TurnlogError {
  return sharedDamage(session, position, owner, "its index row is missing or altered");
}
