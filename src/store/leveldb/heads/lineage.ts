/**
 * Which sessions a fork shares its events with. Every session owns the events behind its link; the
 * ones before are stored under the names of those that it branches off, each up to a position.
 * Walked from the session itself backwards, and no further than its caller reads.
 */

import type { TurnlogError, ForkPoint } from "../../../events/index.ts";
import {
  rowAt,
  type Database,
  readFailure,
  sharedDamage,
  readIndex,
  sessionKey,
} from "../rows/index.ts";
import type { Head } from "./head.ts";
import type { Heads } from "./heads.ts";

/** Events of a session that are stored under one name, both ends included; none where `from` is behind `to`. */
export interface Stretch {
  readonly owner: string;
  readonly from: number;
  readonly to: number;
}

export class Lineage {
  readonly #database: Database;
  readonly #heads: Heads;

  constructor(database: Database, heads: Heads) {
    this.#database = database;
    this.#heads = heads;
  }

  /**
   * The stretches of a session, newest first: its own, then those that it shares.
   * @throws TurnlogError `LOG_DAMAGED` when one of those that it branches off cannot be found
   */
  async *of(
    session: string,
    link: ForkPoint | undefined,
    to: number = Number.POSITIVE_INFINITY,
  ): AsyncGenerator<Stretch> {
    yield { owner: session, from: ownFrom(link), to };
    const seen = new Set([session]);
    let last = to;
    for (let next = link; next !== undefined;) {
      const { session: owner, position } = next;
      last = Math.min(last, position);
      if (seen.has(owner)) {
        throw sharedDamage(session, last, owner, "the links of these forks go round in a circle");
      }
      seen.add(owner);
      next = await this.#linkOf(owner, session, last);
      yield { owner, from: ownFrom(next), to: last };
    }
  }

  /** What is known of a session in memory, where it is known. */
  known(session: string): Head | undefined {
    return this.#heads.known(session);
  }

  /** Where a session branches off at this moment. */
  async linkOf(session: string): Promise<ForkPoint | undefined> {
    return (await this.#heads.load(session)).link;
  }

  /** By its index row alone: damage elsewhere in it is no matter for those who share other events. */
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

/** The position of the first event that is a session's own. */
export function ownFrom(link: ForkPoint | undefined): number {
  return (link?.position ?? 0) + 1;
}

function lost(session: string, position: number, owner: string): TurnlogError {
  return sharedDamage(session, position, owner, "its index row is missing or altered");
}
