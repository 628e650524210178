/** The sessions that this process runs: taken by its lease, one claim for each at a time. */

import { randomUUID } from "node:crypto";
import { z } from "zod";
import { elsewhere, type Claim, type Ownership } from "../../../events/index.ts";
import { onAbort } from "../../../shared/index.ts";
import { databaseFailure } from "../database/failures.ts";
import { position, type Statements } from "../database/statements.ts";

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
    const rows = await this.#options.sql.rows(takenSchema, "Asking which sessions run")`
      SELECT s.id FROM turnlog.sessions s JOIN turnlog.nodes n ON n.id = s.owner
      WHERE n.expires_at > clock_timestamp()`;
    return new Set(rows.map(({ id }) => id));
  }

  /** Ends the lease: other processes take over what this one still had. */
  async end(): Promise<void> {
    const lease = await this.#lease?.catch(() => undefined);
    await lease?.remove().catch(() => {
      // Then it ends by the clock.
    });
  }

  async #take(session: string): Promise<Claim | undefined> {
    for (;;) {
      const lease = await this.#current();
      const claim = this.#options.sql.rows(claimedSchema, `Taking session ${session}`);
      const [row] = await claim`SELECT turnlog.claim(${session}, ${lease.id}) AS epoch`;
      const epoch = row?.epoch ?? null;
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
        await this.#options.sql.run(`Giving back session ${session}`)`
          UPDATE turnlog.sessions SET owner = ${unfinished ? NOBODY : null}
          WHERE id = ${session} AND owner = ${lease.id} AND epoch = ${epoch}`;
        isStored = true;
        if (unfinished) this.#options.tell();
      },
    };
  }

  async #current(): Promise<Lease> {
    const before = this.#lease;
    const known = await before?.catch(() => undefined);
    if (known?.isHeld === true) return known;
    const { sql, leaseMs } = this.#options;
    // Claims that ask at the same time share one lease.
    if (this.#lease === before) this.#lease = this.#begin(new Lease({ sql, leaseMs }));
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

// The lease of this process: as long as it is renewed, no other process takes its sessions. It ends by two clocks:
// the database's, by which others judge, and the monotonic one here, counted from before each renewal was sent, so it
// ends here first. A lease that has ended never comes back: the next one has another id.

const renewedSchema = z.object({ renewed: z.boolean() });

export interface LeaseOptions {
  readonly sql: Statements;
  readonly leaseMs: number;
}

export class Lease {
  readonly id: string = randomUUID();
  readonly #options: LeaseOptions;
  readonly #ended = new AbortController();
  #validUntil = 0;
  #renewal: NodeJS.Timeout | undefined;
  /** One after the other: the database keeps the length of the last one. */
  #renewing: Promise<void> = Promise.resolve();
  #expiry: NodeJS.Timeout | undefined;

  constructor(options: LeaseOptions) {
    this.#options = options;
  }

  /** Aborts when the lease has ended. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  /** Asks the clock: the timer may be late in a process that slept. */
  get isHeld(): boolean {
    if (performance.now() >= this.#validUntil) this.end();
    return !this.#ended.signal.aborted;
  }

  async begin(): Promise<void> {
    const { sql, leaseMs } = this.#options;
    const sentAt = performance.now();
    await sql.run()`INSERT INTO turnlog.nodes (id, expires_at)
      VALUES (${this.id}, clock_timestamp() + ${leaseMs} * interval '1 millisecond')`;
    this.#extend(sentAt, leaseMs);
    // Those who asked have died.
    await sql.run()`DELETE FROM turnlog.commands WHERE answered_at < now() - interval '1 hour'`;
  }

  /** Holds the lease for this long from now, even though nothing renews it in that time. */
  prolong(ms: number): Promise<void> {
    const { leaseMs } = this.#options;
    return ms <= leaseMs / 3 ? Promise.resolve() : this.#renew(Math.max(ms, leaseMs));
  }

  /** Ends it here. In the database it ends by the clock, or when `remove` deletes it. */
  end(): void {
    clearTimeout(this.#renewal);
    clearTimeout(this.#expiry);
    this.#ended.abort();
  }

  /** Other processes may take the sessions at once. */
  async remove(): Promise<void> {
    this.end();
    await this.#options.sql.run()`DELETE FROM turnlog.nodes WHERE id = ${this.id}`;
  }

  #extend(sentAt: number, ms: number): void {
    this.#validUntil = sentAt + ms;
    clearTimeout(this.#expiry);
    // The answer waited for a process that slept.
    if (!this.isHeld) return;
    const left = Math.max(0, this.#validUntil - performance.now());
    this.#expiry = setTimeout(() => this.isHeld, left + 1).unref();
    this.#renewAfter(this.#options.leaseMs / 3);
  }

  #renewAfter(ms: number): void {
    clearTimeout(this.#renewal);
    this.#renewal = setTimeout(() => void this.#renew(), ms).unref();
  }

  #renew(ms = this.#options.leaseMs): Promise<void> {
    this.#renewing = this.#renewing.then(() => this.#renewNow(ms));
    return this.#renewing;
  }

  async #renewNow(ms: number): Promise<void> {
    if (this.#ended.signal.aborted) return;
    const { sql, leaseMs } = this.#options;
    const sentAt = performance.now();
    try {
      const [row] = await sql.rows(
        renewedSchema,
      )`SELECT turnlog.renew(${this.id}, ${ms}) AS renewed`;
      if (this.#ended.signal.aborted) return;
      if (row?.renewed === true) this.#extend(sentAt, ms);
      else this.end();
    } catch {
      // A database that does not answer is queried again until the lease ends.
      if (!this.#ended.signal.aborted) this.#renewAfter(leaseMs / 10);
    }
  }
}
