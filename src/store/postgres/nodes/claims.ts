/** The sessions that this process runs: taken by its lease, one claim for each at a time. */

import { onAbort } from "../../../shared/index.ts";
import { z } from "zod";
import { elsewhere, type Claim, type Ownership } from "../../../events/index.ts";
import { databaseFailure } from "../database/failures.ts";
import { parseRows, position } from "../database/rows.ts";
import { Lease, type LeaseOptions } from "./lease.ts";

/** The owner of an unfinished session that was given up: the id of no process. */
const NOBODY = "";

/** The id before the first lease. */
const NOT_YET = "none";

const takenSchema = z.object({ id: z.string() });
const claimedSchema = z.object({ epoch: position.nullable() });

export interface ClaimsOptions extends LeaseOptions {
  /** Runs `take` when earlier appends to the session are written, and reads its entry again afterwards. */
  readonly between: <Result>(session: string, take: () => Promise<Result>) => Promise<Result>;
  /** Tells other processes that a session was given back unfinished. */
  readonly tell: () => void;
}

export class Claims implements Ownership {
  readonly #options: ClaimsOptions;
  #lease: Promise<Lease> | undefined;
  readonly #held = new Set<string>();
  #node = NOT_YET;

  constructor(options: ClaimsOptions) {
    this.#options = options;
  }

  /** The id of the last lease. */
  get node(): string {
    return this.#node;
  }

  /** @throws TurnlogError `LOG_FAILED` */
  async claim(session: string): Promise<Claim | undefined> {
    // Another runtime of this process has it.
    if (this.#held.has(session)) return undefined;
    this.#held.add(session);
    let claim: Claim | undefined;
    try {
      claim = await this.#options.between(session, () => this.#take(session));
    } finally {
      if (claim === undefined) this.#held.delete(session);
    }
    return claim;
  }

  async taken(): Promise<ReadonlySet<string>> {
    const { sql, schema } = this.#options;
    const rows = await sql
      .query(
        `SELECT s.id FROM ${schema}.sessions s JOIN ${schema}.nodes n ON n.id = s.owner
         WHERE n.expires_at > clock_timestamp()`,
      )
      .catch((error: unknown) => {
        throw databaseFailure(error, "Asking which sessions run");
      });
    return new Set(parseRows(takenSchema, rows).map(({ id }) => id));
  }

  /** Ends the lease: other processes take over what this one still had. */
  async end(): Promise<void> {
    const lease = await this.#lease?.catch(() => undefined);
    await lease?.remove().catch(() => {
      // Then it ends by the clock.
    });
  }

  async #take(session: string): Promise<Claim | undefined> {
    const { sql, schema } = this.#options;
    for (;;) {
      const lease = await this.#current();
      const rows = await sql
        .query(`SELECT ${schema}.claim($1, $2) AS epoch`, [session, lease.id])
        .catch((error: unknown) => {
          throw databaseFailure(error, `Taking session ${session}`);
        });
      const epoch = parseRows(claimedSchema, rows)[0]?.epoch ?? null;
      if (epoch === null) return undefined;
      // 0: the lease has ended in the meantime.
      if (epoch > 0 && lease.isHeld) return this.#claimOf(session, lease, epoch);
      lease.end();
    }
  }

  #claimOf(session: string, lease: Lease, epoch: number): Claim {
    const lost = new AbortController();
    let isReleased = false;
    let isStored = false;
    const lose = (): void => {
      this.#held.delete(session);
      lost.abort(elsewhere(session));
    };
    const ends = onAbort(lease.ended, lose);
    return {
      epoch,
      lost: lost.signal,
      assertHeld: () => {
        if (!isReleased && !lease.isHeld) throw elsewhere(session);
      },
      prolong: (ms) => lease.prolong(ms),
      release: async ({ unfinished = false } = {}) => {
        if (isStored || lost.signal.aborted) return;
        if (!isReleased) {
          isReleased = true;
          ends[Symbol.dispose]();
          this.#held.delete(session);
        }
        const { sql, schema } = this.#options;
        await sql
          .query(
            `UPDATE ${schema}.sessions SET owner = $4 WHERE id = $1 AND owner = $2 AND epoch = $3`,
            [session, lease.id, epoch, unfinished ? NOBODY : null],
          )
          .catch((error: unknown) => {
            throw databaseFailure(error, `Giving back session ${session}`);
          });
        isStored = true;
        if (unfinished) this.#options.tell();
      },
    };
  }

  async #current(): Promise<Lease> {
    const before = this.#lease;
    const known = await before?.catch(() => undefined);
    if (known?.isHeld === true) return known;
    const { sql, schema, leaseMs } = this.#options;
    // Claims that ask at the same time share one lease.
    if (this.#lease === before) this.#lease = this.#begin(new Lease({ sql, schema, leaseMs }));
    return await (this.#lease ?? this.#current());
  }

  async #begin(lease: Lease): Promise<Lease> {
    try {
      await lease.begin();
      this.#node = lease.id;
      return lease;
    } catch (error) {
      throw databaseFailure(error, "Registering this process");
    }
  }
}
